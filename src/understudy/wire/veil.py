"""Veils answers: ids of other users in shared records, and sensitive statements in journals.

Rows that a caller cannot see are left out by the stores. This covers the rest: a shared record that
names another user's run, or a journal with the sentence that was learned.
"""

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from understudy.core.sight import SensitiveStatement, Sight, whole_sight

if TYPE_CHECKING:
    from understudy.storage.unit import Units

HIDDEN_ID: Final = "hidden"
HIDDEN_WORDS: Final = "[sensitive]"
# Fields that name a session, whose id may be any word that a caller chose.
# A member of a room or of a board is often called by it.
_SESSION: Final = re.compile(
    r'("(?:\w*session_id|\w*member_id|\w*display_name|ref_id|resource_id|id|owner)"\s*:\s*")'
    r'([^"\\]{1,200})"'
)
_MEMBERS: Final = re.compile(r'"\w*member_ids"\s*:\s*\[[^\]]+\]')
_STRING: Final = re.compile(r'(")([^"\\]{1,200})"')
_ID: Final = re.compile(r"\b[a-z]{2,4}_[0-9a-f]{32}\b")
# A shorter statement would match ordinary words.
_LEAST_CHARS: Final = 4
_ESCAPED_BLANK: Final = re.compile(r"\\+[nrtf]")
# Markdown marks and zero-width characters, which change a text but not how it reads.
_UNREAD: Final = r"*_`~\u00ad\u200b-\u200f\u2060-\u2064\ufeff"
_UNREAD_RUN: Final = re.compile(rf"[\\{_UNREAD}]+")
_PIECE: Final = re.compile(
    rf"(?P<blank>\s+|\\+[nrtf])|(?P<unread>\\+|[{_UNREAD}]+)|[^\\\s{_UNREAD}]+"
)
_JSON_STRING: Final = re.compile(r'(?P<name>"\w+"\s*:)|"[^"\\]*(?:\\.[^"\\]*)*"')
_EVENT: Final = ("data: ", "event: ", "id: ")
_WORD: Final = re.compile(r"[a-z0-9]+")
# A statement of so many words, or of so many characters where words are not apart, is hardly said by chance.
_TELLING_WORDS: Final = 3
_TELLING_CHARS: Final = 6


def veil(units: "Units", sight: Sight, text: str, asked: str = "") -> str:
    """The text of an answer, of a frame, or of a part of a stream, without what the sight does not reach."""
    lists = "".join(_MEMBERS.findall(text))
    found = (*_SESSION.finditer(text), *_STRING.finditer(lists))
    sessions = sorted({each[2] for each in found})
    ids = sorted(set(_ID.findall(text)))
    if not sessions and not ids and sight.sees_sensitive:
        return text
    with whole_sight(), units.read() as unit:
        foreign = (
            frozenset(
                each
                for each in unit.foreign_among(sessions, ids, sight.user_id)
                if each not in asked
            )
            if sight.user_id is not None
            else frozenset()
        )
        statements = () if sight.sees_sensitive else unit.sensitive_statements()
    if foreign:
        text = _ID.sub(lambda it: HIDDEN_ID if it[0] in foreign else it[0], text)

        def without(it: re.Match[str]) -> str:
            return f'{it[1]}{HIDDEN_ID}"' if it[2] in foreign else it[0]

        text = _SESSION.sub(without, text)
        text = _MEMBERS.sub(lambda it: _STRING.sub(without, it[0]), text)
    near = frozenset((*sessions, *ids))
    covered = [it for it in _all_covered(statements) if it.reaches(near)]
    return _covering(covered, text, lambda _: HIDDEN_WORDS, within=_json_texts)


def _json_texts(text: str) -> list[tuple[int, int]] | None:
    """Where the texts of JSON are; None if it is none.

    A statement such as `true` is found in what holds them together, too. Names of fields are no texts.
    """
    if not _is_json(text):
        return None
    return [it.span() for it in _JSON_STRING.finditer(text) if not it["name"]]


def _is_json(text: str) -> bool:
    """Whether a text, or the data of an event of a stream, is JSON."""
    try:
        json.loads(text.partition("data: ")[2] if text.startswith(_EVENT) else text)
    except (ValueError, RecursionError):
        return False
    return True


@dataclass(frozen=True, slots=True)
class Mask:
    """Covers sensitive statements in texts of a run with as many characters, for a reader of parts.

    A part may begin or end within a statement, where it would not match, so the whole is masked.
    """

    _covered: "tuple[_Covered, ...]"

    @classmethod
    def of(cls, units: "Units", session_id: str, run_id: str) -> "Mask":
        """The mask for texts of a run."""
        near = frozenset((session_id, run_id))
        with whole_sight(), units.read() as unit:
            statements = unit.sensitive_statements()
        return cls(tuple(it for it in _all_covered(statements) if it.reaches(near)))

    def __bool__(self) -> bool:
        return bool(self._covered)

    def ready(self, text: str) -> int:
        """How many characters of a text that goes on no statement can reach any more."""
        longest = max((len(each) for it in self._covered for each in it.spellings), default=0)
        held = longest
        # Blanks between the words of a statement do not count.
        while held < len(text) and len(_folded(text[-held:])) < longest:
            held *= 2
        return max(0, len(text) - held)

    def over(self, text: str) -> str:
        """The text with the mask over it."""
        return _covering(self._covered, text, lambda it: HIDDEN_WORDS.ljust(it, ".")[:it])


@dataclass(frozen=True, slots=True)
class _Covered:
    """A statement with what finds it in a text quickly."""

    places: frozenset[str]
    is_telling: bool
    # Words within it, and the whole as it may be written, both folded.
    words: frozenset[str]
    spellings: tuple[str, ...]

    def reaches(self, near: frozenset[str]) -> bool:
        """Whether it is masked in a text about these sessions and runs.

        A few words are masked only where they were said: elsewhere they are said by chance.
        """
        return self.is_telling or not self.places.isdisjoint(near)


# The statements of the last caller only, so that none outlives its learning.
@lru_cache(maxsize=1)
def _all_covered(statements: tuple[SensitiveStatement, ...]) -> "tuple[_Covered, ...]":
    return tuple(covered for it in statements if (covered := _covered(it)).spellings)


def _covered(statement: SensitiveStatement) -> _Covered:
    bare = statement.text.strip().rstrip(".!?\N{IDEOGRAPHIC FULL STOP}")
    written = (bare, json.dumps(bare)[1:-1])
    spellings = {_folded(it) for it in written if len(bare) >= _LEAST_CHARS} - {""}
    said = _folded(bare).split()
    places = (statement.run_id, statement.session_id)
    return _Covered(
        places=frozenset(it for it in places if it),
        is_telling=len(said) >= _TELLING_WORDS
        or (not bare.isascii() and len(bare) >= _TELLING_CHARS),
        # The first and the last one may be parts of longer words in a text.
        words=frozenset(it for it in said[1:-1] if _WORD.fullmatch(it)),
        spellings=tuple(sorted(spellings)),
    )


def _covering(
    covered: Sequence[_Covered],
    text: str,
    mask: Callable[[int], str],
    within: Callable[[str], list[tuple[int, int]] | None] = lambda _: None,
) -> str:
    """The text with masks over the statements that it has, made by the length of what they cover.

    `within` finds the parts of the text that may be masked; None is all of it.
    """
    if not covered:
        return text
    folded = _folded(text)
    words = frozenset(_WORD.findall(folded))
    found = sorted(
        span
        for it in covered
        if it.words <= words
        for each in it.spellings
        for span in _spans(folded, each)
    )
    if not found:
        return text
    parts: list[str] = []
    done = 0
    # All are found before one is masked: a statement may begin within another.
    places, allowed = _in_text(text, found), within(text)
    if allowed is not None:
        places = (it for it in places if _is_within(it, allowed))
    for start, end in _joined(places):
        parts += (text[done:start], mask(end - start))
        done = end
    return "".join((*parts, text[done:]))


def _is_within(span: tuple[int, int], parts: Sequence[tuple[int, int]]) -> bool:
    """Whether one of the parts, which are in order, has the span inside."""
    before = bisect_left(parts, span) - 1
    return before >= 0 and span[1] < parts[before][1]


def _spans(folded: str, each: str) -> Iterator[tuple[int, int]]:
    start = folded.find(each)
    while start >= 0:
        yield start, start + len(each)
        start = folded.find(each, start + len(each))


def _folded(text: str) -> str:
    """A text in one case, with single blanks, without backslashes and marks that are not read.

    So JSON reads as the text that it has, and JSON within JSON, too, but for characters by number.
    """
    return " ".join(_UNREAD_RUN.sub("", _ESCAPED_BLANK.sub(" ", _lowered(text))).split())


def _lowered(text: str) -> str:
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(low if len(low := each.lower()) == 1 else each for each in text)


def _in_text(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Where spans of the folded text are in the text itself."""
    folded_at: list[int] = []
    text_at: list[int] = []
    length, is_apart = 0, False
    for piece in _PIECE.finditer(_lowered(text)):
        if piece["blank"]:
            is_apart = True
        elif not piece["unread"]:
            length += is_apart and length > 0
            folded_at.append(length)
            text_at.append(piece.start())
            length += len(piece[0])
            is_apart = False

    def place(at: int) -> int:
        piece = bisect_right(folded_at, at) - 1
        return text_at[piece] + at - folded_at[piece]

    for start, end in spans:
        first = place(start)
        # A backslash that is left alone would escape the mask.
        while first > 0 and text[first - 1] == "\\":
            first -= 1
        yield first, place(end - 1) + 1


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans in order, those that overlap as one."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
