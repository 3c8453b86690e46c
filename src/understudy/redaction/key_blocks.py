"""Private keys: the lines of a key are followed to where it ends or was cut, whatever stands before each."""

import re
from collections.abc import Iterable
from typing import Final

from understudy.patterns.linear import Span
from understudy.patterns.search import PatternMatch

# What may separate the lines of a key: line ends, escaped or encoded ones, quotes, line prefixes.
GAP: Final = r"(?:[\s\"'`>|#*,+]|\\+[nrt\"]|\\\r?\n|%0[AaDd]|&#x?0?[0-9aAdD]{1,2};|<br ?/?>)"
BODY: Final = r"[A-Za-z0-9+/=_-]"
_HEADERS: Final = re.compile(
    r"(?:[^\S\n]*(?:\\+[nr])?\n?[^\w\n]{0,12}[A-Z][A-Za-z-]{2,20}: [^\n\\]{1,100}(?:\n|\\+[nr])+)+"
)
_TIGHT: Final = re.compile(rf"{GAP}{{0,16}}+((?!--){BODY}{{16,}})")
# Something of its own before each line of the key: a comment's sign, a number, a log's beginning.
_LOOSE: Final = re.compile(
    rf"((?:(?!---)[^\n]){{0,100}}?(?:\r?\n(?:(?!---)[^\n]){{0,100}}?)?)(?<![A-Za-z0-9+/=_-])({BODY}{{40,}})"
)
_LAST: Final = re.compile(rf"{GAP}{{0,16}}((?!--){BODY}{{1,76}})")
_FIRST_END: Final = re.compile(r"[^\S\n]*(?:[\n\"'`<\\…]|\.\.\.|\Z)")
_HAS_BODY: Final = re.compile(r"[A-Za-z0-9+/=_-]{12}")
_FIGURES: Final = re.compile(r"\d+")


def _follow(text: str, end: int) -> int:
    """Where the key ends whose first lines end at `end`."""
    headers = _HEADERS.match(text, end)
    at = headers.end() if headers else end
    width, shape = 0, ""
    while True:
        line = _TIGHT.match(text, at) or _LOOSE.match(text, at)
        if line is None:
            break
        size = line.end() - line.start(line.lastindex or 0)
        shape = line[1] if line.lastindex == 2 else ""
        at = end = line.end()
        # A sign that begins a line may have been read as standing before it.
        if size < width - 8:
            return end
        width = max(width, size)
    return _with_last(text, at, shape, is_first=not width) or end


def _with_last(text: str, at: int, shape: str, *, is_first: bool) -> int | None:
    """A short last line, with the same before it as before the others."""
    if shape:
        begins = re.compile(r"\d+".join(map(re.escape, _FIGURES.split(shape))))
        same = begins.match(text, at)
        at = same.end() if same else at
    last = _LAST.match(text, at)
    if last is None or (is_first and not _FIRST_END.match(text, last.end())):
        return None
    return last.end()


def armoured_key(match: PatternMatch) -> tuple[Span, ...]:
    """A key from its beginning to its last line; a beginning without any is no key."""
    start, end = match.span()
    if start < match.taken[1]:
        return ()
    last = _follow(match.string, end)
    return ((start, last),) if last > end else ()


def bare_key(match: PatternMatch) -> tuple[Span, ...]:
    """The lines of a key without armour, behind what says that it is one."""
    start, end = match.span("secret")
    return ((start, _follow(match.string, end)),) if start >= match.taken[1] else ()


def whole_block(match: PatternMatch) -> Iterable[Span]:
    """A block that holds more than dots."""
    start, end = match.span("body")
    return (match.span(),) if _HAS_BODY.search(match.string, start, end) else ()
