"""Event streams: typed events, and a connection that is made again when it breaks."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from understudy.client.errors import AnswerError, UnavailableError, UnreachableError
from understudy.client.sse import EventReader, ServerSentEvent
from understudy.wire import events as wire
from understudy.wire.runs import TERMINAL_STATUSES

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


Opener: TypeAlias = Callable[[str | None], AbstractContextManager[Iterator[bytes]]]


def follow(
    open_stream: Opener,
    *,
    last_event_id: str | None,
    sleep: Callable[[float], None],
    is_over: Callable[[], bool] = lambda: False,
    on_away: Callable[[], None] = lambda: None,
) -> Iterator[StreamEvent]:
    """The events of a stream, without gaps over lost connections, until the caller has enough.

    A connection that ends without an event asks `is_over` whether there will be more. `on_away`
    hears of it, once, when the daemon cannot be reached.
    """
    failures, is_away = 0, False
    reader = EventReader(last_event_id=last_event_id)
    while True:
        said_something = False
        try:
            with open_stream(reader.last_event_id) as chunks:
                for event in _events(reader, chunks):
                    failures, said_something, is_away = 0, True, False
                    yield event
            if not said_something and is_over():
                return
        except (UnreachableError, UnavailableError):
            if failures == len(RECONNECT_DELAYS_S):
                raise
            if not is_away:
                is_away = True
                on_away()
        reader = EventReader(last_event_id=reader.last_event_id, retry_ms=reader.retry_ms)
        sleep(_delay(failures, reader.retry_ms))
        failures = min(failures + 1, len(RECONNECT_DELAYS_S))


def read_event(event: ServerSentEvent) -> StreamEvent:
    """A server-sent event with its data as the model that its name stands for."""
    try:
        raw = json.loads(event.data)
        read = READERS.get(event.event)
        data: EventData = raw if read is None else read(raw)
    except ValueError:
        raise AnswerError(f"the stream sent a {event.event} that is not understood") from None
    return StreamEvent(name=event.event, data=data, raw=raw, id=event.id)


def _events(reader: EventReader, chunks: Iterator[bytes]) -> Iterator[StreamEvent]:
    for chunk in chunks:
        for event in reader.feed(chunk):
            yield read_event(event)


def _delay(failures: int, asked_ms: int | None) -> float:
    own = RECONNECT_DELAYS_S[min(failures, len(RECONNECT_DELAYS_S) - 1)]
    return own if asked_ms is None else max(own, min(asked_ms / 1000, MAX_SERVER_DELAY_S))
