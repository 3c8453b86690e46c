"""The stores of evolution: an agent's record, proposals for its files, and suggestions."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from sys import intern
from typing import Any, Final

import sqlalchemy as sa

from understudy.agents.model import SOUL
from understudy.core.page import Page, PageRequest
from understudy.evolution.proposals import FileProposal, ProposalState
from understudy.evolution.record import EntryKind, EntryRef
from understudy.evolution.usage_rules import MAX_READ, MadeSuggestion, SuggestionState
from understudy.runs.model import RunStatus
from understudy.sessions.journal import JournalEvent
from understudy.storage.journal import event_of
from understudy.storage.rows import select_page, upsert_of
from understudy.storage.schema import (
    agent_files,
    agents,
    file_proposals,
    journal,
    learning_candidates,
    requests,
    runs,
    sessions,
    skill_uses,
    skill_versions,
    suggestion_looks,
    suggestions,
)
from understudy.storage.schema.runs import OFFERS
from understudy.storage.schema.sessions import NUDGES, TOOL_RESULTS
from understudy.storage.schema.skills import MADE_BY_RUNS
from understudy.storage.table import Table
from understudy.storage.visible_connection import VisibleConnection


class EvolutionStore:
    """The evolution record, read from the tables of its sources; it has no table of its own."""

    def __init__(self, connection: VisibleConnection) -> None:
        self._connection = connection

    def page(
        self, agent_id: str, request: PageRequest, *, kinds: Collection[EntryKind]
    ) -> Page[EntryRef]:
        """Entries of these kinds, newest first."""
        if not kinds:
            return Page(items=())
        newest = (_newest(kind, request).subquery() for kind in kinds)
        places = sa.union_all(*(sa.select(each) for each in newest)).subquery("places")
        query = sa.select(places).params(agent=agent_id)
        by: list[Any] = [places.c[name] for name in ORDER]
        return select_page(self._connection, query, request, by=by, read=_place, descending=True)

    def event(self, sequence: int) -> JournalEvent | None:
        """One event of the journal."""
        row = self._connection.execute(_EVENT, {"wanted": sequence}).first()
        return None if row is None else event_of(row)


ORDER: Final = ("at_ms", "number", "kind", "id")
_EVENT: Final = sa.select(journal).where(journal.c.sequence == sa.bindparam("wanted"))
_AGENT: Final[sa.BindParameter[str]] = sa.bindparam("agent", type_=sa.Text)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryTable:
    """The table and columns of one kind of entry."""

    at_ms: sa.Column[int]
    id: sa.Column[str]
    number: sa.Column[int] | None = None
    which: tuple[sa.ColumnElement[bool] | sa.TextClause, ...]
    # The order of the partial index of this kind, after the agent.
    order: tuple[sa.Column[Any], ...]


# The conditions repeat those of the partial indexes, or a database would not use these.
ENTRY_TABLES: Final[Mapping[EntryKind, EntryTable]] = {
    EntryKind.SOUL_VERSION: EntryTable(
        at_ms=agent_files.c.created_at_ms,
        id=agent_files.c.name,
        number=agent_files.c.version,
        which=(agent_files.c.agent_id == _AGENT, agent_files.c.name == SOUL),
        order=(agent_files.c.created_at_ms, agent_files.c.version),
    ),
    EntryKind.PROPOSAL: EntryTable(
        at_ms=file_proposals.c.created_at_ms,
        id=file_proposals.c.proposal_id,
        which=(file_proposals.c.agent_id == _AGENT, file_proposals.c.name == SOUL),
        order=(file_proposals.c.created_at_ms, file_proposals.c.proposal_id),
    ),
    EntryKind.NUDGE: EntryTable(
        at_ms=journal.c.at_ms,
        id=journal.c.session_id,
        number=journal.c.sequence,
        which=(journal.c.agent_id == _AGENT, NUDGES),
        order=(journal.c.at_ms, journal.c.sequence),
    ),
    EntryKind.OFFER: EntryTable(
        at_ms=requests.c.created_at_ms,
        id=requests.c.request_id,
        which=(requests.c.agent_id == _AGENT, OFFERS),
        order=(requests.c.created_at_ms, requests.c.request_id),
    ),
    EntryKind.SKILL_VERSION: EntryTable(
        at_ms=skill_versions.c.created_at_ms,
        id=skill_versions.c.skill_id,
        number=skill_versions.c.number,
        which=(skill_versions.c.agent_id == _AGENT, MADE_BY_RUNS),
        order=(
            skill_versions.c.created_at_ms,
            skill_versions.c.number,
            skill_versions.c.skill_id,
        ),
    ),
}


def _newest(kind: EntryKind, request: PageRequest) -> sa.Select[Any]:
    """At most one page of entries of a kind, so that no more rows are read."""
    shelf = ENTRY_TABLES[kind]
    number = sa.literal_column("0") if shelf.number is None else shelf.number
    place: tuple[sa.ColumnElement[Any], ...] = (
        shelf.at_ms,
        sa.cast(number, sa.BigInteger),
        sa.literal_column(f"'{kind}'", sa.Text),
        shelf.id,
    )
    named = (part.label(name) for name, part in zip(ORDER, place, strict=True))
    query = sa.select(*named).where(*shelf.which)
    if request.after:
        after = [sa.literal(part) for part in request.after]
        # The first condition is redundant, but an index can be searched by it.
        query = query.where(shelf.at_ms <= after[0], sa.tuple_(*place) < sa.tuple_(*after))
    return query.order_by(*(column.desc() for column in shelf.order)).limit(request.limit + 1)


def _place(row: Any) -> EntryRef:
    return EntryRef(kind=EntryKind(row.kind), at_ms=row.at_ms, id=row.id, number=row.number)


class ProposalStore(Table[FileProposal]):
    """Proposals of all agents."""

    table = file_proposals
    kind = FileProposal
    newest_first = True

    def decide(self, proposal: FileProposal) -> bool:
        """Store the decision on a pending proposal; False when it is not pending any more."""
        waits = file_proposals.c.state == str(ProposalState.PENDING)
        statement = (
            sa.update(file_proposals)
            .where(file_proposals.c.proposal_id == proposal.proposal_id, waits)
            .values(self._row(proposal))
        )
        return self._connection.execute(statement).rowcount == 1

    def waiting(
        self, agent_id: str, name: str, *, user_id: str | None = None
    ) -> Sequence[FileProposal]:
        """Pending proposals for an agent's file, or for a user's copy of it, oldest first."""
        values = {"of_agent": agent_id, "file_name": name, "of_user": user_id or ""}
        return self._many(_WAITING, values)

    def pending(self, request: PageRequest, *, owner_id: str | None = None) -> Page[FileProposal]:
        """Pending proposals for all agents, or for those of an owner, oldest first."""
        return select_page(
            self._connection,
            self._select(*_pending_of(owner_id)),
            request,
            by=(file_proposals.c.proposal_id,),
            read=self._read,
        )

    def pending_count(self, *, owner_id: str | None = None) -> int:
        """The number of pending proposals for all agents, or for those of an owner."""
        query = sa.select(sa.func.count()).where(*_pending_of(owner_id))
        return self._connection.execute(query).scalar_one()

    def page(
        self,
        agent_id: str,
        request: PageRequest,
        *,
        state: ProposalState | None = None,
        user_id: str | None = None,
    ) -> Page[FileProposal]:
        """The proposals for an agent, or for the copies of a user, newest first."""
        return self._page(request, self._select(agent_id=agent_id, user_id=user_id, state=state))


_WAITING: Final = (
    sa.select(file_proposals)
    .where(
        file_proposals.c.agent_id == sa.bindparam("of_agent"),
        file_proposals.c.state == str(ProposalState.PENDING),
        file_proposals.c.name == sa.bindparam("file_name"),
        sa.func.coalesce(file_proposals.c.user_id, "") == sa.bindparam("of_user"),
    )
    .order_by(file_proposals.c.proposal_id)
)


def _pending_of(owner_id: str | None) -> tuple[sa.ColumnElement[bool], ...]:
    """SQL conditions of pending proposals; by agents, to match the partial index."""
    owned: sa.ColumnElement[bool] = file_proposals.c.agent_id.in_(sa.select(agents.c.agent_id))
    if owner_id is not None:
        theirs = sa.select(agents.c.agent_id).where(agents.c.owner_id == owner_id)
        # Users decide on their own copies, whoever owns the agent.
        is_theirs = sa.or_(
            file_proposals.c.agent_id.in_(theirs), file_proposals.c.user_id == owner_id
        )
        owned = sa.and_(owned, is_theirs)
    return (owned, file_proposals.c.state == str(ProposalState.PENDING))


# Tool answers are read along, so a batch holds few runs.
BATCH: Final = 10
LAST: Final = "last"

# The step of a run, and the tool that was called in it.
Call = tuple[int, str]


class SuggestionStore:
    """The states of suggestions, and the tool runs that suggestions are made from."""

    def __init__(self, connection: VisibleConnection) -> None:
        self._connection = connection

    def states(self) -> tuple[SuggestionState, ...]:
        """The states of all suggestions that are not forgotten."""
        rows = self._connection.execute(_STANDING).mappings()
        return tuple(SuggestionState(**row) for row in rows)

    def put(self, made: MadeSuggestion) -> None:
        """Insert or replace the state of a suggestion."""
        self._connection.execute(_PUT[self._connection.dialect.name], asdict(made))

    def forget(self, *, before_ms: int) -> None:
        """Delete suggestions from before a time."""
        self._connection.execute(sa.delete(suggestions).where(suggestions.c.at_ms < before_ms))

    def looked_at_ms(self) -> int | None:
        """When suggestions were last computed."""
        return self._connection.execute(sa.select(suggestion_looks.c.at_ms)).scalar()

    def note_look(self, at_ms: int) -> None:
        """Note the time of this computation."""
        values = {"name": LAST, "at_ms": at_ms}
        self._connection.execute(_LOOKED[self._connection.dialect.name], values)

    def tool_runs(self, *, since_ms: int, per_agent: int) -> Mapping[str, tuple[str, ...]]:
        """For each agent, its newest successful runs that used tools and no skill."""
        found: dict[str, tuple[str, ...]] = {}
        for agent_id in self._connection.execute(_AGENTS).scalars().all():
            values = {"agent": agent_id, "since_ms": since_ms, "most": per_agent}
            found[agent_id] = tuple(self._connection.execute(_RUNS, values).scalars())
        return found

    def tools_of(self, run_ids: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        """The tools that runs called, in order."""
        calls: dict[str, list[Call]] = defaultdict(list)
        for at in range(0, len(run_ids), BATCH):
            self._read(run_ids[at : at + BATCH], calls)
        return {run_id: _in_order(calls[run_id]) for run_id in run_ids}

    def _read(self, run_ids: Sequence[str], calls: dict[str, list[Call]]) -> None:
        for row in self._connection.execute(_RESULTS, {"runs": run_ids}):
            done = row.data if isinstance(row.data, dict) else {}
            step, name = done.get("step"), done.get("name")
            if done.get("executed") and isinstance(step, int) and isinstance(name, str):
                calls[row.run_id].append((step, name))


def _in_order(calls: Sequence[Call]) -> tuple[str, ...]:
    """The tools of a run; those of one step run concurrently, so they are sorted by name."""
    return tuple(intern(name) for _, name in sorted(calls))[:MAX_READ]


_STANDING: Final = sa.select(
    suggestions.c.rule,
    suggestions.c.subject,
    suggestions.c.at_ms,
    sa.func.coalesce(learning_candidates.c.is_open, sa.false()).label("is_open"),
    learning_candidates.c.decided_at_ms,
).outerjoin(learning_candidates, learning_candidates.c.candidate_id == suggestions.c.candidate_id)
_PUT: Final = upsert_of(suggestions)
_LOOKED: Final = upsert_of(suggestion_looks)
_AGENTS: Final = sa.select(agents.c.agent_id).order_by(agents.c.agent_id)
_USED_A_SKILL: Final = sa.exists().where(skill_uses.c.run_id == runs.c.run_id)
_CALLED_TOOLS: Final = sa.exists().where(TOOL_RESULTS, journal.c.run_id == runs.c.run_id)
_RUNS: Final = (
    sa.select(runs.c.run_id)
    .join(sessions, sessions.c.session_id == runs.c.session_id)
    .where(
        runs.c.agent_id == sa.bindparam("agent"),
        runs.c.submitted_at_ms >= sa.bindparam("since_ms"),
        runs.c.status == str(RunStatus.COMPLETED),
        # A sidechain is a part of its parent's work.
        sessions.c.parent_session_id.is_(None),
        # A trial is nobody's habit.
        runs.c.trial_id.is_(None),
        ~_USED_A_SKILL,
        _CALLED_TOOLS,
    )
    .order_by(runs.c.submitted_at_ms.desc(), runs.c.run_id.desc())
    .limit(sa.bindparam("most"))
)
_RESULTS: Final = (
    sa.select(journal.c.run_id, journal.c.data)
    .where(TOOL_RESULTS, journal.c.run_id.in_(sa.bindparam("runs", expanding=True)))
    .order_by(journal.c.run_id, journal.c.offset)
)
