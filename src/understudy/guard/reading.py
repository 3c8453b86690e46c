"""Makes of a file the views that the rules read: as it says, without its quotes, and decoded."""

import re
from collections.abc import Sequence
from typing import Final

from understudy.guard.decoding import decoded
from understudy.guard.folding import folded
from understudy.guard.view import View

_BREAKS: Final = re.compile(r"\r\n|\r|\n")
_GOES_ON: Final = re.compile(r"(?:(?<!\\)(?:\\\\)*\\|(?<=\s)[`^])[ \t]*$")
# What begins with a pipe goes on with the line before, but not below a row of a table.
_PIPED: Final = re.compile(r"\s{0,40}\|(?!\|)")
_ENDS_IN_PIPE: Final = re.compile(r"[^|\s]\s{0,40}\|\s{0,40}$")

_BLANK: Final = re.compile(r"\$\{IFS[^}]{0,20}\}|\$IFS(?:\$\d)?|%20")
# Two strings put together, `'o' + 's'`, and an empty one in the middle of a word.
_GLUE: Final = re.compile(r"['\"`][ \t]{0,8}(?:\+|\.\.|\.|\|\||&)[ \t]{0,8}['\"`]")
_EMPTY: Final = re.compile(r"''|\"\"|\$@|\$\*|\$\{[@*]\}|\$\{\w{1,20}:\d{1,3}:0\}|\$\(\)|``")
_QUOTES: Final = re.compile(r"['\"]|\\(?=[\w\-./~$\s'\"])|(?<=\w)\^(?=\w)")


def views_of(text: str) -> Sequence[View]:
    """The text as it says, and each other reading that differs from it."""
    plain = joined(physical(text))
    opened = plain.changed(decoded)
    others = (
        plain.changed(bare, is_bare=True),
        opened,
        # What a decoded text hides in turn.
        opened.changed(decoded).changed(bare, is_bare=True),
    )
    views = [plain]
    for other in others:
        if all(other.lines != view.lines for view in views):
            views.append(other)
    return views


def physical(text: str) -> View:
    """The lines of the file, each folded."""
    lines = [folded(line) for line in _BREAKS.split(text)]
    return View(lines=lines, numbers=range(1, len(lines) + 1))


def joined(view: View) -> View:
    """What a shell reads as one line, under the number of the first."""
    pieces: list[list[str]] = []
    numbers: list[int] = []
    goes_on = False
    before = ""
    for line, number in zip(view.lines, view.numbers, strict=True):
        if goes_on or _is_piped(line, before):
            pieces[-1].append(_GOES_ON.sub(" ", line))
        else:
            pieces.append([_GOES_ON.sub(" ", line)])
            numbers.append(number)
        goes_on = bool(_GOES_ON.search(line)) or _leads_on(line)
        before = line
    return View(lines=[" ".join(parts) for parts in pieces], numbers=numbers)


def bare(text: str) -> str:
    """A text without what a shell takes away before it runs it: quotes, escapes, empty strings."""
    for pattern, replacement in ((_BLANK, " "), (_GLUE, ""), (_EMPTY, ""), (_QUOTES, "")):
        text = pattern.sub(replacement, text)
    return text


def _is_piped(line: str, before: str) -> bool:
    above = before.strip()
    return bool(above) and not above.startswith("|") and bool(_PIPED.match(line))


def _leads_on(line: str) -> bool:
    return not line.lstrip().startswith("|") and bool(_ENDS_IN_PIPE.search(line))
