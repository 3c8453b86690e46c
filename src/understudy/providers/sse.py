"""Server-sent events: from bytes as they arrive to the data of each event."""

from collections.abc import Iterator


class EventParser:
    """Cuts a byte stream into the `data` of its events; everything else in it is skipped."""

    def __init__(self) -> None:
        # Pieces of a line whose end has not come yet, joined only once so that long lines stay cheap.
        self._rest: list[bytes] = []
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The events that this piece completes."""
        *lines, rest = piece.split(b"\n")
        if lines:
            lines[0] = b"".join((*self._rest, lines[0]))
            self._rest.clear()
        self._rest.append(rest)
        for line in lines:
            if event := self._take(line.rstrip(b"\r")):
                yield event

    def close(self) -> Iterator[bytes]:
        """What is left when the stream ends without the last blank line."""
        rest = b"".join(self._rest)
        self._rest.clear()
        for line in (rest.rstrip(b"\r"), b""):
            if event := self._take(line):
                yield event

    def _take(self, line: bytes) -> bytes:
        if line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" "))
        elif not line and self._data:
            event, self._data = b"\n".join(self._data), []
            return event
        return b""
