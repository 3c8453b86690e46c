"""Deletes agents with everything created in their sessions, row by row."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

import sqlalchemy as sa

from understudy.core.batches import batches
from understudy.learnings.model import TERM_KIND
from understudy.sample.workspace import Belongings
from understudy.sessions.learning_scopes import session_scope
from understudy.storage import schema
from understudy.storage.term_index import TermIndex
from understudy.storage.visible_connection import VisibleConnection

# The rows to delete: those whose column holds one of the ids. A table may occur more than once.
ROWS: Final[tuple[tuple[sa.Column[Any], str], ...]] = (
    (schema.agents.c.agent_id, "agent_ids"),
    (schema.skill_agent_grants.c.agent_id, "agent_ids"),
    (schema.sessions.c.session_id, "session_ids"),
    (schema.journal.c.session_id, "session_ids"),
    (schema.project_sessions.c.session_id, "session_ids"),
    (schema.channel_members.c.session_id, "session_ids"),
    (schema.tasks.c.session_id, "session_ids"),
    (schema.flows.c.session_id, "session_ids"),
    # Cascades to its output.
    (schema.background_tasks.c.session_id, "session_ids"),
    (schema.sidechains.c.session_id, "session_ids"),
    (schema.session_mcp_servers.c.session_id, "session_ids"),
    (schema.session_bindings.c.session_id, "session_ids"),
    (schema.client_events.c.session_id, "session_ids"),
    (schema.messages.c.session_id, "session_ids"),
    (schema.channel_members.c.session_id, "session_ids"),
    (schema.signals.c.target, "session_ids"),
    (schema.skill_uses.c.session_id, "session_ids"),
    (schema.learning_uses.c.session_id, "session_ids"),
    # Cascades to its executions.
    (schema.schedules.c.schedule_id, "schedule_ids"),
    (schema.asset_references.c.ref_id, "schedule_ids"),
    (schema.asset_references.c.ref_id, "run_ids"),
    (schema.runs.c.run_id, "run_ids"),
    (schema.debug_requests.c.run_id, "run_ids"),
    (schema.receipts.c.resource_id, "run_ids"),
    (schema.requests.c.run_id, "run_ids"),
    (schema.artifacts.c.run_id, "run_ids"),
    (schema.signals.c.target, "run_ids"),
    (schema.skill_listings.c.run_id, "run_ids"),
    # Cascades to scopes, evidence and captures.
    (schema.run_memories.c.run_id, "run_ids"),
    (schema.run_memory_bodies.c.run_id, "run_ids"),
    (schema.run_memory_backlog.c.run_id, "run_ids"),
    (schema.capture_jobs.c.job_id, "run_ids"),
    (schema.deliveries.c.delivery_id, "delivery_ids"),
    (schema.delivery_tries.c.delivery_id, "delivery_ids"),
    (schema.learning_candidates.c.candidate_id, "candidate_ids"),
    (schema.learning_reviews.c.candidate_id, "candidate_ids"),
    (schema.review_jobs.c.job_id, "candidate_ids"),
    (schema.suggestions.c.candidate_id, "candidate_ids"),
    (schema.learnings.c.learning_id, "learning_ids"),
    (schema.learning_uses.c.learning_id, "learning_ids"),
    (schema.rollouts.c.skill_name, "rollout_names"),
    (schema.rollout_events.c.skill_name, "rollout_names"),
    (schema.rollout_evidence.c.skill_name, "rollout_names"),
    (schema.rollout_outcomes.c.skill_name, "rollout_names"),
    (schema.rollout_definitions.c.skill_name, "rollout_names"),
    (schema.rollout_snapshots.c.skill_name, "rollout_names"),
    (schema.rollout_trials.c.trial_id, "trial_ids"),
    (schema.rollout_replay_cases.c.trial_id, "trial_ids"),
)
_ORDER: Final = {table: place for place, table in enumerate(schema.metadata.sorted_tables)}


class ErasureStore:
    """Finds the records that belong to agents, and deletes them."""

    def __init__(self, connection: VisibleConnection, terms: TermIndex) -> None:
        self._connection = connection
        self._terms = terms

    def of_agents(self, agent_ids: Collection[str]) -> Belongings:
        """The records created in the sessions of these agents, and those derived from them.

        Includes learnings that supersede one of theirs, and the trials of their rollouts.
        """
        sessions = self._closed(
            self._ids(schema.sessions.c.session_id, schema.sessions.c.agent_id, agent_ids),
            schema.sessions.c.session_id,
            schema.sessions.c.parent_session_id,
        )
        found = self._learned(sessions)
        trials = self._ids(
            schema.rollout_trials.c.trial_id,
            schema.rollout_trials.c.skill_name,
            found["rollout_names"],
        )
        sessions |= self._ids(schema.sessions.c.session_id, schema.sessions.c.trial_id, trials)
        runs = self._ids(schema.runs.c.run_id, schema.runs.c.session_id, sessions)
        of_session = schema.schedules.c.target_session_id
        of_run = schema.deliveries.c.run_id
        return Belongings(
            agent_ids=frozenset(agent_ids),
            session_ids=sessions,
            run_ids=runs,
            schedule_ids=self._ids(schema.schedules.c.schedule_id, of_session, sessions),
            delivery_ids=self._ids(schema.deliveries.c.delivery_id, of_run, runs),
            trial_ids=trials,
            **self._learned(sessions),
        )

    def unfinished(self, run_ids: Collection[str]) -> tuple[str, ...]:
        """The runs among these that have not ended."""
        runs = schema.runs.c
        query = sa.select(runs.run_id).where(runs.finished_at_ms.is_(None))
        return tuple(sorted(self._matching(query, runs.run_id, run_ids)))

    def erase(self, belongings: Belongings) -> None:
        """Delete the rows; files and rows without a table in `ROWS` are deleted before."""
        self._terms.remove(TERM_KIND, sorted(belongings.learning_ids))
        # Rows that refer to another row are deleted before it.
        for column, name in sorted(ROWS, key=_place, reverse=True):
            for some in batches(sorted(getattr(belongings, name))):
                self._connection.execute(sa.delete(column.table).where(column.in_(some)))

    def _learned(self, sessions: Collection[str]) -> Mapping[str, frozenset[str]]:
        """What was learned in some sessions, and the skills promoted from it."""
        runs = self._ids(schema.runs.c.run_id, schema.runs.c.session_id, sessions)
        scopes = [session_scope(session_id).key for session_id in sessions]
        candidates, learnings = schema.learning_candidates.c, schema.learnings.c
        proposed = self._ids(candidates.candidate_id, candidates.source_run_id, runs)
        proposed |= self._ids(candidates.candidate_id, candidates.scope_key, scopes)
        known = self._ids(learnings.learning_id, learnings.source_candidate_id, proposed)
        known |= self._ids(learnings.learning_id, learnings.scope_key, scopes)
        known = self._closed(known, learnings.learning_id, learnings.supersedes)
        skill_name, source = schema.rollouts.c.skill_name, schema.rollouts.c.source_learning_id
        return {
            "candidate_ids": proposed,
            "learning_ids": known,
            "rollout_names": self._ids(skill_name, source, known),
        }

    def _closed(
        self, ids: frozenset[str], key: sa.Column[Any], refers: sa.Column[Any]
    ) -> frozenset[str]:
        """The rows with these ids, and those that refer to them, transitively."""
        new = ids
        while new:
            new = self._ids(key, refers, new) - ids
            ids |= new
        return ids

    def _ids(
        self, key: sa.Column[Any], column: sa.Column[Any], values: Collection[str]
    ) -> frozenset[str]:
        return frozenset(self._matching(sa.select(key), column, values))

    def _matching(
        self, query: sa.Select[Any], column: sa.Column[Any], values: Collection[str]
    ) -> Iterator[str]:
        for some in batches(sorted(values)):
            yield from self._connection.execute(query.where(column.in_(some))).scalars()


def _place(row: tuple[sa.Column[Any], str]) -> int:
    return _ORDER[row[0].table]
