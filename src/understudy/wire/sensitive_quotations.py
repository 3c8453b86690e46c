"""Finds sensitive statements that texts quote, however they are written, and covers them."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final

import re2

from understudy.core.showable import whole
from understudy.core.visibility import SensitiveStatement
from understudy.patterns.linear import Span, options

HIDDEN_WORDS: Final = "[sensitive]"
# A shorter statement would match ordinary words.
_LEAST_CHARS: Final = 4
# A statement of so many words, or of so many characters where words are not apart, is hardly said by chance.
_TELLING_WORDS: Final = 3
_TELLING_CHARS: Final = 6
_WORD: Final = re.compile(r"[a-z0-9]+")
_MEMORY: Final = 64 << 20
# Marks that change a text but not how it reads: of Markdown, of zero width, and of JSON within a text.
_UNREAD: Final = re.compile("[\\\\*_`~\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")
_ESCAPED_BLANK: Final = re.compile(r"\\+[nrtf]")
# The same for RE2, whose \s is ASCII.
_GAP: Final = f"{_UNREAD.pattern}*"
_BLANK: Final = r"(?:[\s\v\x1c-\x1f\x85\pZ]|\\+[nrtf])"
_BLANKS: Final = rf"{_GAP}{_BLANK}(?:{_BLANK}|{_UNREAD.pattern})*"


@dataclass(frozen=True)
class Quotations:
    """Covers the quotations of some statements in texts."""

    statements: "tuple[_Statement, ...]"

    @classmethod
    def of(cls, statements: tuple[SensitiveStatement, ...], near: Collection[str]) -> "Quotations":
        """Of the statements that count in a text about these sessions and runs."""
        return cls(tuple(each for each in _prepared(statements) if each.counts(near)))

    def __bool__(self) -> bool:
        return bool(self.statements)

    def among(self, text: str) -> "Quotations":
        """Of the statements that a text may quote: it has their words."""
        words = frozenset(_WORD.findall(_read(text)))
        return Quotations(tuple(each for each in self.statements if each.words <= words))

    def settled(self, text: str) -> int:
        """How many characters of a text that goes on no quotation can reach any more."""
        longest = max((len(each.text) for each in self.statements), default=0)
        held = longest
        # Blanks between the words of a statement do not count.
        while held < len(text) and len(_read(text[-held:])) < longest:
            held *= 2
        return max(0, len(text) - held)

    def masked(self, text: str) -> str:
        """The text with a mark for each quotation."""
        return self._covered(text, lambda _: HIDDEN_WORDS)

    def covered(self, text: str) -> str:
        """The text with as many characters: a reader of its parts finds the rest where it was."""
        return self._covered(text, lambda length: HIDDEN_WORDS.ljust(length, ".")[:length])

    def _covered(self, text: str, cover: Callable[[int], str]) -> str:
        # RE2 takes no lone surrogates.
        searched = whole(text)
        # All are found before one is covered: a statement may begin within another.
        spans = (span for each in self.among(searched).statements for span in each.spans(searched))
        parts: list[str] = []
        done = 0
        for start, end in _joined(spans):
            parts += (text[done:start], cover(end - start))
            done = end
        return "".join((*parts, text[done:]))


@dataclass(frozen=True)
class _Statement:
    """A statement with what finds it in a text."""

    # Without its full stop, and as it reads.
    bare: str
    text: str
    places: frozenset[str]

    @cached_property
    def words(self) -> frozenset[str]:
        """Words that every quotation has; the first and the last one may be parts of longer ones."""
        return frozenset(each for each in self.text.split()[1:-1] if _WORD.fullmatch(each))

    def counts(self, near: Collection[str]) -> bool:
        """Whether it is hidden in a text about these sessions and runs.

        A few words are hidden only where they were said: elsewhere they are said by chance.
        """
        is_telling = len(self.text.split()) >= _TELLING_WORDS or (
            not self.bare.isascii() and len(self.bare) >= _TELLING_CHARS
        )
        return is_telling or not self.places.isdisjoint(near)

    def spans(self, text: str) -> Iterator[Span]:
        """Where a text quotes it."""
        return (match.span() for match in self._pattern.finditer(text))

    @cached_property
    def _pattern(self) -> Any:
        words = (
            _GAP.join(_spelled(char) for char in word if not _UNREAD.match(char))
            for word in self.bare.split()
        )
        # A backslash that is left alone would escape the mask.
        regex = r"\\*" + _BLANKS.join(word for word in words if word)
        return re2.compile(f"(?i){regex}", options(_MEMORY))


# The statements of the last caller only, so that none outlives its learning.
@lru_cache(maxsize=1)
def _prepared(statements: tuple[SensitiveStatement, ...]) -> tuple[_Statement, ...]:
    prepared = []
    for text, *places in statements:
        bare = whole(text).strip().rstrip(".!?\N{IDEOGRAPHIC FULL STOP}")
        if len(bare) >= _LEAST_CHARS and _read(bare):
            where = frozenset(place for place in places if place)
            prepared.append(_Statement(bare=bare, text=_read(bare), places=where))
    return tuple(prepared)


def _read(text: str) -> str:
    """A text in lower case as it reads: single blanks, no marks."""
    return " ".join(_UNREAD.sub("", _ESCAPED_BLANK.sub(" ", text.lower())).split())


def _spelled(char: str) -> str:
    """A pattern for a character, also as JSON within a text writes it."""
    if char.isascii():
        return str(re2.escape(char))
    escaped = json.dumps(char)[1:-1].replace("\\", r"\\+")
    return f"(?:{char}|{escaped})"


def _joined(spans: Iterable[Span]) -> list[Span]:
    """Spans in order, those that overlap as one."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
