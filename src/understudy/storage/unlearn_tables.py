"""The tables of each resource of a blast radius: its rows, its texts, and when it is in use."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa

from understudy.storage import schema
from understudy.storage.unlearn_radius import EDGES, FILES, LEAVES, PROJECT_TASK, SKILL_VERSION
from understudy.unlearn.model import AT, Resource, TargetKind

R = Resource
TARGETS: Final[Mapping[TargetKind, sa.Column[Any]]] = {
    TargetKind.RUN: schema.runs.c.run_id,
    TargetKind.SESSION: schema.sessions.c.session_id,
    TargetKind.LEARNING: schema.learnings.c.learning_id,
    TargetKind.CANDIDATE: schema.learning_candidates.c.candidate_id,
    TargetKind.ASSET: schema.assets.c.asset_id,
}
# Records that are erased as a whole when they hold a text.
HOLDERS: Final[tuple[tuple[Resource, sa.Table, sa.ColumnElement[Any]], ...]] = (
    (R.LEARNING, schema.learnings, schema.learnings.c.learning_id),
    (R.CANDIDATE, schema.learning_candidates, schema.learning_candidates.c.candidate_id),
    (R.MESSAGE, schema.messages, schema.messages.c.message_id),
    (R.CHANNEL_MESSAGE, schema.channel_messages, schema.channel_messages.c.message_id),
    (R.SCHEDULE, schema.schedules, schema.schedules.c.schedule_id),
    (R.TASK, schema.tasks, schema.tasks.c.task_id),
    (R.BACKGROUND_TASK, schema.background_output, schema.background_output.c.task_id),
    (R.BACKGROUND_TASK, schema.background_tasks, schema.background_tasks.c.task_id),
    (R.PROPOSAL, schema.file_proposals, schema.file_proposals.c.proposal_id),
    *((R.CONTEXT_FILE, table, key) for table, key in FILES),
)
OWN_RESOURCE: Final = frozenset(table.name for _, table, _ in HOLDERS)
# Tables with the texts of erased records.
SPOKEN: Final[tuple[tuple[Resource, sa.Table, sa.ColumnElement[Any]], ...]] = (
    *HOLDERS,
    (R.PROJECT_TASK, schema.project_tasks, PROJECT_TASK),
    (R.RUN, schema.runs, schema.runs.c.run_id),
    (R.RUN, schema.journal, schema.journal.c.run_id),
    (R.RUN, schema.requests, schema.requests.c.run_id),
    (R.ROLLOUT, schema.rollouts, schema.rollouts.c.skill_name),
    (R.RUN_MEMORY, schema.run_memory_evidence, schema.run_memory_evidence.c.run_id),
)
DELETED: Final[tuple[tuple[sa.Table, sa.ColumnElement[Any], Resource], ...]] = (
    (schema.messages, schema.messages.c.message_id, R.MESSAGE),
    # Cascades to its reactions.
    (schema.channel_messages, schema.channel_messages.c.message_id, R.CHANNEL_MESSAGE),
    (schema.channel_leases, schema.channel_leases.c.active_run_id, R.RUN),
    (schema.tasks, schema.tasks.c.task_id, R.TASK),
    (schema.project_tasks, PROJECT_TASK, R.PROJECT_TASK),
    # Cascades to its output; its daemon ends the process.
    (schema.background_tasks, schema.background_tasks.c.task_id, R.BACKGROUND_TASK),
    (schema.file_proposals, schema.file_proposals.c.proposal_id, R.PROPOSAL),
    (schema.learning_uses, schema.learning_uses.c.run_id, R.RUN),
    *((table, key, R.CONTEXT_FILE) for table, key in FILES),
)


_CANDIDATES: Final = schema.learning_candidates
MADE_BY_RUNS: Final[
    tuple[tuple[Resource, sa.Table, sa.ColumnElement[Any], sa.ColumnElement[Any]], ...]
] = (
    (R.CANDIDATE, _CANDIDATES, _CANDIDATES.c.candidate_id, _CANDIDATES.c.source_run_id),
    *((R.CONTEXT_FILE, table, key, table.c.run_id) for table, key in FILES),
)
# Resources that others derive from; the rest is found from these.
ROOTS: Final = frozenset(it.found for it in EDGES) | {R.ASSET}


def _stored() -> dict[Resource, list[sa.Select[Any]]]:
    """Queries for the ids of each resource."""
    versions = schema.skill_versions.c
    stored = {
        **{resource: [sa.select(key)] for resource, _, key in HOLDERS},
        R.SESSION: [sa.select(schema.sessions.c.session_id)],
        R.RUN: [sa.select(schema.runs.c.run_id)],
        R.ROLLOUT: [sa.select(schema.rollouts.c.skill_name)],
        R.TRIAL: [sa.select(schema.rollout_trials.c.trial_id)],
        R.PROJECT_TASK: [sa.select(PROJECT_TASK)],
        R.ASSET: [sa.select(schema.assets.c.asset_id)],
        R.CONTEXT_FILE: [sa.select(key) for _, key in FILES],
        R.SKILL_VERSION: [sa.select(SKILL_VERSION).where(versions.erased_at_ms.is_(None))],
    }
    for edge in LEAVES:
        query = sa.select(edge.key)
        stored.setdefault(edge.found, []).append(
            query if edge.where is None else query.where(edge.where)
        )
    return stored


STORED: Final = _stored()
_CURRENT: Final = sa.select(
    sa.cast(schema.skills.c.skill_id, sa.Text)
    .concat(AT)
    .concat(sa.cast(schema.skills.c.version, sa.Text))
).where(schema.skills.c.status != "deleted")
IN_USE: Final[Mapping[Resource, Sequence[sa.Select[Any]]]] = {
    R.LEARNING: [sa.select(schema.learnings.c.learning_id).where(schema.learnings.c.is_live)],
    R.CANDIDATE: [sa.select(_CANDIDATES.c.candidate_id).where(_CANDIDATES.c.is_open)],
    R.ROLLOUT: [
        sa.select(schema.rollouts.c.skill_name).where(schema.rollouts.c.status != "revoked")
    ],
    R.SKILL_VERSION: [_CURRENT],
    R.RUN_MEMORY: [sa.select(schema.run_memories.c.run_id)],
}
