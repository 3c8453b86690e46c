"""Tables: where the head of a column announces a secret, the cells under it are some."""

import re
from collections.abc import Iterator
from typing import Final

from understudy.redaction import words
from understudy.redaction.cues import CUE, CUE_TRIGGER, Cue, cue_at
from understudy.redaction.opaque import (
    is_code,
    is_harmless_shape,
    is_hash,
    is_jumble,
    is_made_up,
    is_password_key,
    key_grade,
    looks_random,
)
from understudy.redaction.rule import Match, Rule, Span

# Longer lines are no heads of tables, and longer tables are not followed.
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
# What ends a cell of a head; blanks that keep columns apart are at least two.
_AFTER_HEAD: Final = r"[\"'`*]{0,3}(?: {0,40}[|,;\t\r\n]|  )"
_EDGES: Final = " \t\r`\"'*"


def _line(text: str, start: int) -> Span:
    low = text.rfind("\n", max(0, start - _MAX_LINE), start) + 1 or max(0, start - _MAX_LINE)
    high = text.find("\n", start, start + _MAX_LINE)
    return low, high if high >= 0 else min(len(text), start + _MAX_LINE)


def _cells(text: str, low: int, high: int, sign: str) -> list[Span]:
    """Where the cells of a line stand, split at `sign`, which in quotes splits nothing."""
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


def _columns(match: Match) -> Iterator[Span]:
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
    """The cells of a line; without a sign, what at least two blanks keep apart."""
    if sign:
        return _cells(text, low, high, sign)
    return [found.span() for found in _COLUMNS.finditer(text, low, high)]


def _is_head(text: str, low: int, head: list[Span]) -> bool:
    """Whether all its cells are short names, and the line before is no row of the same table."""
    if len(head) < 2 or not all(_HEAD_CELL.fullmatch(text, *cell) for cell in head):
        return False
    before = _line(text, low - 1) if low else (0, 0)
    sign = _sign(text[before[0] : before[1]])
    return before[0] == before[1] or not sign or len(_cells(text, *before, sign)) != len(head)


def _is_alone(text: str, cell: Span, start: int, end: int) -> bool:
    """Whether the cell names the secret and says nothing more."""
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
    """A cell without blanks and quotes around it."""
    cell = text[low:high]
    start = low + len(cell) - len(cell.lstrip(_EDGES))
    return start, max(start, low + len(cell.rstrip(_EDGES)))


def _is_cell_secret(value: str, cue: Cue) -> bool:
    if len(value) < 4 or is_made_up(value) or is_code(value):
        return False
    if cue.is_password:
        if value.lower() in words.COMMON_PASSWORDS or looks_random(value, least=5):
            return True
        has_more = any(not character.isalpha() for character in value)
        return has_more and " " not in value and not is_harmless_shape(value)
    if is_harmless_shape(value) or is_hash(value):
        return cue.grade == 2 and len(value) >= 32
    return looks_random(value, least=10) or (cue.grade == 2 and is_jumble(value))


def _inserted(match: Match) -> Iterator[Span]:
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


_RANDOM: Final = "k8Jq2Zx9" + "Lm4Tv7Bd1Wc3"

TABLES: Final = (
    Rule(
        id="table-cell",
        kind="secret",
        trigger=rf"(?:{CUE_TRIGGER})[A-Za-z0-9_-]*[\"'`*]*(?: *[|,;\t\r\n]|  )",
        pattern=rf"(?P<cue>{CUE}){_AFTER_HEAD}",
        pick=_columns,
        matches=(
            "| user | password |\n|---|---|\n| bob | " + "hunter2!" + " |",
            "user,password,city\nbob," + "hunter2" + ",Paris\n",
            '"name","api key"\n"prod","' + _RANDOM + '"\n',
            "USER     PASSWORD\nbob      " + "hunter2!" + "\n",
            "id;token;created\n1;" + _RANDOM + ";2026-01-01\n",
        ),
        misses=(
            "| key | description |\n|---|---|\n| timeout2 | seconds to wait |",
            "name,token_count\nbob,1234\n",
            "user,password\nbob,none\n",
        ),
        is_long=True,
    ),
    Rule(
        id="sql-insert",
        kind="secret",
        trigger=r"(?i)insert\s+into|replace\s+into",
        pattern=r"(?i)(?:insert|replace)\s+into\s+[^\s(]{1,80}\s*\((?P<columns>[^()]{1,400})\)\s*values",
        pick=_inserted,
        matches=("INSERT INTO users (name, password) VALUES ('bob', 'hunter2'), ('al', 'p4ss!word')",),
        misses=("INSERT INTO users (name, password) VALUES ('bob', ?)", "insert into t (a, b) values (1, 2)"),
        is_long=True,
    ),
)  # fmt: skip
