"""Live signals for open pages (server-sent events): which session changed, never the content."""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from understudy.api.sse import (
    BATCH,
    HEARTBEAT,
    StreamHeartbeat,
    all_events,
    batches,
)
from understudy.core.bell import EVENTS, TABLE
from understudy.sessions.journal import EventKind, JournalEvent

if TYPE_CHECKING:
    from understudy.daemon.services import Services

# The signal for pages that list records of any session.
ANY: Final = "anything-changed"
# The signal for changes of the inbox.
REVIEW: Final = "review-changed"
# A run that starts or stops waiting adds a request to the inbox or removes one.
REVIEWED_EVENTS: Final = frozenset({EventKind.LEARNING, EventKind.CANDIDATES_ADDED, EventKind.RUN})
# Decisions outside a session are in no journal; the audit has them under these resources.
REVIEWED_RESOURCES: Final = frozenset(
    {"agents", "approvals", "learning_candidates", "learnings", "questions", "rollouts"}
)
# A page that missed more events than this gets only the newest.
MAX_MISSED: Final = 1_000
PLACE: Final = re.compile(r"([0-9]{1,18})\.([0-9]{1,18})")


@dataclass(frozen=True, slots=True)
class LivePlace:
    """A cursor: the last journal event and the last audit entry that a page has seen."""

    sequence: int
    audited: int

    def __str__(self) -> str:
        return f"{self.sequence}.{self.audited}"

    def asked(self, since: str) -> "LivePlace":
        """The cursor that a page sends, at most `MAX_MISSED` before this one, the newest."""
        found = PLACE.fullmatch(since)
        if found is None:
            return self
        return LivePlace(
            min(max(int(found[1]), self.sequence - MAX_MISSED), self.sequence),
            min(max(int(found[2]), self.audited - MAX_MISSED), self.audited),
        )


@dataclass(frozen=True, slots=True)
class LiveNews:
    """Signals, and the cursor after their events."""

    names: tuple[str, ...]
    place: LivePlace


async def signals(services: "Services", since: str) -> AsyncIterator[bytes]:
    """Stream one named event for each session that changes, and one for any change.

    `since` is the place that the page shows already, as `newest_place` tells it, or the id of the
    last signal: what happened between the page and its stream is not missed.
    """
    # A decision outside a session writes only to the audit.
    pulse = StreamHeartbeat(services, (EVENTS, TABLE.format("audit")), sources=2)
    after = (await asyncio.to_thread(newest_place, services)).asked(since)
    read_events = all_events(services)

    def read(place: LivePlace) -> Sequence[LiveNews]:
        return _read(services, read_events, place)

    yield f"id: {after}\n\n".encode()
    async for news in batches(pulse, read, after, lambda it: it.place):
        pulse.sent()
        if not news:
            yield HEARTBEAT
        for each in news:
            for name in each.names:
                yield f"id: {each.place}\nevent: {name}\ndata: 1\n\n".encode()


def signal_of(session_id: str) -> str:
    """The name of a session's signal: hashed, so that an id cannot inject an htmx trigger."""
    return f"session-{hashlib.sha256(session_id.encode()).hexdigest()[:16]}"


def newest_place(services: "Services") -> LivePlace:
    """How far journals and audit are; to be asked before a page reads anything."""
    with services.resources.units.read() as unit:
        return LivePlace(unit.journal.last_sequence(), unit.audit.last_number())


def _read(
    services: "Services", events_after: Callable[[int], Sequence[JournalEvent]], place: LivePlace
) -> Sequence[LiveNews]:
    events = events_after(place.sequence)
    with services.resources.units.read() as unit:
        audited = unit.audit.resources_after(place.audited, limit=BATCH)
    if not events and not audited:
        return ()
    after = LivePlace(
        events[-1].sequence if events else place.sequence,
        audited[-1][0] if audited else place.audited,
    )
    return (LiveNews(_names(events, [resource for _, resource in audited]), after),)


def _names(events: Sequence[JournalEvent], resources: Sequence[str]) -> tuple[str, ...]:
    """The distinct signals for some journal events and audit entries."""
    names = dict.fromkeys(signal_of(event.session_id) for event in events)
    is_reviewed = any(event.kind in REVIEWED_EVENTS for event in events)
    if is_reviewed or not REVIEWED_RESOURCES.isdisjoint(resources):
        names[REVIEW] = None
    return (*names, ANY)
