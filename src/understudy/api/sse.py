"""Server-sent events: no gap, no repeat, nothing piled up for a slow reader."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import StreamingResponse

from understudy.agent.stream import delta_topic
from understudy.api.frames import Position, frame_of
from understudy.api.parts import AppParts
from understudy.api.telling import RunTelling
from understudy.runs.lifecycle import TERMINAL
from understudy.runs.service import require_run
from understudy.sessions.journal import EventKind, JournalEvent

BATCH: Final = 200
POLL_S: Final = 1.0
HEARTBEAT_S: Final = 15.0
HEARTBEAT: Final = b": heartbeat\n\n"
HEADERS: Final = {"X-Accel-Buffering": "no"}

Read = Callable[[], Sequence[JournalEvent]]


def stream_response(chunks: AsyncIterator[bytes]) -> StreamingResponse:
    """An answer that goes on until the stream ends or the reader leaves."""
    return StreamingResponse(chunks, media_type="text/event-stream", headers=HEADERS)


def wanted_position(request: Request, cursor: str | None) -> Position | None:
    """Where the reader says it stands; a reconnecting browser repeats an old cursor, so the
    further one counts."""
    said = [text for text in (cursor, request.headers.get("last-event-id")) if text]
    return max((Position.parse(text) for text in said), key=lambda p: p.order, default=None)


@dataclass(slots=True)
class Pulse:
    """Waits for news, and says when the reader should hear that we are still here."""

    parts: AppParts
    topics: tuple[str, ...]
    last_sent: float = 0.0

    def counts(self) -> dict[str, int]:
        """How often each topic has rung; to be taken before looking for news."""
        return {topic: self.parts.bell.count(topic) for topic in self.topics}

    @property
    def is_open(self) -> bool:
        """Whether the daemon goes on."""
        return not self.parts.shutting_down.is_set()

    def sent(self) -> None:
        """Something was sent just now."""
        self.last_sent = asyncio.get_running_loop().time()

    async def wait(self, seen: dict[str, int]) -> bool:
        """Wait for news since `seen`; True when a heartbeat is due."""
        await self.parts.bell.wait(seen, timeout_s=POLL_S)
        return asyncio.get_running_loop().time() - self.last_sent >= HEARTBEAT_S


async def tell_run(
    parts: AppParts, run_id: str, session_id: str, telling: RunTelling
) -> AsyncIterator[bytes]:
    """A run from where the reader stands to its end."""
    pulse = Pulse(parts, (f"session:{session_id}", delta_topic(run_id)))
    pulse.sent()
    while pulse.is_open:
        seen = pulse.counts()
        # The text is looked at before the journal: when it belongs to a later step, the journal
        # has everything before that step.
        spoken = parts.deltas.current(run_id)
        has_ended, events = await asyncio.to_thread(
            _read_run, parts, run_id, telling.position.offset
        )
        for event in events:
            for frame in telling.journal(event):
                yield frame.encode()
            if telling.is_over:
                return
        if spoken is not None and len(events) < BATCH:
            for frame in telling.spoken(spoken):
                pulse.sent()
                yield frame.encode()
        if events:
            pulse.sent()
        elif has_ended:
            return
        elif await pulse.wait(seen):
            pulse.sent()
            yield HEARTBEAT


def _read_run(
    parts: AppParts, run_id: str, after_offset: int
) -> tuple[bool, Sequence[JournalEvent]]:
    """Whether the run has ended, and then its next events: the last one is among them if it has."""
    with parts.units.read() as unit:
        has_ended = require_run(unit, run_id).status in TERMINAL
    with parts.units.read() as unit:
        events = unit.journal.read(run_id=run_id, after_offset=after_offset, limit=BATCH)
    return has_ended, events


def start_telling(
    parts: AppParts, run_id: str, session_id: str, position: Position | None
) -> RunTelling:
    """A telling that takes up where the reader stands, or starts at the beginning."""
    if position is None:
        return RunTelling(position=Position())
    with parts.units.read() as unit:
        newest = unit.journal.read_back(
            session_id, before_offset=position.offset + 1, kinds=(EventKind.MESSAGE,), limit=1
        )
    own = [int(event.data["step"]) for event in newest if event.run_id == run_id]
    return RunTelling(position=position, finished_step=max(own, default=0))


async def follow_session(parts: AppParts, session_id: str, after: int) -> AsyncIterator[bytes]:
    """The events of a session after an offset, as they come."""

    def read(after: int) -> Sequence[JournalEvent]:
        with parts.units.read() as unit:
            return unit.journal.read(session_id=session_id, after_offset=after, limit=BATCH)

    pulse = Pulse(parts, (f"session:{session_id}",))
    async for chunk in _follow(pulse, read, after, lambda event: event.offset):
        yield chunk


async def follow_all(parts: AppParts, after: int) -> AsyncIterator[bytes]:
    """The events of all sessions after a sequence number, as they come."""

    def read(after: int) -> Sequence[JournalEvent]:
        with parts.units.read() as unit:
            return unit.journal.read(after_sequence=after, limit=BATCH)

    async for chunk in _follow(Pulse(parts, ("events",)), read, after, lambda e: e.sequence):
        yield chunk


async def _follow(
    pulse: Pulse,
    read: Callable[[int], Sequence[JournalEvent]],
    after: int,
    number: Callable[[JournalEvent], int],
) -> AsyncIterator[bytes]:
    # An id without an event: a reader who loses the connection now comes back to this place.
    yield f"id: {after}\n\n".encode()
    pulse.sent()
    while pulse.is_open:
        seen = pulse.counts()
        events = await asyncio.to_thread(read, after)
        for event in events:
            after = number(event)
            frame = frame_of(event, event_id=str(after))
            if frame is not None:
                pulse.sent()
                yield frame.encode()
        if not events and await pulse.wait(seen):
            pulse.sent()
            yield HEARTBEAT
