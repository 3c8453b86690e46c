"""Signals for open pages: what changed, never what it says."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Final

from understudy.api.sse import (
    HEARTBEAT,
    StreamHeartbeat,
    all_events,
    batches,
    last_sequence,
)
from understudy.sessions.journal import EventKind, JournalEvent

if TYPE_CHECKING:
    from understudy.daemon.services import Services

# The signal for pages that list things of any session.
ANY: Final = "anything-changed"


async def signals(services: "Services") -> AsyncIterator[bytes]:
    """A named event for each session in which something happens, and one for all."""
    pulse = StreamHeartbeat(services, ("events",))
    after = await asyncio.to_thread(last_sequence, services)
    yield HEARTBEAT
    async for events in batches(pulse, all_events(services), after, lambda e: e.sequence):
        pulse.sent()
        named = "".join(f"event: {name}\ndata: 1\n\n" for name in _names(events)).encode()
        yield named or HEARTBEAT


def signal_of(session_id: str) -> str:
    """The name of a session's signal, in which pages may not read a trigger of their own."""
    return f"session-{hashlib.sha256(session_id.encode()).hexdigest()[:16]}"


def _names(events: Sequence[JournalEvent]) -> list[str]:
    """The signals of some events, each once; none without events."""
    names = [signal_of(event.session_id) for event in events]
    if any(event.kind is EventKind.LEARNING for event in events):
        names.append("review-changed")
    return [*dict.fromkeys(names), ANY] if names else []
