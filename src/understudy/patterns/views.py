"""Views of a text: each undoes one encoding, and maps its spans back to the original."""

import base64
import binascii
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from understudy.patterns.linear import Span

# The context on both sides of a decoded part; the text between is left out.
AROUND: Final = 400
_GAP: Final = "\n\n"


@dataclass(frozen=True, slots=True)
class TextView:
    """A decoded text, with the pieces that it replaced and their spans in its parent."""

    text: str
    # The replaced pieces in order: (start, end) in this view, (start, end) in the parent.
    pieces: tuple[tuple[int, int, int, int], ...] = ()
    parent: "TextView | None" = None
    # The start of each piece in this view, for bisection.
    starts: tuple[int, ...] = ()

    def span(self, start: int, end: int) -> Span:
        """The span in the original text of the characters from `start` to `end`."""
        if self.parent is None:
            return start, end
        return self.parent.span(self._place(start)[0], self._place(end - 1)[1])

    def is_new_beyond(self, spans: Iterable[Span]) -> bool:
        """Whether this view replaces anything outside the spans of the original text."""
        if self.parent is None:
            return True
        ends: list[int] = []
        starts: list[int] = []
        for start, end in sorted(spans):
            if ends and start <= ends[-1]:
                ends[-1] = max(ends[-1], end)
            else:
                starts.append(start)
                ends.append(end)
        for here, here_end, there, there_end in self.pieces:
            if self.text[here:here_end] == _GAP:
                continue
            first, last = self.parent.span(there, there_end)
            at = bisect_right(starts, first) - 1
            if at < 0 or last > ends[at]:
                return True
        return False

    def _place(self, at: int) -> Span:
        index = bisect_right(self.starts, at) - 1
        if index < 0:
            return at, at + 1
        _, end, there_start, there_end = self.pieces[index]
        if at < end:
            return there_start, there_end
        there = there_end + at - end
        return there, there + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """One encoding of text: its pattern and its decoder."""

    # Cheap to match, and in every text with this encoding.
    sign: re.Pattern[str]
    pattern: re.Pattern[str]
    # Returns None for a match that is not encoded after all.
    read: Callable[[re.Match[str]], str | None]


def read_as(writing: Writing, view: TextView) -> TextView | None:
    """A view with one encoding decoded, with nearby context; None if it does not occur."""
    if writing.sign.search(view.text) is None:
        return None
    return reread(view, writing.pattern, writing.read, around=AROUND)


def reread(
    view: TextView,
    pattern: re.Pattern[str],
    read: Callable[[re.Match[str]], str | None],
    *,
    around: int | None = None,
) -> TextView | None:
    """A view in which `read` replaces the matches of `pattern`; None if it replaces none."""
    parts: list[str] = []
    pieces: list[tuple[int, int, int, int]] = []
    text, at, length = view.text, 0, 0
    if pattern.search(text) is None:
        return None

    def put(piece: str, start: int, end: int) -> None:
        """Append the untouched text before `start`, then `piece` in place of `start` to `end`."""
        nonlocal at, length
        parts.extend((text[at:start], piece))
        length += start - at
        pieces.append((length, length + len(piece), start, end))
        length, at = length + len(piece), end

    for match in pattern.finditer(text):
        start, end = match.span()
        piece = read(match)
        if piece is None:
            continue
        if around is not None and start - at > 3 * around:
            put(_GAP, at + around if pieces else 0, start - around)
        put(piece, start, end)
    if not pieces:
        return None
    if around is not None and len(text) - at > 3 * around:
        put(_GAP, at + around, len(text))
    parts.append(text[at:])
    return TextView("".join(parts), tuple(pieces), view, tuple(piece[0] for piece in pieces))


def decode_base64(run: str) -> bytes | None:
    """Decode Base64 in the standard or the URL alphabet; None if it is invalid."""
    plain = run.rstrip("=").replace("-", "+").replace("_", "/")
    if len(plain) % 4 == 1:
        return None
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
