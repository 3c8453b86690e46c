"""Row-level visibility: rows that a caller may not see are not found.

Each query is narrowed on its way to the database, so no store can forget it. Writes are not
narrowed: they change rows that were read before.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, cast

import sqlalchemy as sa
from sqlalchemy.sql import visitors

from understudy.core.batches import batches
from understudy.core.errors import coded_error
from understudy.core.visibility import RowVisibility, SensitiveStatement, current_visibility
from understudy.learnings.model import Sensitivity
from understudy.sessions.learning_scopes import LearningScope, ScopeKind
from understudy.storage import schema as t

if TYPE_CHECKING:
    from understudy.storage.visible_connection import VisibleConnection

E = TypeVar("E", bound=sa.SelectBase)
Columns: TypeAlias = Any
Condition: TypeAlias = Any
Rule: TypeAlias = Callable[[Columns, str], Condition]

SESSION_KEY: Final = f"{ScopeKind.SESSION}:"


def _sessions(user_id: str) -> sa.Select[Any]:
    own = t.sessions.alias("own_sessions")
    return sa.select(own.c.session_id).where(own.c.owner_id == user_id)


def _runs(user_id: str) -> sa.Select[Any]:
    """A run belongs to its submitter, and to the owner of its session."""
    own = t.runs.alias("own_runs")
    is_own = sa.or_(own.c.user_id == user_id, own.c.session_id.in_(_sessions(user_id)))
    return sa.select(own.c.run_id).where(is_own)


def _session_keys(user_id: str) -> sa.Select[Any]:
    own = t.sessions.alias("own_scopes")
    return sa.select(SESSION_KEY + own.c.session_id).where(own.c.owner_id == user_id)


def _is_own_scope(c: Columns, user_id: str) -> Condition:
    """A scope other than a session's is visible to all."""
    is_session = sa.func.substr(c.scope_key, 1, len(SESSION_KEY)) == SESSION_KEY
    return sa.or_(sa.not_(is_session), c.scope_key.in_(_session_keys(user_id)))


def _of_owner(c: Columns, user_id: str) -> Condition:
    return c.owner_id == user_id


def _of_user(c: Columns, user_id: str) -> Condition:
    return c.user_id == user_id


def _of_session(c: Columns, user_id: str) -> Condition:
    return c.session_id.in_(_sessions(user_id))


def _of_run(c: Columns, user_id: str) -> Condition:
    return c.run_id.in_(_runs(user_id))


def _of_either(c: Columns, user_id: str) -> Condition:
    return sa.or_(_of_session(c, user_id), _of_run(c, user_id))


def _of_schedule(c: Columns, user_id: str) -> Condition:
    own = t.schedules.alias("own_schedules")
    return c.schedule_id.in_(sa.select(own.c.schedule_id).where(own.c.owner_id == user_id))


def _of_delivery(c: Columns, user_id: str) -> Condition:
    own = t.deliveries.alias("own_deliveries")
    return c.delivery_id.in_(sa.select(own.c.delivery_id).where(own.c.run_id.in_(_runs(user_id))))


def _of_background_task(c: Columns, user_id: str) -> Condition:
    own = t.background_tasks.alias("own_background_tasks")
    return c.task_id.in_(sa.select(own.c.task_id).where(_of_either(own.c, user_id)))


def _of_claim(c: Columns, user_id: str) -> Condition:
    """An asset belongs to every user who uploaded its content."""
    claims = t.asset_owners.alias("own_assets")
    return c.asset_id.in_(sa.select(claims.c.asset_id).where(claims.c.owner_id == user_id))


def _of_candidate(c: Columns, user_id: str) -> Condition:
    """A candidate belongs to its source run; one that was proposed directly, to its scope."""
    is_own_run = c.source_run_id.in_(_runs(user_id))
    return sa.or_(is_own_run, sa.and_(c.source_run_id.is_(None), _is_own_scope(c, user_id)))


def _of_proposal(c: Columns, user_id: str) -> Condition:
    """A proposal belongs to the run that made it, and to the agent's owner, who decides."""
    own = t.agents.alias("own_agents")
    agents = sa.select(own.c.agent_id).where(own.c.owner_id == user_id)
    return sa.or_(_of_run(c, user_id), c.agent_id.in_(agents))


def _of_actor(c: Columns, user_id: str) -> Condition:
    return sa.or_(c.actor == user_id, c.actor.endswith(f" as {user_id}", autoescape=True))


def _of_review(c: Columns, user_id: str) -> Condition:
    own = t.learning_candidates.alias("own_candidates")
    return c.job_id.in_(sa.select(own.c.candidate_id).where(_of_candidate(own.c, user_id)))


def _nobodys(_: Columns, __: str) -> Condition:
    """Sums over all users, which cannot be split by user: visible to nobody."""
    return sa.false()


# Visibility rules of the tables that belong to users. Other tables are shared, or only reached
# through a row of one of these.
OWNED: Final[Mapping[sa.Table, Rule]] = {
    t.sessions: _of_owner,
    t.runs: lambda c, user_id: sa.or_(_of_user(c, user_id), _of_session(c, user_id)),
    t.journal: _of_either,
    t.requests: _of_either,
    t.tasks: _of_session,
    t.flows: _of_either,
    t.background_tasks: _of_either,
    t.background_output: _of_background_task,
    t.sidechains: _of_session,
    t.session_mcp_servers: _of_session,
    t.session_bindings: _of_session,
    t.client_events: _of_session,
    t.otlp_signals: _of_user,
    t.project_sessions: _of_session,
    t.messages: _of_session,
    t.artifacts: _of_run,
    t.debug_requests: _of_run,
    t.deliveries: _of_run,
    t.delivery_tries: _of_delivery,
    t.run_memories: _of_run,
    t.run_memory_scopes: _of_run,
    t.run_memory_bodies: _of_run,
    t.run_memory_evidence: _of_run,
    t.run_memory_backlog: _of_run,
    t.run_captures: _of_run,
    t.schedules: _of_owner,
    t.schedule_executions: _of_schedule,
    t.assets: _of_claim,
    t.learning_candidates: _of_candidate,
    t.learnings: _is_own_scope,
    t.learning_uses: _of_run,
    t.file_proposals: _of_proposal,
    t.user_context_files: _of_user,
    t.skill_uses: _of_user,
    t.skill_roots: _of_owner,
    t.audit: _of_actor,
}
# Tables that writes must count for all users, and readers only for themselves.
OWNED_FOR_READERS: Final[Mapping[sa.Table, Rule]] = {
    t.asset_references: lambda c, user_id: sa.or_(
        c.ref_id.in_(_runs(user_id)), c.ref_id.in_(_sessions(user_id))
    ),
    t.review_jobs: _of_review,
    t.capture_jobs: lambda c, user_id: c.job_id.in_(_runs(user_id)),
    t.rollout_evidence: _of_run,
    t.rollout_outcomes: _of_run,
    t.rollout_replay_cases: _of_owner,
    t.skill_listings: _of_run,
    t.skill_listing_days: _nobodys,
}
SENSITIVE: Final = frozenset({t.learnings, t.learning_candidates})


def narrowed(statement: E, visibility: RowVisibility, *, reads: bool) -> E:
    """A query in which each table of users is replaced by a subquery of its visible rows.

    SQLAlchemy lets the columns follow, so joins, unions and conditions need no rule of their own.
    """
    visible: dict[sa.FromClause, sa.FromClause] = {}

    def replace(element: Any, **_: object) -> sa.FromClause | None:
        table = element.element if isinstance(element, sa.Alias) else element
        if not isinstance(table, sa.TableClause):
            return None
        if element not in visible:
            rules = tuple(_rules(table.name, element.c, visibility, reads=reads))
            rows = sa.select(element).where(*rules)
            visible[element] = rows.subquery(element.name) if rules else element
        return visible[element]

    return cast("E", visitors.replacement_traverse(cast("Any", statement), {}, replace))


def _rules(name: str, c: Columns, visibility: RowVisibility, *, reads: bool) -> Iterator[Condition]:
    # By name, so that a `sa.table()` without our metadata is narrowed as well.
    table = t.metadata.tables[name]
    if not visibility.sees_sensitive and table in SENSITIVE:
        yield c.sensitivity != str(Sensitivity.SENSITIVE)
    rule = OWNED.get(table) or (OWNED_FOR_READERS.get(table) if reads else None)
    if visibility.user_id is not None and rule is not None:
        yield rule(c, visibility.user_id)


def require_existing(
    connection: "VisibleConnection", scope: LearningScope, source_run_id: str | None = None
) -> None:
    """Refuse to learn for a session, or from a run, that the caller cannot see.

    A caller with unrestricted visibility may prepare knowledge for a future session.
    """
    if current_visibility.get().user_id is None:
        return
    if scope.kind is ScopeKind.SESSION and not _exists(connection, t.sessions, scope.id):
        raise coded_error("sessions/session_not_found", session_id=scope.id)
    if source_run_id is not None and not _exists(connection, t.runs, source_run_id):
        raise coded_error("runs/run_not_found", run_id=source_run_id)


def _exists(connection: "VisibleConnection", table: sa.Table, row_id: str) -> bool:
    [column] = table.primary_key.columns
    return connection.execute(sa.select(column).where(column == row_id)).first() is not None


# The ids by which shared records refer to records of users.
NAMED: Final = tuple(
    table.primary_key.columns[0]
    for table in (
        t.runs,
        t.requests,
        t.artifacts,
        t.assets,
        t.schedules,
        t.messages,
        t.background_tasks,
        t.deliveries,
        t.learning_candidates,
        t.learnings,
    )
)


def foreign_among(
    connection: "VisibleConnection", session_ids: Sequence[str], ids: Sequence[str], user_id: str
) -> Iterator[str]:
    """The ids that refer to a record which a user cannot see."""
    given = [(t.sessions.c.session_id, session_ids), *((column, ids) for column in NAMED)]
    for column, names in given:
        table = column.table
        for some in batches(names):
            named = sa.select(column).where(
                column.in_(some), sa.not_(OWNED[table](table.c, user_id))
            )
            yield from connection.execute(named).scalars()


def sensitive_statements(connection: "VisibleConnection") -> tuple[SensitiveStatement, ...]:
    """The contents of all sensitive learnings and candidates, with the run that each came of.

    Run summaries are left out: the run itself can be read.
    """
    found, learned, runs = t.learning_candidates, t.learnings, t.runs
    of_candidates = sa.select(
        found.c.body, found.c.source_run_id, runs.c.session_id
    ).outerjoin_from(found, runs, runs.c.run_id == found.c.source_run_id)
    of_learnings = (
        sa.select(learned.c.body, found.c.source_run_id, runs.c.session_id)
        .outerjoin_from(learned, found, found.c.candidate_id == learned.c.source_candidate_id)
        .outerjoin(runs, runs.c.run_id == found.c.source_run_id)
    )
    rows = (
        row
        for query, table in ((of_candidates, found), (of_learnings, learned))
        for row in connection.execute(query.where(_is_sensitive(table)))
    )
    told = {
        (str(body["content"]), run_id, session_id)
        for body, run_id, session_id in rows
        if isinstance(body, dict) and body.get("content")
    }
    return tuple(SensitiveStatement(*each) for each in sorted(told, key=repr))


def _is_sensitive(table: sa.Table) -> Condition:
    # As in the partial index of either table.
    return sa.and_(
        table.c.sensitivity == sa.literal_column("'sensitive'"),
        table.c.kind != sa.literal_column("'run_summary'"),
    )
