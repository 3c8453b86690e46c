"""Made-up records for measuring retrieval: the same at every run, with words as common as in life."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, product
from random import Random
from typing import Final

PER_SESSION: Final = 32
PROJECTS: Final = 50
WORDS_PER_RECORD: Final = 60
WORDS_PER_QUERY: Final = 6
# So many of the most common words are what stop words are in life; nobody asks for them.
TOO_COMMON: Final = 50
VOCABULARY: Final = 80_000
WORKSPACE: Final = "workspace:default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One record with where it belongs."""

    number: int
    text: str

    @property
    def source_id(self) -> str:
        """Its name."""
        return f"run_{self.number:08}"

    @property
    def scopes(self) -> tuple[str, ...]:
        """Its session, its project, and the workspace that all are in."""
        session = self.number // PER_SESSION
        return f"session:s{session}", f"project:p{session % PROJECTS}", WORKSPACE


def words() -> list[str]:
    """A vocabulary, the most common words first."""
    syllables = ["".join(pair) for pair in product("bdfgklmnprstvz", "aeiou")]
    made = ["".join(parts) for parts in product(syllables, repeat=3)]
    Random(1).shuffle(made)
    return made[:VOCABULARY]


def records(count: int) -> Iterator[Record]:
    """So many records; the first ones are the same whatever the number."""
    random, vocabulary = Random(2), words()
    weights = list(accumulate(1 / (rank + 3) for rank in range(len(vocabulary))))
    for number in range(count):
        chosen = random.choices(vocabulary, cum_weights=weights, k=WORDS_PER_RECORD)
        yield Record(number=number, text=" ".join(chosen))


def queries(sampled: list[Record], count: int) -> list[tuple[str, Record]]:
    """Questions, each of words from one record that it should find."""
    random, common = Random(3), frozenset(words()[:TOO_COMMON])
    asked = []
    for _ in range(count):
        record = random.choice(sampled)
        telling = [word for word in dict.fromkeys(record.text.split()) if word not in common]
        asked.append((" ".join(random.sample(telling, WORDS_PER_QUERY)), record))
    return asked
