"""Event streams: the SSE format, typed events, and reconnects after lost connections."""

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from understudy.client.errors import AnswerError, ClientError, UnavailableError, UnreachableError
from understudy.client.poll_schedule import RECONNECT_DELAYS_S, TERMINAL_STATUSES
from understudy.wire import events as wire

if TYPE_CHECKING:
    from understudy.client.transport import AsyncTransport, Transport


# Only these end a line; `str.splitlines` would also split at separators inside JSON strings.
LINE_END: Final = re.compile(rb"\r\n|\n|\r")
BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
MAX_SERVER_DELAY_S: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSentEvent:
    """One event; its `id` is the cursor for resuming the stream."""

    event: str
    data: str
    id: str | None = None


@dataclass(slots=True)
class EventReader:
    """Parses a byte stream into events; one reader per connection."""

    # The id of the last complete event: a truncated one is sent again.
    last_event_id: str | None = None
    # The reconnect delay that the server asks for.
    retry_ms: int | None = None
    _buffer: bytes = b""
    _started: bool = False
    _event: str = ""
    _id: str | None = None
    _data: list[str] = field(default_factory=list)

    def feed(self, chunk: bytes) -> Iterator[ServerSentEvent]:
        """Parse more bytes, and yield the events that they complete."""
        self._buffer += chunk
        if not self._started:
            if len(self._buffer) < len(BYTE_ORDER_MARK) and not self._buffer.endswith(b"\n"):
                return
            self._buffer = self._buffer.removeprefix(BYTE_ORDER_MARK)
            self._started = True
        for line in self._lines():
            event = self._take(line)
            if event is not None:
                yield event

    def _lines(self) -> list[str]:
        # A trailing carriage return may be the first half of a line end.
        held = b"\r" if self._buffer.endswith(b"\r") else b""
        *lines, rest = LINE_END.split(self._buffer.removesuffix(held))
        self._buffer = rest + held
        return [line.decode("utf-8", errors="replace") for line in lines]

    def _take(self, line: str) -> ServerSentEvent | None:
        if not line:
            return self._dispatch()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "event":
                self._event = value
            case "data":
                self._data.append(value)
            case "id" if "\0" not in value:
                self._id = value
            case "retry" if value.isascii() and value.isdigit():
                self.retry_ms = int(value)
            case _:
                pass  # a comment, or a field unknown to the format
        return None

    def _dispatch(self) -> ServerSentEvent | None:
        kind, data = self._event or "message", self._data
        self._event, self._data = "", []
        if self._id is not None:
            self.last_event_id = self._id
        if not data:
            return None
        return ServerSentEvent(event=kind, data="\n".join(data), id=self.last_event_id)


class ToolCalled(wire.StepEvent):
    """A tool call is about to run."""

    call_id: str = ""
    name: str = ""
    arguments: Any = None


class ToolAnswered(wire.StepEvent):
    """The result of a tool call."""

    call_id: str = ""
    name: str = ""
    status: str = ""
    content: Any = None


class OutputSaid(wire.StepEvent):
    """An output: text for the user."""

    text: str = ""


EventData: TypeAlias = (
    wire.RunUpdated
    | wire.Delta
    | wire.DeltaReset
    | ToolCalled
    | ToolAnswered
    | OutputSaid
    | wire.SessionStateChanged
    | wire.LearningUpdated
    | wire.CandidatesAdded
    | wire.Hint
    | wire.RememberedEvent
    | dict[str, Any]
)
READERS: Final[Mapping[str, Callable[[Any], EventData]]] = {
    wire.RUN_UPDATED: wire.RunUpdated.model_validate,
    wire.DELTA: wire.Delta.model_validate,
    wire.DELTA_RESET: wire.DeltaReset.model_validate,
    wire.TOOL_CALL: ToolCalled.model_validate,
    wire.TOOL_RESULT: ToolAnswered.model_validate,
    wire.OUTPUT: OutputSaid.model_validate,
    wire.SESSION_STATE_CHANGED: wire.SessionStateChanged.model_validate,
    wire.LEARNING_UPDATED: wire.LearningUpdated.model_validate,
    wire.CANDIDATES_ADDED: wire.CandidatesAdded.model_validate,
    wire.HINT: wire.Hint.model_validate,
    wire.REMEMBERED: wire.RememberedEvent.model_validate,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamEvent:
    """One event of a stream; `data` is a plain object if the name is unknown here."""

    name: str
    data: EventData
    raw: Mapping[str, Any]
    id: str | None = None

    @property
    def ends_run(self) -> bool:
        """Whether the run has ended; candidates captured from it may be announced later."""
        return isinstance(self.data, wire.RunUpdated) and self.data.status in TERMINAL_STATUSES


@dataclass(slots=True)
class StreamConnection:
    """A stream across reconnects: its cursor and its back-off.

    `on_away` is called once when the daemon is unreachable.
    """

    reader: EventReader
    on_away: Callable[[], None] = lambda: None
    said_something: bool = False
    _failures: int = 0
    _is_away: bool = False

    def events(self, chunk: bytes) -> Iterator[StreamEvent]:
        """The events that a chunk of bytes completes."""
        for event in self.reader.feed(chunk):
            self._failures, self.said_something, self._is_away = 0, True, False
            yield read_event(event)

    def lost(self, problem: ClientError) -> None:
        """Count a failed connection; raises the problem after the last retry."""
        if self._failures == len(RECONNECT_DELAYS_S):
            raise problem
        if not self._is_away:
            self._is_away = True
            self.on_away()

    def pause(self) -> float:
        """The seconds before the next connection, which resumes after the last complete event."""
        reader = self.reader
        self.reader = EventReader(last_event_id=reader.last_event_id, retry_ms=reader.retry_ms)
        delay = _delay(self._failures, reader.retry_ms)
        self._failures = min(self._failures + 1, len(RECONNECT_DELAYS_S))
        self.said_something = False
        return delay


def follow(
    transport: "Transport",
    path: str,
    *,
    last_event_id: str | None,
    is_over: Callable[[], bool] = lambda: False,
    on_away: Callable[[], None] = lambda: None,
) -> Iterator[StreamEvent]:
    """Stream events without gaps across reconnects, until the caller stops.

    After a connection that ends without an event, `is_over` decides whether there will be more.
    """
    connection = StreamConnection(EventReader(last_event_id=last_event_id), on_away)
    while True:
        try:
            with transport.open_stream(path, connection.reader.last_event_id) as chunks:
                for chunk in chunks:
                    yield from connection.events(chunk)
            if not connection.said_something and is_over():
                return
        except (UnreachableError, UnavailableError) as problem:
            connection.lost(problem)
        transport.retries.sleep(connection.pause())


async def follow_async(
    transport: "AsyncTransport",
    path: str,
    *,
    last_event_id: str | None,
    is_over: Callable[[], Awaitable[bool]] | None = None,
    on_away: Callable[[], None] = lambda: None,
) -> AsyncIterator[StreamEvent]:
    """`follow` for async code."""
    connection = StreamConnection(EventReader(last_event_id=last_event_id), on_away)
    while True:
        try:
            async with transport.open_stream(path, connection.reader.last_event_id) as chunks:
                async for chunk in chunks:
                    for event in connection.events(chunk):
                        yield event
            if not connection.said_something and is_over is not None and await is_over():
                return
        except (UnreachableError, UnavailableError) as problem:
            connection.lost(problem)
        await transport.retries.sleep(connection.pause())


def read_event(event: ServerSentEvent) -> StreamEvent:
    """A server-sent event with its data parsed into the model for its name."""
    try:
        raw = json.loads(event.data)
        read = READERS.get(event.event)
        data: EventData = raw if read is None else read(raw)
    except ValueError:
        raise AnswerError(f"the stream sent a {event.event} that is not understood") from None
    return StreamEvent(name=event.event, data=data, raw=raw, id=event.id)


def _delay(failures: int, asked_ms: int | None) -> float:
    own = RECONNECT_DELAYS_S[min(failures, len(RECONNECT_DELAYS_S) - 1)]
    return own if asked_ms is None else max(own, min(asked_ms / 1000, MAX_SERVER_DELAY_S))
