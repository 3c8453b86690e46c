"""Makes of a file the views that the rules read: as it says, without its quotes, and decoded."""

import re
from array import array
from collections.abc import Sequence
from typing import Final

from understudy.guard.decoding import decoded
from understudy.guard.folding import folded, without_odd_blanks
from understudy.guard.view import View

_GOES_ON: Final = re.compile(r"(?:(?<!\\)(?:\\\\)*\\|(?<=\s)[`^])[ \t]*$")
# A line without any of these ends where it ends, and begins where it begins.
_MAY_GO_ON: Final = re.compile(r"[|\\`^]")
# What begins with a pipe goes on with the line before, but not below a row of a table.
_PIPED: Final = re.compile(r"\s{0,40}\|(?!\|)")
_ENDS_IN_PIPE: Final = re.compile(r"[^|\s]\s{0,40}\|\s{0,40}$")

_BLANK: Final = re.compile(r"\$\{IFS[^}]{0,20}\}|\$IFS(?:\$\d)?|%20")
# Two strings put together, `'o' + 's'`, and an empty one in the middle of a word.
_GLUE: Final = re.compile(r"['\"`][ \t]{0,8}(?:\+|\.\.|\.|\|\||&)[ \t]{0,8}['\"`]")
_EMPTY: Final = re.compile(r"''|\"\"|\$@|\$\*|\$\{[@*]\}|\$\{\w{1,20}:\d{1,3}:0\}|\$\(\)|``")
_QUOTES: Final = re.compile(r"['\"]|\\(?=[\w\-./~$\s'\"])|(?<=\w)\^(?=\w)")


def views_of(physical: View) -> Sequence[View]:
    """The lines as they say, and each other reading that differs from it."""
    plain = joined(physical)
    opened = plain.changed(decoded)
    # What a decoded text hides in turn.
    twice = opened if opened is plain else opened.changed(decoded)
    others = (plain.changed(bare, is_bare=True), opened, twice.changed(bare, is_bare=True))
    views = [plain]
    for other in others:
        if all(other.lines != view.lines for view in views):
            views.append(other)
    return views


def physical(text: str, numbers: Sequence[int] | None = None) -> View:
    """The lines of a text, each folded; they count from 1 unless they have numbers of their own."""
    if text.isascii() and "&" not in text:
        lines = lines_of(without_odd_blanks(text))
    else:
        lines = [folded(line) for line in lines_of(text)]
    return View(lines=lines, numbers=numbers or range(1, len(lines) + 1))


def lines_of(text: str) -> list[str]:
    """The lines of a text, whatever ends them."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def joined(view: View) -> View:
    """What a shell reads as one line, under the number of the first."""
    if not _MAY_GO_ON.search("\n".join(view.lines)):
        return view
    lines: list[str] = []
    numbers = array("L")
    parts: list[str] = []
    goes_on, before = False, ""
    for line, number in zip(view.lines, view.numbers, strict=True):
        if parts and not (goes_on or _is_piped(line, before)):
            lines.append(" ".join(parts))
            parts = []
        if not parts:
            numbers.append(number)
        may_go_on = bool(_MAY_GO_ON.search(line))
        parts.append(_GOES_ON.sub(" ", line) if may_go_on else line)
        goes_on = may_go_on and (bool(_GOES_ON.search(line)) or _leads_on(line))
        before = line
    return View(lines=[*lines, " ".join(parts)], numbers=numbers)


def bare(text: str) -> str:
    """A text without what a shell takes away before it runs it: quotes, escapes, empty strings."""
    for pattern, replacement in ((_BLANK, " "), (_GLUE, ""), (_EMPTY, ""), (_QUOTES, "")):
        text = pattern.sub(replacement, text)
    return text


def _is_piped(line: str, before: str) -> bool:
    if "|" not in line:
        return False
    above = before.strip()
    return bool(above) and not above.startswith("|") and bool(_PIPED.match(line))


def _leads_on(line: str) -> bool:
    return not line.lstrip().startswith("|") and bool(_ENDS_IN_PIPE.search(line))
