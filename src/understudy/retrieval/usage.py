"""How rare a word is in general, whatever a store happens to hold."""

from functools import cache
from typing import Final

from understudy.retrieval.common_words import COMMON, FAMILIAR, VERY_COMMON
from understudy.retrieval.spelling import american
from understudy.retrieval.stemming import stem
from understudy.retrieval.word_forms import IRREGULAR, SHORT

# How much a word says: what of it a question asks about weighs so much.
_BANDS: Final = ((FAMILIAR, 3.5), (COMMON, 2.8), (VERY_COMMON, 1.75))
# Whoever knows `young` knows `younger`; no rule of stemming brings these together.
_ENDINGS: Final = ("er", "est", "r", "st", "ly")
_DERIVED: Final = 3.5
SMALL_NUMBER: Final = 4.0
RARE: Final = 7.5
_SMALL_DIGITS: Final = 3


def general_weight(term: str) -> float:
    """What a term says by its rarity in general: little if everybody uses it every day."""
    if term.isdigit():
        return SMALL_NUMBER if len(term) <= _SMALL_DIGITS else RARE
    return _weights().get(term, RARE)


@cache
def _weights() -> dict[str, float]:
    known = {_base(word): weight for words, weight in _BANDS for word in words.split()}
    derived = {
        _base(word + ending) for words, _ in _BANDS for word in words.split() for ending in _ENDINGS
    }
    return dict.fromkeys(sorted(derived), _DERIVED) | known


def _base(word: str) -> str:
    word = IRREGULAR.get(word, word)
    return stem(american(SHORT.get(word, word)))
