"""Secrets by document structure: Kubernetes secrets, JSON Web Keys, tables, SQL."""

import re
from collections.abc import Iterator
from typing import Final

from understudy.patterns.linear import Span
from understudy.patterns.search import PatternMatch
from understudy.redaction.cues import Cue, cue_at
from understudy.redaction.opaque import (
    WORDS,
    is_code,
    is_harmless_shape,
    is_hash,
    is_jumble,
    is_made_up,
    is_password_key,
    key_grade,
    looks_random,
)

# Maximum extent of a document on both sides of its `kind`.
_REACH: Final = 4_096
# Maximum number of kinds in a document: its own, and those of its owners.
_KINDS: Final = 3
_SECTION: Final = re.compile(r"(?m)^([ \t]*)(?:data|stringData):[ \t]*\r?\n")
_ENTRY: Final = re.compile(
    r"([ \t]+)[\w.\"'/-]{1,128}:[ \t]*([^\s|>#][^\n]*?)?(?:[|>][+-]?)?[ \t]*(?:\r?\n|\Z)"
)
_LINE: Final = re.compile(r"([ \t]*)(\S[^\n]*?)?[ \t\r]*(?:\n|\Z)")
_JSON_SECTION: Final = re.compile(r"\"(?:data|stringData)\"\s*:\s*\{([^{}]{0,4096})\}")
_JSON_VALUE: Final = re.compile(r":\s*\"([^\"\n]{1,4096})\"")
# Limits of a table: the length of its head, and its rows.
_MAX_LINE: Final = 400
_MAX_ROWS: Final = 200
_HEAD_CELL: Final = re.compile(r"[\w ().#/&*:'\"`-]{0,40}")
_RULE: Final = re.compile(r"[\s|:+=-]*-[\s|:+=-]*")
_COLUMNS: Final = re.compile(r"\S+(?: \S+)*")
_SQL_VALUE: Final = re.compile(
    r"'((?:[^'\\]|\\.|'')*)'|\"((?:[^\"\\]|\\.)*)\"|([^,()'\"\s][^,()'\"]*)"
)
_SQL_ROW: Final = re.compile(
    r"\s*,?\s*\(((?:'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\"|[^()'\"])*)\)"
)
_EDGES: Final = " \t\r`\"'*"


def _document(text: str, start: int, end: int) -> Span:
    """The bounds of the surrounding document."""
    low = max(text.rfind("\n---", max(0, start - _REACH), start), 0, start - _REACH)
    high = text.find("\n---", end, end + _REACH)
    high = high if high >= 0 else min(len(text), end + _REACH)
    return _kinds_before(text, low, start), _kinds_after(text, end, high)


# Bounded by further kinds, so that no text is scanned repeatedly.
def _kinds_before(text: str, low: int, at: int) -> int:
    for _ in range(_KINDS):
        at = text.rfind("kind", low, at)
        if at < 0:
            return low
    return at


def _kinds_after(text: str, at: int, high: int) -> int:
    for _ in range(_KINDS):
        at = text.find("kind", at, high)
        if at < 0:
            return high
        at += 4
    return at


def kubernetes_secret(match: PatternMatch) -> Iterator[Span]:
    """Every value of the data of a Secret."""
    text = match.string
    low, high = _document(text, *match.span())
    for section in _JSON_SECTION.finditer(text, low, high):
        for value in _JSON_VALUE.finditer(text, *section.span(1)):
            if not is_made_up(value[1]):
                yield value.span(1)
    for section in _SECTION.finditer(text, low, high):
        yield from _entries(text, section.end(), high, len(section[1]))


def _entries(text: str, at: int, high: int, indent: int) -> Iterator[Span]:
    depth = 0
    while at < high and (line := _LINE.match(text, at, high)) and line.end() > at:
        size = len(line[1])
        if line[2] and size <= indent:
            return
        entry = _ENTRY.match(text, at, high)
        if entry and (not depth or size <= depth):
            depth = size
            value, span = entry[2] or "", entry.span(2)
        else:
            # A line of a block value.
            value, span = line[2] or "", line.span(2)
        if value and not is_made_up(value.strip("\"'")):
            quoted = value[0] in "\"'" and value[-1] == value[0] and len(value) > 2
            yield (span[0] + 1, span[1] - 1) if quoted else span
        at = line.end()


def web_key(match: PatternMatch) -> Iterator[Span]:
    """A private part of a JSON Web Key."""
    text = match.string
    start, end = match.span("secret")
    low, high = max(0, start - _REACH), min(len(text), end + _REACH)
    if text.find("kty", low, high) >= 0:
        yield start, end


def _line(text: str, start: int) -> Span:
    low = text.rfind("\n", max(0, start - _MAX_LINE), start) + 1 or max(0, start - _MAX_LINE)
    high = text.find("\n", start, start + _MAX_LINE)
    return low, high if high >= 0 else min(len(text), start + _MAX_LINE)


def _cells(text: str, low: int, high: int, sign: str) -> list[Span]:
    """The spans of the cells of a line, split at `sign` outside of quotes."""
    found, at, quoted = [], low, False
    for index in range(low, high):
        character = text[index]
        if character == '"' and sign != "|":
            quoted = not quoted
        elif character == sign and not quoted:
            found.append((at, index))
            at = index + 1
    return [*found, (at, high)]


def _sign(line: str) -> str:
    return next((sign for sign in "|\t;," if sign in line), "")


def table_cells(match: PatternMatch) -> Iterator[Span]:
    """The cells below a column head that names a secret."""
    text = match.string
    start, end = match.span("cue")
    low, high = _line(text, start)
    if high >= len(text) or text[high] != "\n":
        return
    sign = _sign(text[low:high])
    head = _split(text, low, high, sign)
    index = next((at for at, cell in enumerate(head) if cell[0] <= start < cell[1]), None)
    if (
        index is None
        or not _is_head(text, low, head)
        or not _is_alone(text, head[index], start, end)
    ):
        return
    cue = cue_at(text, start, end)
    if cue is not None:
        yield from _rows(text, high + 1, head, index, cue, sign)


def _split(text: str, low: int, high: int, sign: str) -> list[Span]:
    """The cells of a line; without a sign, columns separated by two spaces or more."""
    if sign:
        return _cells(text, low, high, sign)
    return [found.span() for found in _COLUMNS.finditer(text, low, high)]


def _is_head(text: str, low: int, head: list[Span]) -> bool:
    """Whether all cells are short names, and the line before is no row of the same table."""
    if len(head) < 2 or not all(_HEAD_CELL.fullmatch(text, *cell) for cell in head):
        return False
    before = _line(text, low - 1) if low else (0, 0)
    sign = _sign(text[before[0] : before[1]])
    return before[0] == before[1] or not sign or len(_cells(text, *before, sign)) != len(head)


def _is_alone(text: str, cell: Span, start: int, end: int) -> bool:
    """Whether the cell only names the secret."""
    return not text[end : cell[1]].strip(_EDGES) and len(text[cell[0] : start].split()) <= 3


def _rows(text: str, at: int, head: list[Span], index: int, cue: Cue, sign: str) -> Iterator[Span]:
    for _ in range(_MAX_ROWS):
        low, high = _line(text, at)
        if low >= high:
            return
        if not _RULE.fullmatch(text, low, high):
            cells = _split(text, low, high, sign)
            if len(cells) != len(head):
                return
            found = _inner(text, *cells[index])
            if _is_cell_secret(text[found[0] : found[1]], cue):
                yield found
        at = high + 1
        if at >= len(text):
            return


def _inner(text: str, low: int, high: int) -> Span:
    """A cell without surrounding spaces and quotes."""
    cell = text[low:high]
    start = low + len(cell) - len(cell.lstrip(_EDGES))
    return start, max(start, low + len(cell.rstrip(_EDGES)))


def _is_cell_secret(value: str, cue: Cue) -> bool:
    if len(value) < 4 or is_made_up(value) or is_code(value):
        return False
    if cue.is_password:
        if value.lower() in WORDS.set("common_passwords") or looks_random(value, least=5):
            return True
        has_more = any(not character.isalpha() for character in value)
        return has_more and " " not in value and not is_harmless_shape(value)
    if is_harmless_shape(value) or is_hash(value):
        return cue.grade == 2 and len(value) >= 32
    return looks_random(value, least=10) or (cue.grade == 2 and is_jumble(value))


def inserted_values(match: PatternMatch) -> Iterator[Span]:
    """The values of an INSERT that go into columns for secrets."""
    names = [name.strip(' \t\r\n`"[]') for name in match["columns"].split(",")]
    wanted = {
        index: Cue(name=name, grade=key_grade(name), is_password=is_password_key(name))
        for index, name in enumerate(names)
        if key_grade(name) or is_password_key(name)
    }
    at = match.span()[1]
    while wanted and (row := _SQL_ROW.match(match.string, at)):
        for index, value in enumerate(_SQL_VALUE.finditer(match.string, *row.span(1))):
            group = value.lastindex or 0
            if index in wanted and group < 3 and _is_cell_secret(value[group], wanted[index]):
                yield value.span(group)
        at = row.end()
