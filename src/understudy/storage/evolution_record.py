"""Where to find what happened to an agent: places in several tables, in one order."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from understudy.agents.model import SOUL
from understudy.core.page import Page, PageRequest
from understudy.evolution.record import EntryKind, Place
from understudy.sessions.journal import JournalEvent
from understudy.storage.journal import event_of
from understudy.storage.paging import select_page
from understudy.storage.schema import (
    agent_files,
    file_proposals,
    journal,
    requests,
    skill_versions,
)
from understudy.storage.schema.sessions import NUDGES
from understudy.storage.schema.skills import MADE_BY_RUNS
from understudy.storage.schema.waiting import OFFERS


class EvolutionStore:
    """A record that is kept nowhere else than in what it tells of."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def page(
        self, agent_id: str, request: PageRequest, *, kinds: Collection[EntryKind]
    ) -> Page[Place]:
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
class Shelf:
    """Where the entries of one kind stand."""

    at_ms: sa.Column[int]
    id: sa.Column[str]
    number: sa.Column[int] | None = None
    which: tuple[sa.ColumnElement[bool] | sa.TextClause, ...]
    # What an index has after the agent, which is what tells the entries of this kind apart.
    order: tuple[sa.Column[Any], ...]


# Which entries count is written as their indexes say it, or a database would not use these.
SHELVES: Final[Mapping[EntryKind, Shelf]] = {
    EntryKind.SOUL_VERSION: Shelf(
        at_ms=agent_files.c.created_at_ms,
        id=agent_files.c.name,
        number=agent_files.c.version,
        which=(agent_files.c.agent_id == _AGENT, agent_files.c.name == SOUL),
        order=(agent_files.c.created_at_ms, agent_files.c.version),
    ),
    EntryKind.PROPOSAL: Shelf(
        at_ms=file_proposals.c.created_at_ms,
        id=file_proposals.c.proposal_id,
        which=(file_proposals.c.agent_id == _AGENT, file_proposals.c.name == SOUL),
        order=(file_proposals.c.created_at_ms, file_proposals.c.proposal_id),
    ),
    EntryKind.NUDGE: Shelf(
        at_ms=journal.c.at_ms,
        id=journal.c.session_id,
        number=journal.c.sequence,
        which=(journal.c.agent_id == _AGENT, NUDGES),
        order=(journal.c.at_ms, journal.c.sequence),
    ),
    EntryKind.OFFER: Shelf(
        at_ms=requests.c.created_at_ms,
        id=requests.c.request_id,
        which=(requests.c.agent_id == _AGENT, OFFERS),
        order=(requests.c.created_at_ms, requests.c.request_id),
    ),
    EntryKind.SKILL_VERSION: Shelf(
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
    """As many entries of a kind as a page could hold, so that no more are ever looked at."""
    shelf = SHELVES[kind]
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
        # The first says nothing new, but it is what an index can be searched by.
        query = query.where(shelf.at_ms <= after[0], sa.tuple_(*place) < sa.tuple_(*after))
    return query.order_by(*(column.desc() for column in shelf.order)).limit(request.limit + 1)


def _place(row: Any) -> Place:
    return Place(kind=EntryKind(row.kind), at_ms=row.at_ms, id=row.id, number=row.number)
