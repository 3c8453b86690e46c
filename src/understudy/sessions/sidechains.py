"""Sidechains: how deep and how wide sessions may have sessions below them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from understudy.core.errors import Conflict
from understudy.core.page import Page, PageRequest
from understudy.sessions.model import Session

MAX_DEPTH: Final = 3
MAX_LIVE: Final = 8
MAX_LABEL_CHARS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Spawn:
    """How a run made a sidechain; one that a person made has none."""

    session_id: str
    # The run that asked for it, and the first run of the sidechain itself.
    run_id: str
    first_run_id: str
    created_at_ms: int
    label: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sidechain:
    """A child session with how it came to be."""

    session: Session
    spawn: Spawn | None = None


class SidechainStore(Protocol):
    """Which sessions are below which, and what goes on there."""

    def add(self, spawn: Spawn) -> None:
        """Keep how a sidechain came to be."""
        ...

    def spawn_of(self, session_id: str) -> Spawn | None:
        """How a sidechain came to be, if a run made it."""
        ...

    def page(self, parent_session_id: str, request: PageRequest) -> Page[Sidechain]:
        """The children of a session, oldest first."""
        ...

    def depth(self, session_id: str) -> int:
        """How many sessions are above a session."""
        ...

    def parent_of(self, session_id: str) -> str | None:
        """The session right above a session."""
        ...

    def root_of(self, session_id: str) -> str:
        """The session above all others that are above a session; itself where none is."""
        ...

    def count_live(self, parent_session_id: str) -> int:
        """How many children of a session have a run that has not ended."""
        ...

    def live_among(self, session_ids: Sequence[str]) -> frozenset[str]:
        """Which of some sessions have a run that has not ended."""
        ...

    def spawned_by(self, run_id: str) -> tuple[str, ...]:
        """The sidechains that a run made."""
        ...

    def below(self, session_id: str) -> tuple[str, ...]:
        """Every session below a session that has not ended, by id."""
        ...

    def unfinished_runs(self, session_ids: Sequence[str]) -> tuple[str, ...]:
        """The runs of some sessions that have not ended, in the order of their lines."""
        ...

    def latest_runs(self, session_ids: Sequence[str]) -> dict[str, str]:
        """The newest run of each of some sessions that have one."""
        ...

    def questions_for(self, parent_session_id: str) -> tuple[str, ...]:
        """The open questions that the children of a session ask it, oldest first."""
        ...


class HasSidechains(Protocol):
    """A unit of work that knows sidechains."""

    @property
    def sidechains(self) -> SidechainStore: ...


def check_room(unit: HasSidechains, parent: Session) -> None:
    """Refuse one more sidechain of a session, held locked, that has too many or is too far down."""
    if unit.sidechains.depth(parent.session_id) >= MAX_DEPTH:
        raise _limit(f"sidechains go at most {MAX_DEPTH} levels deep", depth=MAX_DEPTH)
    if unit.sidechains.count_live(parent.session_id) >= MAX_LIVE:
        raise _limit(
            f"a session has at most {MAX_LIVE} sidechains at work; wait for one or cancel it",
            width=MAX_LIVE,
        )


def spawns_of(unit: HasSidechains, run_id: str) -> Iterator[Spawn]:
    """How each sidechain came to be that a run made."""
    return filter(None, map(unit.sidechains.spawn_of, unit.sidechains.spawned_by(run_id)))


def _limit(detail: str, **limit: int) -> Conflict:
    return Conflict("sidechain_limit", domain="sessions", detail=detail, params=limit)
