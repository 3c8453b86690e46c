"""Signals for open pages: what changed, never what it says."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final

from understudy.api.sse import BATCH, HEARTBEAT, StreamHeartbeat
from understudy.sessions.journal import EventKind, JournalEvent

if TYPE_CHECKING:
    from understudy.daemon.services import Services

# The signal for pages that list things of any session.
ANY: Final = "anything-changed"


async def signals(services: "Services") -> AsyncIterator[bytes]:
    """A named event for each session in which something happens, and one for all."""
    pulse = StreamHeartbeat(services, ("events",))
    after = await asyncio.to_thread(_last, services)
    yield HEARTBEAT
    pulse.sent()
    while pulse.is_open:
        seen = pulse.counts()
        events = await asyncio.to_thread(_read, services, after)
        if events:
            after = events[-1].sequence
            pulse.sent()
            yield "".join(f"event: {name}\ndata: 1\n\n" for name in _names(events)).encode()
        elif await pulse.wait(seen):
            pulse.sent()
            yield HEARTBEAT


def signal_of(session_id: str) -> str:
    """The name of a session's signal, in which pages may not read a trigger of their own."""
    return f"session-{hashlib.sha256(session_id.encode()).hexdigest()[:16]}"


def _names(events: tuple[JournalEvent, ...]) -> list[str]:
    """The signals of some events, each once."""
    names = [signal_of(event.session_id) for event in events]
    if any(event.kind is EventKind.LEARNING for event in events):
        names.append("review-changed")
    return [*dict.fromkeys(names), ANY]


def _last(services: "Services") -> int:
    with services.resources.units.read() as unit:
        return unit.journal.last_sequence()


def _read(services: "Services", after: int) -> tuple[JournalEvent, ...]:
    with services.resources.units.read() as unit:
        return tuple(unit.journal.read(after_sequence=after, limit=BATCH))
