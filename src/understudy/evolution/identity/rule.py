"""Finds the identity fields in a text: name, role, purpose, and contact of an agent."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from understudy.core.dataclass import dataclass
from understudy.core.lazy import lazy_pattern
from understudy.evolution.identity.labels import (
    MAX_LABEL_CHARS,
    IdentityKind,
    IdentityLabel,
    label_of,
)
from understudy.evolution.identity.sentences import said_in, said_over
from understudy.evolution.visible_text import as_seen, plain, word_line

Said = tuple[IdentityKind, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityField:
    """One identity field of a text, with its line from 1."""

    kind: IdentityKind
    value: str
    line: int

    @property
    def key(self) -> tuple[IdentityKind, str]:
        """Kind and value, wherever it stands."""
        return self.kind, self.value


@dataclass(frozen=True, slots=True)
class LineReading:
    """The fields of one line, and its labels whose values follow below."""

    # The text without marks and tags, with single spaces.
    prose: str = ""
    said: tuple[Said, ...] = ()
    opens: tuple[IdentityLabel, ...] = ()
    is_heading: bool = False


_BLANK: Final = LineReading()
# HTML blocks separate text like cells, some tags are only formatting, others are labels.
_BLOCK: Final = lazy_pattern(
    r"</?(?:t[dhr]|d[ltd]|li|[ou]l|p|div|br|hr|h[1-6]|table)\b[^<>]*>", re.IGNORECASE
)
_INLINE: Final = lazy_pattern(
    r"</?(?:a|b|i|u|s|em|strong|small|big|span|font|mark|code|kbd|su[bp]|del|ins)\b[^<>]*>",
    re.IGNORECASE,
)
_TAG: Final = lazy_pattern(r"<([a-z][^<>]*)>", re.IGNORECASE)
_CLOSING_TAG: Final = lazy_pattern(r"</[a-z][^<>]*>", re.IGNORECASE)
_DRESS: Final = str.maketrans("", "", "*`~")
_BRACKETS: Final = str.maketrans(dict.fromkeys("()[]{}", " "))
_COLONS: Final = str.maketrans(dict.fromkeys("\u2236\ua789\u02d0\u0589\u05c3\u0703\u1365", ":"))
# Separators between a label and its value: signs other than those of prose, and gaps.
_DASHES: Final = r"\u2010-\u2013-"
_PROSE: Final = (
    r"'\u2019.,;!?()\[\]{}\"\u201c\u201d\u2018\u300c\u300d&@#%+$/\\\u00bb\u203a<>\u3001\u3002\uff0c"
)
_BETWEEN: Final = lazy_pattern(
    rf"(?<![-=])[-=]+>|[^\w\s{_PROSE}{_DASHES}]+|(?<=\s)[>\u00bb\u203a/{_DASHES}]+(?=\s)"
    r"|\t|(?<=[\w)]) {2,}|\.{2,}|_{2,}"
)
# Separators after which the value may be on the next line.
_COLON_LIKE: Final = lazy_pattern(r"[:=|]")
# Ends of the text before a label.
_BEFORE: Final = lazy_pattern(r"[.;,!?{(](?=[\s\"'])|[\u3002\uff0c\u3001\uff01\uff1b]")
_DRESSED: Final = lazy_pattern(
    r"[^\w*`]*(?P<mark>\*{1,3}|__|`)(?P<label>[^*`]{1,80}?)(?P=mark)\s+(?P<value>\w.*)"
)
_IS_HEADING: Final = lazy_pattern(
    r"[\s>]*(?:#{1,6}|<h[1-6]|(?:\*\*|__)(?:(?!\*\*|__).)+(?:\*\*|__)\s*+:?\s*+$)", re.IGNORECASE
)
_UNDERLINE: Final = lazy_pattern(r"\s{0,3}(?:=+|-{2,}|\|?(?:\s*:?-+:?\s*\|)+[\s:-]*)\s*")
_WORD: Final = lazy_pattern(r"\w+")
_EMAIL: Final = lazy_pattern(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
MAX_CELLS: Final = 20


def fields_of(text: str) -> tuple[IdentityField, ...]:
    """All identity fields in a text, in order."""
    lines = text.splitlines()
    known = {line: _reading(line) if line.strip() else _BLANK for line in {*lines}}
    readings = [known[line] for line in lines]
    opens = [
        reading.opens or _opened_by(following, reading)
        for reading, following in zip(readings, (*lines[1:], ""), strict=False)
    ]
    found = (
        IdentityField(kind=kind, value=_value(value), line=index + 1)
        for index in range(len(lines))
        for kind, value in _said_at(index, readings, opens)
    )
    return tuple(found)


def _said_at(
    index: int, readings: Sequence[LineReading], opens: Sequence[tuple[IdentityLabel, ...]]
) -> Iterator[Said]:
    reading = readings[index]
    following = readings[index + 1] if index + 1 < len(readings) else _BLANK
    yield from reading.said
    if reading.prose and following.prose:
        yield from said_over(reading.prose, following.prose)
    if opens[index]:
        below = " ".join(_below(index, readings, opens))
        yield from ((label.kind, f"{label.rest} {below}") for label in opens[index])


def _below(
    index: int, readings: Sequence[LineReading], opens: Sequence[tuple[IdentityLabel, ...]]
) -> Iterator[str]:
    """The lines below a heading, up to the next one."""
    for at in range(index + 1, len(readings)):
        if readings[at].is_heading or opens[at]:
            return
        if readings[at].prose and not _UNDERLINE.fullmatch(readings[at].prose):
            yield readings[at].prose


def _opened_by(following: str, reading: LineReading) -> tuple[IdentityLabel, ...]:
    """The labels of a line that the next one marks as a heading, table head or definition."""
    is_defined = following.lstrip().startswith(":")
    if not reading.prose or not (is_defined or _UNDERLINE.fullmatch(following)):
        return ()
    cells = reading.prose.split("|", MAX_CELLS)[:MAX_CELLS]
    found = (label_of(cell.strip(), is_heading=True) for cell in cells)
    return tuple(label for label in found if label is not None)


def _reading(line: str) -> LineReading:
    seen = as_seen(line).translate(_COLONS)
    dressed = _INLINE.sub("*", _BLOCK.sub("|", seen))
    bare = _CLOSING_TAG.sub("|", _TAG.sub(r"|\1:", dressed)).translate(_DRESS)
    is_heading = _IS_HEADING.match(seen) is not None
    said, opens = _labelled(bare, is_heading=is_heading)
    if not said and not opens:
        said = [*_side_by_side(dressed, bare)]
    prose = " ".join(bare.split())
    addresses = ((IdentityKind.CONTACT, found[0]) for found in _EMAIL.finditer(plain(prose)))
    return LineReading(prose, (*said, *said_in(prose), *addresses), tuple(opens), is_heading)


def _labelled(line: str, *, is_heading: bool) -> tuple[list[Said], list[IdentityLabel]]:
    """The labels of a line with their values, and those without one."""
    found = [*_labels(line)]
    ends = (*(start for start, _, _ in found[1:]), len(line))
    said, opens = [], []
    for (_, label, between), end in zip(found, ends, strict=False):
        value = line[between.end() : end]
        if any(map(str.isalnum, value)):
            said.append((label.kind, value))
        elif _COLON_LIKE.search(between[0]):
            opens.append(label)
    heading = (
        label_of(line.strip("# \t|>_"), is_heading=True)
        if is_heading and not (said or opens)
        else None
    )
    return said, [*opens, heading] if heading is not None else opens


def _labels(line: str) -> Iterator[tuple[int, IdentityLabel, re.Match[str]]]:
    """The offset of each label, its kind, and the separator before its value."""
    start = 0
    for between in _BETWEEN.finditer(line):
        begin = max(start, between.start() - 2 * MAX_LABEL_CHARS)
        cuts = [cut.end() for cut in _BEFORE.finditer(line, begin, between.start())]
        begin = cuts[-1] if cuts else begin
        text = line[begin : between.start()].strip("# \t")
        # A gap after a sentence only separates it from the next.
        ends_there = not between[0].strip() and text.endswith((".", "!", "?"))
        label = None if ends_there else label_of(text)
        if label is not None:
            yield begin, label, between
        start = between.end()


def _side_by_side(dressed: str, bare: str) -> Iterator[Said]:
    """A label directly before its value: the label is formatted, or the value is a name."""
    found = _DRESSED.fullmatch(dressed)
    if found is not None and (label := label_of(found["label"])) is not None:
        yield label.kind, found["value"].translate(_DRESS)
    elif len(bare) <= MAX_LABEL_CHARS:
        flat = bare.translate(_BRACKETS)
        label = label_of(flat, is_heading=True)
        rest = label.rest.split() if label is not None else []
        names = _WORD.findall(flat)[-len(rest) :] if rest else []
        if label is not None and names and not any(name[0].islower() for name in names):
            yield label.kind, label.rest


def _value(text: str) -> str:
    return word_line(plain(text.strip("|<>- ")))
