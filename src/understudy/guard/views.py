"""Views of a file: plain, without quotes, and decoded; each maps to the lines of the file."""

import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final
from urllib.parse import unquote

from understudy.guard.deobfuscation import folded, without_odd_blanks
from understudy.guard.rule import FileKind
from understudy.patterns.views import decode_base64

_END: Final = re.compile(b"\n")
_GOES_ON: Final = re.compile(r"(?:(?<!\\)(?:\\\\)*\\|(?<=\s)[`^])[ \t]*$")
# A line without any of these neither continues another nor is continued.
_MAY_GO_ON: Final = re.compile(r"[|\\`^]")
# A line that begins with a pipe continues the previous one, except below a table row.
_PIPED: Final = re.compile(r"\s{0,40}\|(?!\|)")
_ENDS_IN_PIPE: Final = re.compile(r"[^|\s]\s{0,40}\|\s{0,40}$")
_BLANK: Final = re.compile(r"\$\{IFS[^}]{0,20}\}|\$IFS(?:\$\d)?|%20")
# String concatenation, `'o' + 's'`, and an empty string inside a word.
_GLUE: Final = re.compile(r"['\"`][ \t]{0,8}(?:\+|\.\.|\.|\|\||&)[ \t]{0,8}['\"`]")
_EMPTY: Final = re.compile(r"''|\"\"|\$@|\$\*|\$\{[@*]\}|\$\{\w{1,20}:\d{1,3}:0\}|\$\(\)|``")
_QUOTES: Final = re.compile(r"['\"]|\\(?=[\w\-./~$\s'\"])|(?<=\w)\^(?=\w)")
_BASE64: Final = re.compile(r"(?<![\w+/])[A-Za-z0-9+/_-]{16,}={0,2}")
_HEX: Final = re.compile(r"(?<!\w)(?:0x)?(?:[0-9a-fA-F]{2}){8,}(?!\w)")
_ESCAPES: Final = re.compile(r"(?:\\x[0-9a-fA-F]{2}|\\u00[0-9a-fA-F]{2}|\\[0-3][0-7]{2}){2,}")
_ESCAPE: Final = re.compile(r"\\x([0-9a-fA-F]{2})|\\u00([0-9a-fA-F]{2})|\\([0-3][0-7]{2})")
# An escaped line break inside a string: a new command follows.
_ESCAPED_BREAK: Final = re.compile(r"\\[nr](?:\\t)?")
_CODES: Final = re.compile(
    r"(?:(?:0x[0-9a-fA-F]{2}|\d{2,3})[ \t]{0,4},[ \t]{0,4}){5,}(?:0x[0-9a-fA-F]{2}|\d{2,3})"
)
_CHR: Final = re.compile(r"chr\([ \t]{0,4}(\d{1,3})[ \t]{0,4}\)(?:[ \t]{0,4}[+.][ \t]{0,4})?")
_PERCENT: Final = re.compile(r"(?:%[0-9a-fA-F]{2}){2,}")
# The suffix that reverses the string before it.
_BACKWARDS: Final = re.compile(
    r"(['\"])(?:\[::-1\]|\.split\(['\"]{2}\)\.reverse|\)?\.reverse|[ \t]{0,8}\|[ \t]{0,8}rev\b)"
)
_PRINTABLE: Final = re.compile(r"[\t\n\r -~]+")
# Longer runs are images and archives.
_MAX_RUN: Final = 20_000
_MAX_BACKWARDS: Final = 400
_MAX_QUOTED: Final = 3
# A line with such a start begins a new paragraph: a list, a table, a heading, a field.
_BEGINS: Final = re.compile(r"\s*(?:[-*+]\s|\d{1,3}[.)]\s|[#|<]|[\w-]{1,40}:(?:\s|$))")
_ENDS: Final = re.compile(r"\s*(?:#|\||-{3}|$)")
_FENCE: Final = re.compile(r"\s{0,12}(?:[>*-]\s{0,3})?(`{3,}|~{3,})")


# Not slotted: `text` and `_starts` are cached properties.
@dataclass(frozen=True, kw_only=True)
class LineView:
    """Lines, each with the number of its first line in the file."""

    lines: Sequence[str]
    numbers: Sequence[int]
    # Without quotes, so that quoted text can no longer be told apart.
    is_bare: bool = False

    @cached_property
    def text(self) -> bytes:
        """The lines as one text."""
        return "\n".join(self.lines).encode("utf-8", "replace")

    @cached_property
    def _starts(self) -> Sequence[int]:
        starts = array("L", (0,))
        starts.extend(found.end() for found in _END.finditer(self.text))
        return starts

    def index_at(self, offset: int) -> int:
        """The index of the line that contains a byte offset."""
        return bisect_right(self._starts, offset) - 1

    def number_at(self, offset: int) -> int:
        """The line number in the file for a byte offset."""
        return self.numbers[self.index_at(offset)]

    def changed(self, change: Callable[[str], str], *, is_bare: bool = False) -> "LineView":
        """A view with the text changed; the change must keep the line breaks."""
        text = "\n".join(self.lines)
        other = change(text)
        if other == text:
            return self
        return LineView(
            lines=other.split("\n"), numbers=self.numbers, is_bare=self.is_bare or is_bare
        )


def views_of(physical: LineView) -> Sequence[LineView]:
    """The plain view, and each other view that differs from it."""
    # `|&` is a pipe that includes stderr.
    plain = joined(physical.changed(lambda text: text.replace("|&", "| ")))
    opened = plain.changed(decoded)
    # Decoded twice, for nested encodings.
    twice = opened if opened is plain else opened.changed(decoded)
    others = (plain.changed(bare, is_bare=True), opened, twice.changed(bare, is_bare=True))
    views = [plain]
    for other in others:
        if all(other.lines != view.lines for view in views):
            views.append(other)
    return views


def physical(text: str, numbers: Sequence[int] | None = None) -> LineView:
    """The lines of a text, each deobfuscated; numbered from 1 without `numbers`."""
    if text.isascii() and "&" not in text:
        lines = lines_of(without_odd_blanks(text))
    else:
        lines = [folded(line) for line in lines_of(text)]
    return LineView(lines=lines, numbers=numbers or range(1, len(lines) + 1))


def lines_of(text: str) -> list[str]:
    """The lines of a text, for any line break."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def joined(view: LineView) -> LineView:
    """Join continued lines as a shell does, under the number of the first."""
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
    return LineView(lines=[*lines, " ".join(parts)], numbers=numbers)


def bare(text: str) -> str:
    """A text without the syntax that a shell removes: quotes, escapes, empty strings."""
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


def decoded(text: str) -> str:
    """A text with every encoded run that decodes to printable text replaced by it."""
    text = _ESCAPED_BREAK.sub(" ; ", text)
    for pattern, read in _ALPHABETS:
        text = pattern.sub(_replacing(read), text)
    return _BACKWARDS.sub(_turned, text)


def _turned(found: re.Match[str]) -> str:
    """The suffix of a reversed string, followed by the string in reading order."""
    low = max(0, found.start() - _MAX_BACKWARDS)
    before = found.string[low : found.start()].rpartition("\n")[2]
    return f"{found[0]} ; {before.rpartition(found[1])[2][::-1]}"


def _replacing(read: Callable[[str], str | None]) -> Callable[[re.Match[str]], str]:
    def replace(found: re.Match[str]) -> str:
        text = read(found[0]) if len(found[0]) <= _MAX_RUN else None
        if not text or not _PRINTABLE.fullmatch(text):
            return found[0]
        return re.sub(r"[\r\n]+", " ; ", text)

    return replace


def _from_base64(run: str) -> str | None:
    raw = decode_base64(run)
    if raw is None:
        return None
    # PowerShell encodes commands as UTF-16: every second byte is zero.
    is_wide = len(raw) > 1 and not any(raw[1::2])
    return _read(raw[::2] if is_wide else raw)


def _from_hex(run: str) -> str | None:
    return _read(bytes.fromhex(run.removeprefix("0x")))


def _from_escapes(run: str) -> str | None:
    signs = [
        int(found[1] or found[2], 16) if found[1] or found[2] else int(found[3], 8)
        for found in _ESCAPE.finditer(run)
    ]
    return _read(bytes(sign & 0xFF for sign in signs))


def _from_codes(run: str) -> str | None:
    codes = [int(code.strip(), 0) if "x" in code else int(code) for code in run.split(",")]
    return _read(bytes(codes)) if max(codes) < 256 else None


def _from_chr(run: str) -> str | None:
    found = _CHR.fullmatch(run)
    return chr(int(found[1])) if found else None


def _from_percent(run: str) -> str | None:
    text = unquote(run, errors="replace")
    # A few percent-encoded characters in a URL: their `$` begins no variable.
    return None if "$" in text and len(text) <= _MAX_QUOTED else text


def _read(raw: bytes) -> str | None:
    try:
        return raw.decode("ascii")
    except UnicodeDecodeError:
        return None


_ALPHABETS: Final[Sequence[tuple[re.Pattern[str], Callable[[str], str | None]]]] = (
    (_ESCAPES, _from_escapes),
    (_CHR, _from_chr),
    (_CODES, _from_codes),
    (_PERCENT, _from_percent),
    (_HEX, _from_hex),
    (_BASE64, _from_base64),
)


# Regions of prose have negative numbers, those of code do not.
def regions_of(view: LineView, kind: FileKind) -> Sequence[int]:
    """The region number of each line; negative for prose."""
    if kind not in (FileKind.MANIFEST, FileKind.DOCUMENT):
        return [0] * len(view.lines)
    regions: list[int] = []
    region, fence = 0, ""
    for line in view.lines:
        mark = _FENCE.match(line)
        if mark and not fence:
            region, fence = region + 1, mark[1][0]
        elif mark and mark[1][0] == fence:
            fence = ""
        elif not fence and not line.strip():
            region += 1
        regions.append(region if fence or mark else ~region)
    return regions


def unwrapped(view: LineView, kind: FileKind) -> bytes:
    """The text with each paragraph of prose on one line; byte offsets stay the same."""
    regions = regions_of(view, kind)
    parts: list[str] = []
    for index, line in enumerate(view.lines):
        is_same = index > 0 and regions[index] == regions[index - 1] < 0
        goes_on = is_same and not (_BEGINS.match(line) or _ENDS.match(view.lines[index - 1]))
        # A quoted paragraph has a `>` on each line.
        said = line.replace(">", " ", 1) if goes_on and line.lstrip().startswith(">") else line
        parts += (" " if goes_on else "\n", said)
    return "".join(parts[1:]).encode("utf-8", "replace")
