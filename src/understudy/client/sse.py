"""Server-sent events, read from bytes as they arrive."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

# Only these end a line; `str.splitlines` would also split at separators inside JSON strings.
LINE_END: Final = re.compile(rb"\r\n|\n|\r")
BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSentEvent:
    """One event; `id` is where a stream goes on after it."""

    event: str
    data: str
    id: str | None = None


@dataclass(slots=True)
class EventReader:
    """Puts events together; one reader for each connection."""

    # The id of the last whole event: one that broke off is to be sent again.
    last_event_id: str | None = None
    # How long the server asks to wait before connecting again.
    retry_ms: int | None = None
    _buffer: bytes = b""
    _started: bool = False
    _event: str = ""
    _id: str | None = None
    _data: list[str] = field(default_factory=list)

    def feed(self, chunk: bytes) -> Iterator[ServerSentEvent]:
        """Take more bytes, and give the events that they complete."""
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
        # A carriage return at the end may be the first half of a line end.
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
                pass  # a comment, or a field that the format does not know
        return None

    def _dispatch(self) -> ServerSentEvent | None:
        kind, data = self._event or "message", self._data
        self._event, self._data = "", []
        if self._id is not None:
            self.last_event_id = self._id
        if not data:
            return None
        return ServerSentEvent(event=kind, data="\n".join(data), id=self.last_event_id)
