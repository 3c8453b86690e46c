"""What a person types may be parts of words: texts that hold them are found as well."""

from dataclasses import dataclass
from itertools import islice
from typing import Final

from understudy.retrieval.documents import Document, Field, Scored
from understudy.retrieval.points import DIGITS
from understudy.retrieval.vocabulary import stop_words

# Enough to be found, and too little to come before a text that holds the word itself.
PART_POINTS: Final = 0.1
# Shorter pieces of letters are in nearly every text.
LEAST_CHARS: Final = 3
# A longer query is no search for parts of words.
MAX_PARTS: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Needle:
    """What is looked for in many texts, letter by letter."""

    parts: tuple[str, ...]

    def points(self, field: Field) -> float:
        """What a field earns for what it contains."""
        text = field.text.casefold()
        return PART_POINTS * sum(1 for part in self.parts if part in text)

    def earned(self, scored: Scored, document: Document) -> tuple[float, tuple[str, ...]]:
        """What the terms and the letters of a query earn together, and in which fields."""
        contained = {field.name: self.points(field) for field in document.fields}
        matched = [match.field for match in scored.matches]
        held = [name for name, points in contained.items() if points or name in matched]
        # Last what is no field: a query may name the time of a record.
        names = dict.fromkeys((*held, *matched))
        return round(scored.score + sum(contained.values()), DIGITS), tuple(names)


def needle(query: str) -> Needle:
    """A query made ready."""
    words = dict.fromkeys(filter(_is_telling, query.casefold().split()))
    return Needle(parts=tuple(islice(words, MAX_PARTS)))


def _is_telling(word: str) -> bool:
    """Whether a word is worth looking for; other scripts than ours say much in few letters."""
    return word not in stop_words() and (len(word) >= LEAST_CHARS or not word.isascii())
