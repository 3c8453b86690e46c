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
from understudy.core.bell import EVENTS, RELEASED, TABLE
from understudy.sessions.journal import EventKind, FeedPlace, JournalEvent

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
PLACE: Final = re.compile(r"((?:[0-9]{1,18}\.)?[0-9]{1,18})\.([0-9]{1,18})")


@dataclass(frozen=True, slots=True)
class LivePlace:
    """A cursor: the last journal event and the last sealed audit entry that a page has seen."""

    feed: FeedPlace
    audited: int

    def __str__(self) -> str:
        return f"{self.feed}.{self.audited}"

    def asked(self, since: str, *, oldest: "LivePlace") -> "LivePlace":
        """The cursor that a page sends, between the oldest and this one, the newest."""
        found = PLACE.fullmatch(since)
        if found is None:
            return self
        return LivePlace(
            min(max(FeedPlace.parse(found[1]), oldest.feed), self.feed),
            min(max(int(found[2]), oldest.audited), self.audited),
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
    topics = (EVENTS, RELEASED, TABLE.format("audit"))
    pulse = StreamHeartbeat(services, topics, sources=len(topics))
    after = await asyncio.to_thread(_place_after, services, since)
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


def newest_place(services: "Services", *, back: int = 0) -> LivePlace:
    """How far journals and audit are, or were so long before; asked before a page reads anything."""
    with services.resources.units.read() as unit:
        return LivePlace(unit.feed.last_place(back=back), unit.audit.last_place() - back)


def _place_after(services: "Services", since: str) -> LivePlace:
    oldest = newest_place(services, back=MAX_MISSED)
    return newest_place(services).asked(since, oldest=oldest)


def _read(
    services: "Services",
    events_after: Callable[[FeedPlace], Sequence[JournalEvent]],
    place: LivePlace,
) -> Sequence[LiveNews]:
    events = events_after(place.feed)
    with services.resources.units.read() as unit:
        audited = unit.audit.resources_after(place.audited, limit=BATCH)
    if not events and not audited:
        return ()
    after = LivePlace(
        events[-1].place if events else place.feed,
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
