"""Journal events as stream events, and where a reader of a stream stands."""

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from fastapi.sse import format_sse_event

from understudy.api.views.runs import event_body
from understudy.core.errors import coded_error
from understudy.core.showable import showable
from understudy.sessions.journal import EventKind, JournalEvent
from understudy.wire import events as wire

MAX_NUMBER: Final = 2**62
STEP_EVENTS: Final[Mapping[EventKind, str]] = {
    EventKind.TOOL_CALL: wire.TOOL_CALL,
    EventKind.TOOL_RESULT: wire.TOOL_RESULT,
    EventKind.OUTPUT: wire.OUTPUT,
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
        """The event as it is sent; JSON in ASCII, so that no text can break a line."""
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
        """Read an event id of ours, or raise `Invalid`."""
        parts = text.strip().split(".")
        are_numbers = all(part.isascii() and part.isdigit() and len(part) < 20 for part in parts)
        numbers = [int(part) for part in parts] if are_numbers else []
        if len(numbers) not in (1, 5) or any(number > MAX_NUMBER for number in numbers):
            raise coded_error("pagination/invalid_cursor", pointer="/cursor")
        names = ("offset", "step", "take", "chars", "digest")
        return cls(**dict(zip(names, numbers, strict=False)))

    @property
    def order(self) -> tuple[int, int, int, int]:
        """Which of two positions is further."""
        return (self.offset, self.step, self.take, self.chars)


def digest_of(text: str, before: int = 0) -> int:
    """A checksum of a text, or of a text that goes on from one with the checksum `before`."""
    return zlib.crc32(text.encode("utf-8", "surrogatepass"), before)


def frame_of(event: JournalEvent, *, event_id: str) -> StreamFrame | None:
    """A journal event as a stream event; None for what streams do not show."""
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
