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
# A page that was away for longer looks at the newest events alone.
MAX_MISSED: Final = 1_000


async def signals(services: "Services", since: str) -> AsyncIterator[bytes]:
    """A named event for each session in which something happens, and one for all.

    `since` is the place in the journals that the page shows already, as `place_of` tells it, or
    the id of the last signal: what happened between the page and its stream is not missed.
    """
    pulse = StreamHeartbeat(services, ("events",))
    newest = await asyncio.to_thread(last_sequence, services)
    asked = int(since) if since.isascii() and since.isdigit() and len(since) < 20 else newest
    after = min(max(asked, newest - MAX_MISSED), newest)
    yield f"id: {after}\n\n".encode()
    async for events in batches(pulse, all_events(services), after, lambda e: e.sequence):
        pulse.sent()
        if not events:
            yield HEARTBEAT
        for name in _names(events):
            yield f"id: {events[-1].sequence}\nevent: {name}\ndata: 1\n\n".encode()


async def place_of(services: "Services") -> int:
    """How far the journals are; to be asked before a page reads them."""
    return await asyncio.to_thread(last_sequence, services)


def signal_of(session_id: str) -> str:
    """The name of a session's signal, in which pages may not read a trigger of their own."""
    return f"session-{hashlib.sha256(session_id.encode()).hexdigest()[:16]}"


def _names(events: Sequence[JournalEvent]) -> list[str]:
    """The signals of some events, each once; none without events."""
    names = [signal_of(event.session_id) for event in events]
    if any(event.kind is EventKind.LEARNING for event in events):
        names.append("review-changed")
    return [*dict.fromkeys(names), ANY] if names else []
