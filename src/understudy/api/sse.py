"""Server-sent events: no gap, no duplicate, no buffering for a slow reader."""

import asyncio
import json
import zlib
from collections.abc import AsyncIterator, Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeVar

from fastapi.sse import format_sse_event
from pydantic import TypeAdapter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import StreamingResponse

from understudy.agent.model_call import Spoken, delta_topic
from understudy.api.services import Services
from understudy.api.views.runs import event_body, step_of
from understudy.channels.model import ChannelEvent, ChannelMessage
from understudy.channels.worker import channel_topic
from understudy.core.bell import EVENTS, RELEASED, STOPPING
from understudy.core.errors import coded_error
from understudy.core.showable import showable
from understudy.core.visibility import UNRESTRICTED, current_visibility
from understudy.runs.lifecycle import TERMINAL
from understudy.runs.model import require_run
from understudy.runs.remembered import with_remembered
from understudy.sessions.journal import (
    MAX_NUMBER,
    EventKind,
    FeedPlace,
    JournalEvent,
    JournalPage,
    is_silence,
    may_be_silence,
)
from understudy.wire import events as wire
from understudy.wire.events import DELTA, DELTA_RESET
from understudy.wire.masking import masked, quotations_near

STEP_EVENTS: Final[Mapping[EventKind, str]] = {
    EventKind.TOOL_CALL: wire.TOOL_CALL,
    EventKind.TOOL_RESULT: wire.TOOL_RESULT,
    EventKind.OUTPUT: wire.OUTPUT,
    EventKind.CANDIDATES_ADDED: wire.CANDIDATES_ADDED,
    EventKind.HINT: wire.HINT,
    EventKind.REMEMBERED: wire.REMEMBERED,
}
# Events of a session itself, beside those of its runs.
SESSION_EVENTS: Final[Mapping[EventKind, str]] = {
    EventKind.SESSION: wire.SESSION_STATE_CHANGED,
    EventKind.LEARNING: wire.LEARNING_UPDATED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamFrame:
    """One event of a stream."""

    event: str
    data: Mapping[str, Any]
    id: str

    def encode(self) -> bytes:
        """The encoded event; JSON in ASCII, so that no text can break a line."""
        data = json.dumps(showable(self.data))
        return format_sse_event(event=self.event, data_str=data, id=self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """The position of a stream: journal events up to an offset, and part of a message.

    `digest` is a checksum of the part, by which a later text is known to go on from it.
    """

    offset: int = 0
    step: int = 0
    take: int = 0
    chars: int = 0
    digest: int = 0

    def __str__(self) -> str:
        if not self.chars:
            return str(self.offset)
        return f"{self.offset}.{self.step}.{self.take}.{self.chars}.{self.digest}"

    @classmethod
    def parse(cls, text: str) -> "Position":
        """Parse an event id; raises `Invalid`."""
        parts = text.strip().split(".")
        are_numbers = all(part.isascii() and part.isdigit() and len(part) < 20 for part in parts)
        numbers = [int(part) for part in parts] if are_numbers else []
        if len(numbers) not in (1, 5) or any(number > MAX_NUMBER for number in numbers):
            raise coded_error("pagination/invalid_cursor", pointer="/cursor")
        names = ("offset", "step", "take", "chars", "digest")
        return cls(**dict(zip(names, numbers, strict=False)))

    @property
    def order(self) -> tuple[int, int, int, int]:
        """The sort key of positions."""
        return (self.offset, self.step, self.take, self.chars)


def digest_of(text: str, before: int = 0) -> int:
    """A checksum of a text, or of the continuation of a text with the checksum `before`."""
    return zlib.crc32(text.encode("utf-8", "surrogatepass"), before)


def frame_of(event: JournalEvent, *, event_id: str) -> StreamFrame | None:
    """A journal event as a stream event; None for kinds that streams omit."""
    where = {"session_id": event.session_id, "timestamp_ms": event.at_ms}
    if event.kind is EventKind.RUN:
        data = {
            "run_id": event.run_id,
            "agent_id": event.data.get("agent_id"),
            "status": event.data.get("status"),
            **where,
            "event": event_body(event),
        }
        return StreamFrame(event=wire.RUN_UPDATED, data=data, id=event_id)
    if event.kind in SESSION_EVENTS:
        data = {**where, "event": dict(event.data)}
        return StreamFrame(event=SESSION_EVENTS[event.kind], data=data, id=event_id)
    name = STEP_EVENTS.get(event.kind)
    if name is None:
        return None
    return StreamFrame(
        event=name, data={**event.data, "run_id": event.run_id, **where}, id=event_id
    )


BATCH: Final = 200
# After a delta, more text is batched for this long unless the journal has events.
BREATH_S: Final = 0.05
HEARTBEAT_S: Final = 15.0
POLL_S: Final = 1.0
HEARTBEAT: Final = b": heartbeat\n\n"
HEADERS: Final = {"X-Accel-Buffering": "no"}
Read = Callable[[], Sequence[JournalEvent]]
_MESSAGES: Final = TypeAdapter(ChannelMessage)
T = TypeVar("T")
P = TypeVar("P", bound=Hashable)


@dataclass(slots=True)
class RunStreamState:
    """The state of streaming one run to one reader."""

    position: Position
    # The last step whose message is in the journal.
    finished_step: int = 0
    is_over: bool = False

    def event_frames(self, event: JournalEvent) -> Iterator[StreamFrame]:
        """The frames to send for the next journal event."""
        if event.kind is EventKind.MESSAGE:
            yield from self._message(step_of(event), str(event.data.get("text", "")))
        elif event.kind is EventKind.RUN and event.data.get("status") in TERMINAL:
            yield from self._retract(self.position.step)
            self.is_over = True
        if event.kind is EventKind.MESSAGE or not self.position.chars:
            self.position = Position(offset=event.offset)
        else:
            self.position = replace(self.position, offset=event.offset)
        frame = frame_of(event, event_id=str(self.position))
        if frame is not None:
            yield frame

    def delta_frames(self, spoken: Spoken) -> Iterator[StreamFrame]:
        """The frames for the text that the model is streaming now.

        A retried call often repeats its text, so deltas are retracted only once the new text is
        long enough to show that it differs.
        """
        if spoken.step <= self.finished_step or may_be_silence(spoken.text):
            return
        if not self._extends_sent(spoken.step, spoken.text):
            yield from self._retract(spoken.step)
        yield from self._rest(spoken)

    def _message(self, step: int | None, text: str) -> Iterator[StreamFrame]:
        if step is None:
            return
        cut_short = len(text) < self.position.chars
        if self._has_part_of(step) and (cut_short or not self._extends_sent(step, text)):
            yield from self._retract(step)
        if not is_silence(text):
            yield from self._rest(Spoken(step=step, text=text, take=self.position.take))
        self.finished_step = step

    def _rest(self, spoken: Spoken) -> Iterator[StreamFrame]:
        """The part of a text that this reader has not received."""
        known = self.position.chars if self._has_part_of(spoken.step) else 0
        piece = spoken.text[known:]
        if not piece:
            return
        self.position = Position(
            offset=self.position.offset,
            step=spoken.step,
            take=spoken.take,
            chars=known + len(piece),
            digest=digest_of(piece, self.position.digest if known else 0),
        )
        data = {"text": piece, "step": spoken.step}
        yield StreamFrame(event=DELTA, data=data, id=str(self.position))

    def _retract(self, step: int) -> Iterator[StreamFrame]:
        """A reset frame for deltas whose message was not stored."""
        if not self._has_part_of(step):
            return
        self.position = Position(offset=self.position.offset)
        yield StreamFrame(event=DELTA_RESET, data={"step": step}, id=str(self.position))

    def _has_part_of(self, step: int) -> bool:
        return self.position.chars > 0 and self.position.step == step

    def _extends_sent(self, step: int, text: str) -> bool:
        """Whether a text starts with what was sent; a shorter text may still."""
        chars = self.position.chars
        if not self._has_part_of(step) or len(text) < chars:
            return True
        return digest_of(text[:chars]) == self.position.digest


def stream_response(chunks: AsyncIterator[bytes]) -> StreamingResponse:
    """A streaming response until the stream ends or the reader disconnects."""
    return StreamingResponse(chunks, media_type="text/event-stream", headers=HEADERS)


def wanted_position(request: Request, cursor: str | None) -> Position | None:
    """The position that the reader asks for; a reconnecting browser repeats an old cursor, so the
    later one counts.
    """
    said = map(Position.parse, _said(request, cursor))
    return max(said, key=lambda position: position.order, default=None)


def wanted_place(request: Request, cursor: str | None) -> FeedPlace | None:
    """As `wanted_position`, for the events of all sessions."""
    return max(map(FeedPlace.parse, _said(request, cursor)), default=None)


def _said(request: Request, cursor: str | None) -> list[str]:
    return [text for text in (cursor, request.headers.get("last-event-id")) if text]


@dataclass(slots=True)
class StreamHeartbeat:
    """Waits for new events, and tells when a heartbeat is due."""

    services: Services
    # The topics to wait for; rings of the first `sources` ones mean new rows in the database.
    topics: tuple[str, ...]
    sources: int = 1
    last_sent: float = 0.0
    # Whether to poll, too: another daemon's changes ring no bell here.
    is_polled: bool = False

    def counts(self) -> dict[str, int]:
        """The ring count of each topic; take it before reading new events."""
        bell = self.services.resources.bell
        return {topic: bell.count(topic) for topic in (*self.topics, STOPPING)}

    def news(self, seen: dict[str, int]) -> int:
        """The ring count of the topics that mean new rows."""
        return sum(seen[topic] for topic in self.topics[: self.sources])

    @property
    def is_open(self) -> bool:
        """Whether the daemon is not shutting down."""
        return not self.services.resources.shutting_down.is_set()

    def sent(self) -> None:
        """Record that something was sent now."""
        self.last_sent = asyncio.get_running_loop().time()

    async def wait(self, seen: dict[str, int]) -> bool:
        """Wait for rings since `seen`; True if a heartbeat is due."""
        loop = asyncio.get_running_loop()
        left = max(self.last_sent + HEARTBEAT_S - loop.time(), 0.0)
        longest = min(left, POLL_S) if self.is_polled else left
        await self.services.resources.bell.wait(seen, timeout_s=longest)
        return loop.time() - self.last_sent >= HEARTBEAT_S


@dataclass(slots=True)
class RunJournal:
    """The journal of one run, read only when needed: a delta alone needs no read.

    Every delta wakes every reader of a run, and a hundred of them must not query the database.
    """

    services: Services
    run_id: str
    topic: str
    # Ring count, streamed step and time of the last read.
    rung: int = -1
    step: int = 0
    looked_at: float = 0.0
    is_behind: bool = True
    has_more: bool = False

    async def news(
        self, spoken: Spoken | None, seen: dict[str, int], after_offset: int
    ) -> tuple[bool, Sequence[JournalEvent]]:
        """Whether the run has ended, and its next events; `spoken` was read before.

        Text of a new step means that the journal has everything before that step, even if its
        bell has not rung.
        """
        step = self.step if spoken is None else spoken.step
        now = asyncio.get_running_loop().time()
        is_due = now - self.looked_at >= HEARTBEAT_S
        if not (self.is_behind or is_due or step != self.step or seen[self.topic] != self.rung):
            return False, ()
        self.rung, self.step, self.looked_at = seen[self.topic], step, now
        has_ended, page = await self.services.resources.reads.once(
            (self.run_id, after_offset), self.rung, lambda: self._read(after_offset)
        )
        self.has_more = page.more
        self.is_behind = page.more or (has_ended and bool(page.events))
        return has_ended, page.events

    def _read(self, after_offset: int) -> tuple[bool, JournalPage]:
        # In this order: if the run has ended, its last event is in the page.
        with self.services.resources.units.read() as unit:
            has_ended = require_run(unit, self.run_id).status in TERMINAL
            page = unit.journal.page(run_id=self.run_id, after_offset=after_offset, limit=BATCH)
            events = with_remembered(unit, page.events)
        return has_ended, replace(page, events=events)


async def stream_run(
    services: Services, run_id: str, session_id: str, state: RunStreamState
) -> AsyncIterator[bytes]:
    """Stream a run from the reader's position to its end."""
    async for frame in run_frames(services, run_id, session_id, state):
        yield HEARTBEAT if frame is None else frame.encode()


async def run_frames(
    services: Services, run_id: str, session_id: str, state: RunStreamState
) -> AsyncIterator[StreamFrame | None]:
    """The frames of a run from the reader's position to its end; None where nothing is new."""
    topic = f"session:{session_id}"
    journal = RunJournal(services, run_id, topic)
    pulse = StreamHeartbeat(services, (topic, delta_topic(run_id)))
    pulse.sent()
    mask = partial(_masked, services, session_id, run_id)
    sees_all = current_visibility.get() == UNRESTRICTED
    while pulse.is_open:
        seen = pulse.counts()
        spoken = services.resources.deltas.current(run_id)
        has_ended, events = await journal.news(spoken, seen, state.position.offset)
        if not sees_all:
            events, spoken = await run_in_threadpool(mask, events, spoken)
        has_spoken = False
        for frame in _frames(state, events, None if journal.has_more else spoken):
            pulse.sent()
            has_spoken = frame.event == DELTA
            yield frame
        if state.is_over or (has_ended and not journal.is_behind):
            return
        if journal.is_behind:
            continue
        if has_spoken:
            await services.resources.bell.wait({topic: seen[topic]}, timeout_s=BREATH_S)
        elif await pulse.wait(seen):
            pulse.sent()
            yield None


def _masked(
    services: Services,
    session_id: str,
    run_id: str,
    events: Sequence[JournalEvent],
    spoken: Spoken | None,
) -> tuple[Sequence[JournalEvent], Spoken | None]:
    """What a reader may see who does not see everything.

    A statement has no shape before its last word, so of the text that a model is still saying, as
    much as a quotation may take is held back. A message keeps the positions in it.
    """
    has_message = spoken is not None or any(it.kind is EventKind.MESSAGE for it in events)
    if has_message and not current_visibility.get().sees_sensitive:
        quotations = quotations_near(services.resources.units, (session_id, run_id))
        if spoken is not None and quotations:
            settled = quotations.covered(spoken.text)[: quotations.settled(spoken.text)]
            spoken = replace(spoken, text=settled) if settled else None
        events = tuple(
            replace(
                event,
                data={**event.data, "text": quotations.covered(str(event.data.get("text", "")))},
            )
            if event.kind is EventKind.MESSAGE
            else event
            for event in events
        )
    return masked_events(services, events), spoken


def masked_events(services: Services, events: Sequence[JournalEvent]) -> Sequence[JournalEvent]:
    """Events with their data masked for their reader, who sees the sessions and runs themselves."""
    if current_visibility.get() == UNRESTRICTED:
        return events
    parts = [{"session_id": it.session_id, "run_id": it.run_id, "data": it.data} for it in events]
    shown = masked(services.resources.units, parts)
    return [replace(event, data=part["data"]) for event, part in zip(events, shown, strict=True)]


def _frames(
    state: RunStreamState, events: Sequence[JournalEvent], spoken: Spoken | None
) -> Iterator[StreamFrame]:
    """The frames for new journal events, then for the text if no journal event is missing."""
    for event in events:
        yield from state.event_frames(event)
        if state.is_over:
            return
    if spoken is not None:
        yield from state.delta_frames(spoken)


def resume_state(
    services: Services, run_id: str, session_id: str, position: Position | None
) -> RunStreamState:
    """The state of a stream that resumes at the reader's position, or starts at the beginning."""
    if position is None:
        return RunStreamState(position=Position())
    with services.resources.units.read() as unit:
        newest = unit.journal.read_back(
            session_id, before_offset=position.offset + 1, kinds=(EventKind.MESSAGE,), limit=1
        )
    own = (step_of(event) for event in newest if event.run_id == run_id)
    return RunStreamState(position=position, finished_step=max((s for s in own if s), default=0))


async def follow_session(services: Services, session_id: str, after: int) -> AsyncIterator[bytes]:
    """Stream the events of a session after an offset."""

    def read(after: int) -> Sequence[JournalEvent]:
        with services.resources.units.read() as unit:
            page = unit.journal.page(session_id=session_id, after_offset=after, limit=BATCH)
            events = with_remembered(unit, page.events)
        return masked_events(services, events)

    pulse = StreamHeartbeat(services, (f"session:{session_id}",))
    async for chunk in _follow(pulse, read, after, lambda event: event.offset):
        yield chunk


async def follow_all(services: Services, after: FeedPlace) -> AsyncIterator[bytes]:
    """Stream the events of all sessions after a place."""
    pulse = StreamHeartbeat(services, (EVENTS, RELEASED), sources=2)
    async for chunk in _follow(pulse, all_events(services), after, lambda event: event.place):
        yield chunk


async def follow_channel(services: Services, channel_id: str, after: int) -> AsyncIterator[bytes]:
    """Stream the events of a channel after a number."""

    def read(after: int) -> Sequence[StreamFrame]:
        events = services.channels.service.events(channel_id, after=after, limit=BATCH)
        frames = [channel_frame(*event) for event in events]
        shown = masked(services.resources.units, [frame.data for frame in frames])
        return [replace(frame, data=data) for frame, data in zip(frames, shown, strict=True)]

    is_shared = not services.resources.settings.is_sqlite
    pulse = StreamHeartbeat(services, (channel_topic(channel_id),), is_polled=is_shared)
    yield f"id: {after}\n\n".encode()
    async for frames in batches(pulse, read, after, lambda frame: int(frame.id)):
        for frame in frames:
            pulse.sent()
            yield frame.encode()
        if not frames:
            pulse.sent()
            yield HEARTBEAT


def channel_frame(event: ChannelEvent, message: ChannelMessage | None) -> StreamFrame:
    """A channel event as a stream event; a message in full."""
    data = {**event.data, "channel_id": event.channel_id, "timestamp_ms": event.at_ms}
    if message is not None:
        data["message"] = _MESSAGES.dump_python(message, mode="json", by_alias=True)
    return StreamFrame(event=str(event.name), data=data, id=str(event.sequence))


def all_events(services: Services) -> Callable[[FeedPlace], Sequence[JournalEvent]]:
    """A reader of the events of all sessions after a place; it wakes for those held back now."""

    def read(after: FeedPlace) -> Sequence[JournalEvent]:
        with services.resources.units.read() as unit:
            page = unit.feed.page(after, limit=BATCH)
            events = with_remembered(unit, page.events)
        services.resources.bell.note_feed(is_held=page.is_held)
        return masked_events(services, events)

    return read


def first_place(services: Services, asked: FeedPlace | None) -> FeedPlace:
    """The place to begin at: the one asked for, or the newest."""
    with services.resources.units.read() as unit:
        return unit.feed.last_place() if asked is None else unit.feed.known_place(asked)


async def _follow(
    pulse: StreamHeartbeat,
    read: Callable[[P], Sequence[JournalEvent]],
    after: P,
    place: Callable[[JournalEvent], P],
) -> AsyncIterator[bytes]:
    # An id without an event: the cursor for a reader that reconnects.
    yield f"id: {after}\n\n".encode()
    async for events in batches(pulse, read, after, place):
        for event in events:
            frame = frame_of(event, event_id=str(place(event)))
            if frame is not None:
                pulse.sent()
                yield frame.encode()
        if not events:
            pulse.sent()
            yield HEARTBEAT


async def batches(
    pulse: StreamHeartbeat,
    read: Callable[[P], Sequence[T]],
    after: P,
    place: Callable[[T], P],
) -> AsyncIterator[Sequence[T]]:
    """New events in batches; an empty batch when a heartbeat is due.

    Nothing is read before a topic rings, and readers at one position share the read.
    """
    pulse.sent()
    topic, read_at = pulse.topics[0], -1
    while pulse.is_open:
        seen = pulse.counts()
        news = pulse.news(seen)
        events: Sequence[T] = ()
        if pulse.is_polled or news != read_at:
            events = await pulse.services.resources.reads.once(
                (topic, read.__qualname__, after), news, partial(read, after)
            )
        if events:
            after = place(events[-1])
        else:
            read_at = news
        if events or await pulse.wait(seen):
            yield events
