"""Terms: how texts and questions are tokenised for the index and the ranking."""

import re
import unicodedata
from collections.abc import Iterator
from enum import StrEnum, auto
from functools import lru_cache
from itertools import chain
from typing import Final, NamedTuple

from understudy.core.text import UNSPACED
from understudy.retrieval.vocabulary import (
    accented_stop_words,
    between_chinese,
    forms,
    general_weight,
    stem_of,
    stop_words,
)

# The most terms of a question; the rarest are kept.
MOST_QUERY_TERMS: Final = 64
_LETTERS: Final = rf"(?:(?![{UNSPACED}])[^\W_])+"
_PIECE: Final = re.compile(rf"[{UNSPACED}]+|{_LETTERS}(?:(?:[-._/:@+,'’]|_+){_LETTERS})*")
_UNSPACED_FIRST: Final = re.compile(f"[{UNSPACED}]")
_PART: Final = re.compile(r"[^\W_]+")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_GROUPED: Final = re.compile(r"\d{1,3}(?:,\d{3})+")
_ORDINAL: Final = re.compile(r"(\d+)(?:st|nd|rd|th)")
_POSSESSIVE: Final = ("'s", "’s")
# Only the terms of a shorter question are cached.
_KEPT_CHARS: Final = 4_000
# A longer token is data and no word: it is cut to fit the index.
_LONGEST_TERM: Final = 64
_LONGEST_PIECE: Final = 256
# Accents of Latin, Greek and Cyrillic letters; marks of Thai or Japanese are kept.
_ACCENTS: Final = re.compile("[\u0300-\u036f]+")
# Letters with a stroke have no decomposition.
_STROKES: Final = str.maketrans("đłøħŧı", "dlohti")
_NOT_A_LETTER: Final = re.compile(r"[\W_]+")


class TermKind(StrEnum):
    """What a term stands for."""

    WORD = auto()
    JOINED = auto()  # the parts of an identifier written as one word
    ACCENTED = auto()  # the word again, as it was written
    CHARACTER = auto()  # one character of a script without blanks
    CHARACTERS = auto()  # two neighbours of such a script, or one that stands alone


class Term(NamedTuple):
    """A term, what it stands for, and the word as it was written, without accents."""

    text: str
    kind: TermKind
    written: str


def terms_of(text: str) -> tuple[str, ...]:
    """The distinct terms of a text, in the order in which they first appear."""
    return tuple(dict.fromkeys(term.text for term in read_terms(text)))


def query_terms(text: str) -> tuple[str, ...]:
    """The distinct terms of a question, in order."""
    return tuple(dict.fromkeys(term.text for term in asked_terms(text)))


def asked_terms(text: str) -> tuple[Term, ...]:
    """The terms of a question: without stop words and duplicates, at most the rarest."""
    # The index and the ranking ask for those of one question, one after the other.
    return _asked_short(text) if len(text) <= _KEPT_CHARS else _asked(text)


def _asked(text: str) -> tuple[Term, ...]:
    first: dict[str, Term] = {}
    for term in _without_stop_words(text):
        first.setdefault(term.text, term)
    if len(first) <= MOST_QUERY_TERMS:
        return tuple(first.values())
    by_rarity = sorted(first.values(), key=lambda it: (-general_weight(it.text), it.text))
    rarest = frozenset(by_rarity[:MOST_QUERY_TERMS])
    return tuple(term for term in first.values() if term in rarest)


_asked_short = lru_cache(maxsize=256)(_asked)


def read_terms(text: str) -> list[Term]:
    """The terms of a text, in order."""
    return list(chain.from_iterable(map(_cut, _PIECE.findall(unify(text)))))


def _without_stop_words(text: str) -> Iterator[Term]:
    stops = stop_words()
    for piece in _PIECE.finditer(unify(text)):
        if _is_unspaced(piece[0]):
            for part in between_chinese().split(piece[0]):
                yield from _characters(part)
        else:
            yield from (term for term in _cut(piece[0]) if term.written not in stops)


def _cut(piece: str) -> tuple[Term, ...]:
    if _is_unspaced(piece):
        return tuple(_characters(piece))
    return _words(piece) if len(piece) <= _LONGEST_PIECE else tuple(_long(piece))


def _long(piece: str) -> Iterator[Term]:
    for part in _PART.findall(piece):
        for at in range(0, len(part), _LONGEST_TERM):
            yield from _words(part[at : at + _LONGEST_TERM])


def _is_unspaced(piece: str) -> bool:
    return not piece.isascii() and _UNSPACED_FIRST.match(piece) is not None


def _characters(run: str) -> Iterator[Term]:
    alone = TermKind.CHARACTERS if len(run) == 1 else TermKind.CHARACTER
    for at, character in enumerate(run, 1):
        yield Term(character, alone, character)
        if at < len(run):
            both = character + run[at]
            yield Term(both, TermKind.CHARACTERS, both)


@lru_cache(maxsize=50_000)
def _words(piece: str) -> tuple[Term, ...]:
    """The words of a token, and the token as one word if it has several."""
    if piece.isascii() and piece.isalpha() and piece.islower():
        # Most are such words, and need no cutting.
        is_stopped = piece in accented_stop_words()
        return () if is_stopped else (Term(base_form(piece)[:_LONGEST_TERM], TermKind.WORD, piece),)
    if _GROUPED.fullmatch(piece):
        piece = piece.replace(",", "")
    if piece.endswith(_POSSESSIVE):
        piece = piece[:-2]
    parts = [word for part in _PART.findall(piece) for word in _HUMP.split(part)]
    found: list[Term] = []
    for part in parts:
        lower = part.casefold()
        plain = fold(lower)
        if lower in accented_stop_words():
            continue
        found.append(Term(base_form(plain)[:_LONGEST_TERM], TermKind.WORD, plain))
        if plain != lower:
            found.append(Term(lower[:_LONGEST_TERM], TermKind.ACCENTED, plain))
    if len(parts) > 1 and "'" not in piece and "’" not in piece:
        whole = fold("".join(parts).casefold())[:_LONGEST_TERM]
        # Two parts are often written as one inflected word; more parts are an identifier.
        joined = base_form(whole) if len(parts) == 2 else whole
        found.append(Term(joined, TermKind.JOINED, whole))
    return tuple(found)


@lru_cache(maxsize=50_000)
def base_form(word: str) -> str:
    """The base form of a lower-case word without accents."""
    if not word.isascii():
        return word
    numbers = forms("numbers")
    if word in numbers:
        return numbers[word]
    if ordinal := _ORDINAL.fullmatch(word):
        word = ordinal[1]
    if word.isdigit():
        return word.lstrip("0") or "0"
    return stem_of(word) if word.isalpha() else word


def unify(text: str) -> str:
    """The text with one form for each character, its case kept."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def fold(text: str) -> str:
    """The lower-case text without accents."""
    if text.isascii():
        return text
    apart = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFC", _ACCENTS.sub("", apart)).translate(_STROKES)


def flatten(text: str) -> str:
    """Letters and digits in lower case without accents, one blank for anything between them."""
    return _NOT_A_LETTER.sub(" ", fold(unify(text).casefold())).strip()
