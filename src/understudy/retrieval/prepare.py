"""A document read once: its terms counted, the letters of its words in fours."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from understudy.retrieval.documents import Document
from understudy.retrieval.normalise import flatten
from understudy.retrieval.terms import read_terms, terms_of

SOURCE_FIELD: Final = "source"
_GRAM: Final = 4
_LEAST_LETTERS: Final = 4
# What is read again and again is short; the reading of a long text is not kept.
_KEPT_CHARS: Final = 4_000


@dataclass(frozen=True, slots=True)
class TextTerms:
    """What one text holds."""

    counts: Mapping[str, int]
    # Every long word between its marks; the letters of another are looked for in it.
    written: str
    flat: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document whose fields are read; `texts` has the name, weight and reading of each.

    The source has no weight of its own: it counts beside the heaviest field.
    """

    document: Document
    texts: tuple[tuple[str, float | None, TextTerms], ...]
    terms: frozenset[str]
    subject: frozenset[str]

    @property
    def length(self) -> int:
        """How many distinct terms it has."""
        return len(self.terms)


def prepare(document: Document) -> Prepared:
    """Read a document, so that several questions need not."""
    texts: list[tuple[str, float | None, TextTerms]] = [
        (it.name, it.weight, read(it.text)) for it in document.fields if it.text
    ]
    if document.source:
        texts.append((SOURCE_FIELD, None, read(document.source)))
    return Prepared(
        document=document,
        texts=tuple(texts),
        terms=frozenset().union(*(reading.counts for _, _, reading in texts)),
        subject=frozenset(terms_of(document.about)) if document.about else frozenset(),
    )


def read(text: str) -> TextTerms:
    """What a text holds."""
    return _read_short(text) if len(text) <= _KEPT_CHARS else _read(text)


def _read(text: str) -> TextTerms:
    terms = [*read_terms(text)]
    words = {it.written: None for it in terms if has_grams(it.written)}
    return TextTerms(
        counts=Counter(term.text for term in terms),
        written=" ".join(map(_marked, words)),
        flat=flatten(text),
    )


_read_short = lru_cache(maxsize=2_048)(_read)


def has_grams(word: str) -> bool:
    """Whether a word is long enough to be compared by its letters."""
    return len(word) >= _LEAST_LETTERS and word.isascii() and not word.isdigit()


def grams_of(word: str) -> frozenset[str]:
    """The letters of a word in overlapping fours, its ends marked; none of a short word."""
    if not has_grams(word):
        return frozenset()
    marked = _marked(word)
    return frozenset(marked[at : at + _GRAM] for at in range(len(marked) - _GRAM + 1))


def _marked(word: str) -> str:
    return f"^{word}$"
