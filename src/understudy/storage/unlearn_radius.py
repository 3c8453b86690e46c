"""Finds the blast radius of a target: the graph of derived records, as a table of edges."""

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from understudy.assets.model import ReferenceKind
from understudy.core.batches import batches
from understudy.learnings.model import TERM_KIND as LEARNING_TERMS
from understudy.memory.ports import TERM_KIND as MEMORY_TERMS
from understudy.sessions.learning_scopes import session_scope
from understudy.storage import schema
from understudy.unlearn.model import AT, BlastItem, BlastRadius, Resource, blast_radius

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

R = Resource
_T: Final = sa.Text


def _joined(*parts: sa.ColumnElement[Any] | str) -> sa.ColumnElement[str]:
    """Columns and literals concatenated as text."""
    joined: sa.ColumnElement[str] = sa.literal("")
    for part in parts:
        joined = joined.concat(part if isinstance(part, str) else sa.cast(part, _T))
    return joined


_versions, _agent_files = schema.skill_versions.c, schema.agent_files.c
_user_files, _learnings = schema.user_context_files.c, schema.learnings.c
_cases, _messages = schema.rollout_replay_cases.c, schema.messages.c
_references, _terms = schema.asset_references.c, schema.term_entries.c
SKILL_VERSION: Final = _joined(_versions.skill_id, AT, _versions.number)
AGENT_FILE: Final = _joined(_agent_files.agent_id, "/", _agent_files.name, AT, _agent_files.version)
USER_FILE: Final = _joined(
    _user_files.agent_id, "/", _user_files.user_id, "/", _user_files.name, AT, _user_files.version
)
# The key of a context file in each of the two tables.
FILES: Final = ((schema.agent_files, AGENT_FILE), (schema.user_context_files, USER_FILE))
PROJECT_TASK: Final = _joined(
    schema.project_tasks.c.project_id, "/", schema.project_tasks.c.project_task_id
)
CAPTURE: Final = _joined("dbg_", schema.debug_requests.c.number)
MAX_RECALLED: Final = 200


@dataclass(frozen=True, slots=True)
class Edge:
    """Rows of one resource that refer to a row of another and derive from it."""

    source: Resource
    relation: str
    found: Resource
    key: sa.ColumnElement[str]
    names: sa.ColumnElement[Any]
    where: sa.ColumnElement[bool] | None = None


# Records that are erased with their source.
EDGES: Final = (
    Edge(R.SESSION, "child session", R.SESSION, schema.sessions.c.session_id, schema.sessions.c.parent_session_id),
    Edge(R.SESSION, "run of the session", R.RUN, schema.runs.c.run_id, schema.runs.c.session_id),
    Edge(R.SESSION, "mail of the session", R.MESSAGE, _messages.message_id, _messages.session_id),
    Edge(R.SESSION, "task of the session", R.TASK, schema.tasks.c.task_id, schema.tasks.c.session_id),
    Edge(R.SESSION, "background task of the session", R.BACKGROUND_TASK, schema.background_tasks.c.task_id, schema.background_tasks.c.session_id),
    Edge(R.SESSION, "schedule of the session", R.SCHEDULE, schema.schedules.c.schedule_id, schema.schedules.c.target_session_id),
    Edge(R.RUN, "sidechain", R.SESSION, schema.sidechains.c.session_id, schema.sidechains.c.run_id),
    Edge(R.RUN, "proposed by the run", R.CANDIDATE, schema.learning_candidates.c.candidate_id, schema.learning_candidates.c.source_run_id),
    Edge(R.RUN, "written by the run", R.SKILL_VERSION, SKILL_VERSION, _versions.run_id),
    Edge(R.RUN, "written by the run", R.CONTEXT_FILE, AGENT_FILE, _agent_files.run_id),
    Edge(R.RUN, "written by the run", R.CONTEXT_FILE, USER_FILE, _user_files.run_id),
    Edge(R.RUN, "proposed by the run", R.PROPOSAL, schema.file_proposals.c.proposal_id, schema.file_proposals.c.run_id),
    Edge(R.RUN, "task of the run", R.TASK, schema.tasks.c.task_id, schema.tasks.c.run_id),
    Edge(R.RUN, "written by the run", R.PROJECT_TASK, PROJECT_TASK, schema.project_tasks.c.created_by_run_id),
    Edge(R.RUN, "background task of the run", R.BACKGROUND_TASK, schema.background_tasks.c.task_id, schema.background_tasks.c.run_id),
    Edge(R.RUN, "posted by the run", R.CHANNEL_MESSAGE, schema.channel_messages.c.message_id, schema.channel_messages.c.source_run_id),
    Edge(R.RUN, "replays the run", R.TRIAL, _cases.trial_id, _cases.recorded_run_id),
    Edge(R.RUN, "read by the run", R.MESSAGE, _messages.message_id, _messages.run_id),
    Edge(R.MESSAGE, "read the message", R.RUN, _messages.run_id, _messages.message_id),
    Edge(R.CANDIDATE, "published", R.LEARNING, _learnings.learning_id, _learnings.source_candidate_id),
    Edge(R.LEARNING, "candidate of the learning", R.CANDIDATE, _learnings.source_candidate_id, _learnings.learning_id),
    # A replacement with its own candidate came from somebody else.
    Edge(R.LEARNING, "edited from the learning", R.LEARNING, _learnings.learning_id, _learnings.supersedes, _learnings.source_candidate_id.is_(None)),
    Edge(R.LEARNING, "promoted", R.ROLLOUT, schema.rollouts.c.skill_name, schema.rollouts.c.source_learning_id),
    Edge(R.ROLLOUT, "trial of the skill", R.TRIAL, schema.rollout_trials.c.trial_id, schema.rollout_trials.c.skill_name),
    Edge(R.TRIAL, "session of the trial", R.SESSION, schema.sessions.c.session_id, schema.sessions.c.trial_id),
    Edge(R.ASSET, "had it as input", R.RUN, _references.ref_id, _references.asset_id, _references.kind == str(ReferenceKind.RUN)),
    Edge(R.ASSET, "has it as input", R.SCHEDULE, _references.ref_id, _references.asset_id, _references.kind == str(ReferenceKind.SCHEDULE)),
)  # fmt: skip
# Copies of a source elsewhere; nothing derives from them.
LEAVES: Final = (
    Edge(R.RUN, "memory of the run", R.RUN_MEMORY, schema.run_memories.c.run_id, schema.run_memories.c.run_id),
    Edge(R.RUN, "output of a tool", R.ARTIFACT, schema.artifacts.c.artifact_id, schema.artifacts.c.run_id),
    Edge(R.RUN, "captured request", R.CAPTURE, CAPTURE, schema.debug_requests.c.run_id),
    Edge(R.RUN, "asked by the run", R.REQUEST, schema.requests.c.request_id, schema.requests.c.run_id),
    Edge(R.RUN, "sent for the run", R.DELIVERY, schema.deliveries.c.delivery_id, schema.deliveries.c.run_id),
    Edge(R.RUN, "index of run memories", R.INDEX_ENTRY, _joined(_terms.kind, "/", _terms.source_id), _terms.source_id, _terms.kind == MEMORY_TERMS),
    Edge(R.LEARNING, "index of learnings", R.INDEX_ENTRY, _joined(_terms.kind, "/", _terms.source_id), _terms.source_id, _terms.kind == LEARNING_TERMS),
)  # fmt: skip
# Runs that stay, but had the content: they lose captured requests and copies of the text.
LATER: Final = (
    Edge(R.LEARNING, "was told the learning", R.LATER_RUN, schema.learning_uses.c.run_id, schema.learning_uses.c.learning_id),
    Edge(R.SKILL_VERSION, "used the skill", R.LATER_RUN, schema.skill_uses.c.run_id, _joined(schema.skill_uses.c.skill_id, AT, schema.skill_uses.c.version)),
    Edge(R.ROLLOUT, "used the skill", R.LATER_RUN, schema.skill_uses.c.run_id, schema.skill_uses.c.slug, schema.skill_uses.c.fingerprint.is_not(None)),
    Edge(R.PROJECT_TASK, "carried out the task", R.LATER_RUN, schema.project_tasks.c.latest_run_id, PROJECT_TASK),
    Edge(R.CANDIDATE, "is the source", R.LATER_RUN, schema.learning_candidates.c.source_run_id, schema.learning_candidates.c.candidate_id),
)  # fmt: skip
CAPTURES_OF_LATER: Final = Edge(
    R.LATER_RUN, "captured request", R.CAPTURE, CAPTURE, schema.debug_requests.c.run_id
)


class RadiusFinder:
    """Follows the edges from some roots until nothing new is found."""

    def __init__(self, unit: "Unit") -> None:
        self._unit = unit
        self._connection = unit.connection
        self._found: dict[Resource, dict[str, str]] = defaultdict(dict)
        self._special: Mapping[Resource, Callable[[Collection[str]], None]] = {
            R.SESSION: self._scoped,
            R.RUN: self._sent,
            R.CANDIDATE: self._undone,
            R.SKILL_VERSION: self._later_versions,
            R.CONTEXT_FILE: self._later_files,
        }
        self._todo: list[tuple[Resource, Collection[str]]] = []

    def find(self, roots: Iterable[BlastItem]) -> BlastRadius:
        """The roots and all records derived from them."""
        for root in roots:
            self._add(root.resource, [root.id], root.relation)
        self._close()
        while self._own_assets():
            self._close()
        for edge in LEAVES:
            self._follow(edge, self._found[edge.source])
        self._later()
        return blast_radius(
            BlastItem(resource=resource, id=id_, relation=relation)
            for resource, ids in self._found.items()
            for id_, relation in ids.items()
        )

    def _close(self) -> None:
        while self._todo:
            resource, ids = self._todo.pop()
            for edge in EDGES:
                if edge.source is resource:
                    self._follow(edge, ids)
            if resource in self._special:
                self._special[resource](ids)

    def _add(self, resource: Resource, ids: Iterable[str | None], relation: str) -> None:
        known = self._found[resource]
        new = [id_ for id_ in dict.fromkeys(ids) if id_ is not None and id_ not in known]
        known.update(dict.fromkeys(new, relation))
        if new:
            self._todo.append((resource, new))

    def _follow(self, edge: Edge, ids: Collection[str]) -> None:
        self._add(edge.found, self._named(edge, ids), edge.relation)

    def _named(self, edge: Edge, ids: Collection[str]) -> Iterator[str | None]:
        query = sa.select(edge.key)
        if edge.where is not None:
            query = query.where(edge.where)
        for some in batches(sorted(ids)):
            yield from self._connection.execute(query.where(edge.names.in_(some))).scalars()

    def _scoped(self, ids: Collection[str]) -> None:
        """Candidates and learnings whose scope is one of the sessions."""
        keys = [session_scope(id_).key for id_ in ids]
        for resource, table, key in (
            (R.CANDIDATE, schema.learning_candidates, "candidate_id"),
            (R.LEARNING, schema.learnings, "learning_id"),
        ):
            edge = Edge(
                R.SESSION, "learned for the session", resource, table.c[key], table.c.scope_key
            )
            self._add(resource, self._named(edge, keys), edge.relation)

    def _sent(self, ids: Collection[str]) -> None:
        """The messages that some runs sent; the sender is in the body."""
        wanted = frozenset(ids)
        rows = self._connection.execute(sa.select(_messages.message_id, _messages.body))
        sent = [
            row.message_id
            for row in rows
            if isinstance(row.body, dict) and _sender(row.body) in wanted
        ]
        self._add(R.MESSAGE, sent, "sent by the run")

    def _undone(self, ids: Collection[str]) -> None:
        """Learnings that candidates became before their publication was undone."""
        table = schema.learning_candidates.c
        for some in batches(sorted(ids)):
            query = sa.select(table.body).where(table.candidate_id.in_(some))
            for body in self._connection.execute(query).scalars():
                undone = body.get("undone_learning_ids") if isinstance(body, dict) else None
                self._add(R.LEARNING, undone or (), "published and undone")

    def _later_versions(self, ids: Collection[str]) -> None:
        """Versions derived from one of these; a restored one derives from the version it names."""
        for skill_id in sorted({id_.rpartition(AT)[0] for id_ in ids}):
            query = (
                sa.select(_versions.number, _versions.restored_from)
                .where(_versions.skill_id == skill_id)
                .order_by(_versions.number)
            )
            bad = {
                int(id_.rpartition(AT)[2])
                for id_ in self._found[R.SKILL_VERSION]
                if id_.rpartition(AT)[0] == skill_id
            }
            before = 0
            for number, restored_from in self._connection.execute(query):
                if (restored_from or before) in bad:
                    bad.add(number)
                before = number
            later = [f"{skill_id}{AT}{number}" for number in sorted(bad)]
            self._add(R.SKILL_VERSION, later, "made from the version")

    def _later_files(self, ids: Collection[str]) -> None:
        """Versions of context files that still hold a line that one of these added."""
        for table, key in FILES:
            for some in batches(sorted(ids)):
                rows = self._connection.execute(sa.select(table).where(key.in_(some))).all()
                for row in rows:
                    self._still_holding(table, key, row)

    def _still_holding(self, table: sa.Table, key: sa.ColumnElement[str], row: Any) -> None:
        same = [table.c.agent_id == row.agent_id, table.c.name == row.name]
        if "user_id" in table.c:
            same.append(table.c.user_id == row.user_id)
        query = sa.select(key.label("id"), table.c.version, table.c.content).where(*same)
        versions = self._connection.execute(query.order_by(table.c.version)).all()
        earlier = [it.content for it in versions if it.version < row.version]
        added = lines_of(row.content) - (lines_of(earlier[-1]) if earlier else frozenset())
        self._add(
            R.CONTEXT_FILE,
            [it.id for it in versions if it.version > row.version and added & lines_of(it.content)],
            "still holds what was added",
        )

    def _own_assets(self) -> bool:
        """Add the assets that only erased runs and schedules refer to; whether there were any."""
        known = frozenset(self._found[R.RUN]) | frozenset(self._found[R.SCHEDULE])
        used = frozenset(
            it
            for some in batches(sorted(known))
            for it in self._connection.execute(
                sa.select(_references.asset_id).where(_references.ref_id.in_(some))
            ).scalars()
        )
        users: dict[str, set[str]] = defaultdict(set)
        for some in batches(sorted(used)):
            query = sa.select(schema.asset_references).where(_references.asset_id.in_(some))
            for row in self._connection.execute(query):
                users[row.asset_id].add(row.ref_id)
        self._add(R.ASSET, [it for it in sorted(used) if users[it] <= known], "input of the run")
        return bool(self._todo)

    def _later(self) -> None:
        for edge in LATER:
            self._follow(edge, self._found[edge.source])
        self._add(R.LATER_RUN, self._after_in_session(), "later in the session")
        self._add(R.LATER_RUN, self._with_file(), "had the context file")
        remembered = sorted(self._found[R.RUN_MEMORY])[:MAX_RECALLED]
        self._add(R.LATER_RUN, self._reported(remembered), "was told of the run")
        self._add(R.LATER_RUN, self._reported(self._skill_names()), "was told of the skill")
        for run_id in self._found[R.RUN]:
            self._found[R.LATER_RUN].pop(run_id, None)
        self._follow(CAPTURES_OF_LATER, self._found[R.LATER_RUN])

    def _after_in_session(self) -> Iterator[str]:
        """Runs whose history includes one of the runs."""
        runs, first = schema.runs.c, dict[str, int]()
        for some in batches(sorted(self._found[R.RUN])):
            query = sa.select(runs.session_id, sa.func.min(runs.accepted_offset))
            query = query.where(runs.run_id.in_(some)).group_by(runs.session_id)
            for session_id, offset in self._connection.execute(query):
                first[session_id] = min(offset, first.get(session_id, offset))
        for session_id, offset in first.items():
            if session_id not in self._found[R.SESSION]:
                query = sa.select(runs.run_id).where(
                    runs.session_id == session_id, runs.accepted_offset > offset
                )
                yield from self._connection.execute(query).scalars()

    def _with_file(self) -> Iterator[str]:
        """Runs of the agents that had one of the versions in their prompts."""
        runs = schema.runs.c
        for table, key in FILES:
            for some in batches(sorted(self._found[R.CONTEXT_FILE])):
                for row in self._connection.execute(sa.select(table).where(key.in_(some))).all():
                    told = [
                        runs.agent_id == row.agent_id,
                        runs.submitted_at_ms >= row.created_at_ms,
                    ]
                    if "user_id" in table.c:
                        told.append(runs.user_id == row.user_id)
                    yield from self._connection.execute(
                        sa.select(runs.run_id).where(*told)
                    ).scalars()

    def _skill_names(self) -> list[str]:
        """The names under which prompts list the skills."""
        skills = schema.skills.c
        ids = sorted({id_.rpartition(AT)[0] for id_ in self._found[R.SKILL_VERSION]})
        slugs = (
            slug
            for some in batches(ids)
            for slug in self._connection.execute(
                sa.select(skills.slug).where(skills.skill_id.in_(some))
            ).scalars()
        )
        return [*slugs, *sorted(self._found[R.ROLLOUT])]

    def _reported(self, names: Sequence[str]) -> Iterator[str]:
        """Runs whose injection report or list of skills has one of these names."""
        snapshot = sa.type_coerce(schema.runs.c.snapshot, _T)
        for some in batches(names, 20):
            named = [self._unit.contains(snapshot, json.dumps(name)) for name in some]
            query = sa.select(schema.runs.c.run_id).where(sa.or_(*named))
            yield from self._connection.execute(query).scalars()


def _sender(body: Mapping[str, Any]) -> object:
    sender = body.get("sender")
    return sender.get("run_id") if isinstance(sender, dict) else None


def lines_of(content: object) -> frozenset[str]:
    """The non-empty lines of a text, trimmed."""
    lines = content.splitlines() if isinstance(content, str) else ()
    return frozenset(line.strip() for line in lines if line.strip())
