"""Event streams: typed events, and a connection that is made again when it breaks."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from understudy.client.errors import AnswerError, ClientError, UnavailableError, UnreachableError
from understudy.client.sse import EventReader, ServerSentEvent
from understudy.wire import events as wire
from understudy.wire.runs import TERMINAL_STATUSES

if TYPE_CHECKING:
    from understudy.client.transport import AsyncTransport, Transport

# Long enough for a daemon to be restarted in the meantime.
RECONNECT_DELAYS_S: Final = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 4.0, 4.0, 4.0, 4.0)
MAX_SERVER_DELAY_S: Final = 10.0


class ToolCalled(wire.StepEvent):
    """A tool is about to run."""

    call_id: str = ""
    name: str = ""
    arguments: Any = None


class ToolAnswered(wire.StepEvent):
    """What a tool answered."""

    call_id: str = ""
    name: str = ""
    status: str = ""
    content: Any = None


class OutputSaid(wire.StepEvent):
    """A text for the user."""

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
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamEvent:
    """One event of a stream; `data` is a plain object when the name is not known here."""

    name: str
    data: EventData
    raw: Mapping[str, Any]
    id: str | None = None

    @property
    def ends_run(self) -> bool:
        """Whether nothing can happen to the run any more."""
        return isinstance(self.data, wire.RunUpdated) and self.data.status in TERMINAL_STATUSES


@dataclass(slots=True)
class StreamConnection:
    """A stream over lost connections: what was read last, and when to connect again.

    `on_away` hears of it, once, when the daemon cannot be reached.
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
        """Take note that the daemon cannot be reached; raises the problem when it was tried enough."""
        if self._failures == len(RECONNECT_DELAYS_S):
            raise problem
        if not self._is_away:
            self._is_away = True
            self.on_away()

    def pause(self) -> float:
        """How long to wait before the next connection, which goes on after the last whole event."""
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
    """The events of a stream, without gaps over lost connections, until the caller has enough.

    A connection that ends without an event asks `is_over` whether there will be more.
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
    """The same as `follow`, awaited."""
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
    """A server-sent event with its data as the model that its name stands for."""
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
