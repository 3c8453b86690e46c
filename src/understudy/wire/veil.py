"""Veils answers: ids of other users in shared records, and sensitive statements in journals.

Rows that a caller cannot see are left out by the stores. This covers the rest: a shared record that
names another user's run, or a journal with the sentence that was learned.
"""

import json
import re
from collections.abc import Iterator, Sequence
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
_BETWEEN: Final = r"(?:\s|\\[nrt])+"
_ESCAPED_BLANK: Final = re.compile(r"\\[nrt]")
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
    for masked in _among(statements, text, near):
        text = masked.pattern.sub(HIDDEN_WORDS, text)
    return text


@dataclass(frozen=True, slots=True)
class Mask:
    """Covers sensitive statements in texts of a run with as many characters, for a reader of parts.

    A part may begin or end within a statement, where it would not match, so the whole is masked.
    """

    _statements: tuple[SensitiveStatement, ...]
    _near: frozenset[str]

    @classmethod
    def of(cls, units: "Units", session_id: str, run_id: str) -> "Mask":
        """The mask for texts of a run."""
        near = frozenset((session_id, run_id))
        with whole_sight(), units.read() as unit:
            told = tuple(it for it in unit.sensitive_statements() if _covered(it).reaches(near))
        return cls(told, near)

    def __bool__(self) -> bool:
        return bool(self._statements)

    @property
    def longest(self) -> int:
        """As many characters as a statement may take that is not yet said to its end."""
        return 2 * max((len(it.text) for it in self._statements), default=0)

    def over(self, text: str) -> str:
        """The text with the mask over it."""
        for masked in _among(self._statements, text, self._near):
            text = masked.pattern.sub(
                lambda it: HIDDEN_WORDS.ljust(len(it[0]), ".")[: len(it[0])], text
            )
        return text


@dataclass(frozen=True, slots=True)
class _Covered:
    """A statement with what finds it in a text quickly."""

    bare: str
    places: frozenset[str]
    is_telling: bool
    # Words within it, and the whole as it may be written, both in one case.
    words: frozenset[str]
    spellings: tuple[str, ...]

    def reaches(self, near: frozenset[str]) -> bool:
        """Whether it is masked in a text about these sessions and runs.

        A few words are masked only where they were said: elsewhere they are said by chance.
        """
        return self.is_telling or not self.places.isdisjoint(near)

    @property
    def pattern(self) -> re.Pattern[str]:
        """The pattern of all ways to write it."""
        return _pattern(self.bare)


def _among(
    statements: Sequence[SensitiveStatement], text: str, near: frozenset[str]
) -> Iterator[_Covered]:
    """The statements that a text has; few are left to their patterns, which are slow."""
    if not statements:
        return
    folded = " ".join(_ESCAPED_BLANK.sub(" ", text.lower()).split())
    words = frozenset(_WORD.findall(folded))
    for covered in map(_covered, statements):
        if (
            covered.reaches(near)
            and covered.words <= words
            and any(each in folded for each in covered.spellings)
        ):
            yield covered


@lru_cache(maxsize=20_000)
def _covered(statement: SensitiveStatement) -> _Covered:
    bare = statement.text.strip().rstrip(".!?\N{IDEOGRAPHIC FULL STOP}")
    said = bare.lower().split()
    is_there = len(bare) >= _LEAST_CHARS
    is_telling = len(said) >= _TELLING_WORDS or (not bare.isascii() and len(bare) >= _TELLING_CHARS)
    places = (statement.run_id, statement.session_id)
    return _Covered(
        bare=bare,
        places=frozenset(it for it in places if it and is_there),
        is_telling=is_there and is_telling,
        # The first and the last one may be parts of longer words in a text.
        words=frozenset(it for it in said[1:-1] if _WORD.fullmatch(it)),
        spellings=tuple(_spellings(" ".join(said))),
    )


def _spellings(text: str) -> set[str]:
    """A text as it is, and as it is written in JSON."""
    return {text, *(json.dumps(text, ensure_ascii=it)[1:-1] for it in (True, False))}


@lru_cache(maxsize=1_000)
def _pattern(bare: str) -> re.Pattern[str]:
    """The pattern of a statement in a text or in JSON: any case and whitespace, no full stop."""
    parts = ("|".join(sorted(map(re.escape, _spellings(it)))) for it in bare.split())
    return re.compile(_BETWEEN.join(f"(?:{part})" for part in parts), re.IGNORECASE)
