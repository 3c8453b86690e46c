"""Sidechains: how deep and how wide sessions may have sessions below them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from understudy.core.errors import coded_error
from understudy.sessions.model import Session

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

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


def check_room(unit: "Unit", parent: Session) -> None:
    """Refuse one more sidechain of a session, held locked, that has too many or is too far down."""
    if unit.sidechains.depth(parent.session_id) >= MAX_DEPTH:
        raise coded_error("sessions/sidechain_limit", depth=MAX_DEPTH)
    if unit.sidechains.count_live(parent.session_id) >= MAX_LIVE:
        raise coded_error("sessions/sidechain_limit:width", width=MAX_LIVE)


def spawns_of(unit: "Unit", run_id: str) -> Iterator[Spawn]:
    """How each sidechain came to be that a run made."""
    return filter(None, map(unit.sidechains.spawn_of, unit.sidechains.spawned_by(run_id)))
