"""Buffered output of a command before it is stored: decoded, and cut where no secret is split."""

import codecs
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from understudy.background_tasks.model import TAIL_CHARS, OutputPiece

# Pending output beyond this is dropped, oldest first.
MAX_PENDING_CHARS: Final = TAIL_CHARS
# A longer line is released up to a space; a longer PEM block is released unfinished.
MAX_LINE_CHARS: Final = 16 * 1024
# How far a label and its value are apart at most, and how many spaces are tried for a cut between them.
LABEL_CHARS: Final = 1024
_CUTS: Final = 16
_LINE_END: Final = re.compile(r"[\n\r]")
# A line with such an end may label a secret on the next one: `password:`, `key: |`.
LABEL_ENDS: Final = (":", "=", "|", ">")
BLOCK_START: Final = "-----BEGIN "
BLOCK_END: Final = "-----END "


def _decoder() -> codecs.IncrementalDecoder:
    return codecs.getincrementaldecoder("utf-8")(errors="replace")


@dataclass(slots=True)
class PendingOutput:
    """A buffer from bytes to text: releases whole lines, as a secret seldom spans two.

    A cut drops the rest of its line, too: half a secret matches no pattern of the scrubber.
    """

    scrub: Callable[[str], str]
    total_bytes: int = 0
    # The start offset of the next piece, and the characters dropped since.
    _position: int = 0
    _gap: int = 0
    _pending: str = ""
    _is_cut: bool = False
    _decoder: codecs.IncrementalDecoder = field(default_factory=_decoder)

    def add(self, chunk: bytes) -> None:
        """Add a chunk of printed bytes."""
        self.total_bytes += len(chunk)
        self._pending += self._decoder.decode(chunk).replace("\0", "\ufffd")
        excess = len(self._pending) - MAX_PENDING_CHARS
        if excess > 0:
            self._drop(excess)
            self._is_cut = True
        self._drop_rest_of_line()

    def release(self, *, is_end: bool = False) -> str:
        """The text that can be scrubbed and stored now; at the end, all of it."""
        if is_end:
            self._pending += self._decoder.decode(b"", final=True)
            self._drop_rest_of_line()
        released = len(self._pending) if is_end else self._releasable()
        text, self._pending = self._pending[:released], self._pending[released:]
        if text:
            self._position += self._gap
            self._gap = 0
        return text

    def place(self, scrubbed: str) -> OutputPiece:
        """The text released last, now scrubbed, as a piece with its offset."""
        piece = OutputPiece(start=self._position, text=scrubbed)
        self._position = piece.end
        return piece

    def _drop(self, count: int) -> None:
        self._pending = self._pending[count:]
        self._gap += count

    def _drop_rest_of_line(self) -> None:
        """After a cut, drop the rest of the line, too."""
        if self._is_cut:
            line_end = _LINE_END.search(self._pending)
            self._drop(line_end.end() if line_end else len(self._pending))
            self._is_cut = line_end is None

    def _releasable(self) -> int:
        """The length that may be stored: up to the last line end and before an open PEM block."""
        pending = self._pending
        end = _end_of_lines(pending)
        lines = pending[:end].rstrip()
        if lines.endswith(LABEL_ENDS) and len(pending) - len(lines) < MAX_LINE_CHARS:
            end = _end_of_lines(lines)
        if not end and len(pending) > MAX_LINE_CHARS:
            end = self._cut_of_line()
        block = pending.rfind(BLOCK_START)
        is_open = block > pending.rfind(BLOCK_END)
        if is_open and block < end and len(pending) - block < MAX_LINE_CHARS:
            end = block
        return end

    def _cut_of_line(self) -> int:
        """Where a long line can be cut so that no label is parted from its value; 0 for nowhere yet.

        The cut parts nothing if both sides scrubbed apart read like the whole. What a label at the end
        is about may not have come yet, so the end of the line waits.
        """
        line, cut = self._pending, len(self._pending) - LABEL_CHARS
        for _ in range(_CUTS):
            cut = line.rfind(" ", 0, max(cut - 1, 0)) + 1
            before, after = line[max(cut - LABEL_CHARS, 0) : cut], line[cut : cut + LABEL_CHARS]
            if self.scrub(before + after) == self.scrub(before) + self.scrub(after):
                return cut
        return 0


def _end_of_lines(text: str) -> int:
    return max(text.rfind("\n"), text.rfind("\r")) + 1
