"""Veils answers: ids of other users in shared records, and sensitive statements in journals.

Rows that a caller cannot see are left out by the stores. This covers the rest: a shared record that
names another user's run, or a journal with the sentence that was learned.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from understudy.core.sight import Sight, whole_sight

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


def veil(units: "Units", sight: Sight, text: str, asked: str = "") -> str:
    """The text of an answer, of a frame, or of a part of a stream, without what the sight does not reach."""
    lists = "".join(_MEMBERS.findall(text))
    found = (*_SESSION.finditer(text), *_STRING.finditer(lists))
    sessions = sorted({each[2] for each in found})
    ids = sorted(set(_ID.findall(text)))
    if not sessions and not ids:
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
        words = () if sight.sees_sensitive else tuple(unit.sensitive_words(sessions, ids))
    if foreign:
        text = _ID.sub(lambda it: HIDDEN_ID if it[0] in foreign else it[0], text)

        def without(it: re.Match[str]) -> str:
            return f'{it[1]}{HIDDEN_ID}"' if it[2] in foreign else it[0]

        text = _SESSION.sub(without, text)
        text = _MEMBERS.sub(lambda it: _STRING.sub(without, it[0]), text)
    for pattern in _patterns(words):
        text = pattern.sub(HIDDEN_WORDS, text)
    return text


@dataclass(frozen=True, slots=True)
class Mask:
    """Covers the sensitive statements of a run with as many characters, for a reader of parts of a text.

    A part may begin or end within a statement, where it would not match, so the whole is masked.
    """

    _patterns: tuple[re.Pattern[str], ...]

    @classmethod
    def of(cls, units: "Units", session_id: str, run_id: str) -> "Mask":
        """The mask for texts of a run."""
        with whole_sight(), units.read() as unit:
            return cls(tuple(_patterns(unit.sensitive_words([session_id], [run_id]))))

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def over(self, text: str) -> str:
        """The text with the mask over it."""
        for pattern in self._patterns:
            text = pattern.sub(lambda it: HIDDEN_WORDS.ljust(len(it[0]), ".")[: len(it[0])], text)
        return text


def _patterns(words: Iterable[str]) -> Iterable[re.Pattern[str]]:
    """The pattern of each statement in a text or in JSON: any case and whitespace, no full stop."""
    for statement in set(words):
        bare = statement.strip().rstrip(".!?\N{IDEOGRAPHIC FULL STOP}")
        if len(bare) < _LEAST_CHARS:
            continue
        parts = (
            "|".join(
                {re.escape(it)}
                | {
                    re.escape(json.dumps(it, ensure_ascii=ascii_only)[1:-1])
                    for ascii_only in (True, False)
                }
            )
            for it in bare.split()
        )
        yield re.compile(_BETWEEN.join(f"(?:{part})" for part in parts), re.IGNORECASE)
