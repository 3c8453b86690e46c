"""Vocabulary: stop words, spellings, stems and the rarity of words in general use."""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Final

from understudy.patterns.word_lists import WordLists

WORDS: Final = WordLists("understudy.retrieval")
_VOWELS: Final = frozenset("aeiou")
# Behind a consonant `y` is a vowel.
_VOWEL: Final = re.compile("[aeiou]|(?<=[^aeiou])y")
_SYLLABLE: Final = re.compile("[aeiou](?=[^aeiou])|(?<=[^aeiou])y(?=[^aeiouy])")
_DOUBLED_ANYWAY: Final = frozenset("lsz")
# Tables of the stemmer in order, with the least number of syllables before an ending.
_PLURALS: Final = ("stemming.plurals", 0)
_SUFFIXES: Final = (("stemming.double_endings", 1), ("stemming.derived", 1), ("stemming.last", 2))
_OUR: Final = re.compile(r"(?<=[a-z]{2})our(?=(?:s|ed|ing|ful|able|ly|hood|ite|ites|er|ers)?$)")
# Shorter words have no British or American spelling.
_LEAST_LETTERS: Final = 6
# Longer words are not stemmed: no English word is as long.
_LONGEST: Final = 40
# Weights of words by their frequency in general use.
_BANDS: Final = (("common.familiar", 3.5), ("common.common", 2.8), ("common.very_common", 1.75))
# `younger` is as familiar as `young`; no rule of stemming brings these together.
_FAMILIAR_ENDINGS: Final = ("er", "est", "r", "st", "ly")
_DERIVED_WEIGHT: Final = 3.5
SMALL_NUMBER: Final = 4.0
RARE: Final = 7.5
_SMALL_DIGITS: Final = 3


@cache
def stop_words() -> frozenset[str]:
    """English and French stop words, lower-case and without accents."""
    return WORDS.set("stop_words.english") | WORDS.set("stop_words.french")


def accented_stop_words() -> frozenset[str]:
    """Vietnamese stop words, with their accents."""
    return WORDS.set("stop_words.vietnamese")


@cache
def between_chinese() -> re.Pattern[str]:
    """The pattern of Chinese stop words, which split a question; the longest first."""
    chinese = sorted(WORDS("stop_words.chinese"), key=lambda word: (-len(word), word))
    return re.compile("|".join(chinese))


def general_weight(term: str) -> float:
    """The weight of a term by its rarity in general use."""
    if term.isdigit():
        return SMALL_NUMBER if len(term) <= _SMALL_DIGITS else RARE
    return _weights().get(term, RARE)


@cache
def _weights() -> dict[str, float]:
    words = [(word, weight) for table, weight in _BANDS for word in WORDS(table)]
    derived = {stem_of(word + ending) for word, _ in words for ending in _FAMILIAR_ENDINGS}
    known = {stem_of(word): weight for word, weight in words}
    return dict.fromkeys(sorted(derived), _DERIVED_WEIGHT) | known


def stem_of(word: str) -> str:
    """The stem of a lower-case English word, after its irregular, short and British forms."""
    word = forms("irregular").get(word, word)
    return stem(american(forms("short").get(word, word)))


@cache
def forms(table: str) -> Mapping[str, str]:
    """Each listed form with the form that stands for it: `irregular`, `short` or `numbers`."""
    lines = [line.split() for line in WORDS(f"forms.{table}")]
    return {form: line[0] for line in lines for form in line[1:]}


def american(word: str) -> str:
    """The American spelling of a lower-case English word."""
    words = WORDS.pairs("spelling.words")
    if word in words:
        return words[word]
    if "our" in word and not word.startswith(WORDS("spelling.keep_our")):
        word = _OUR.sub("or", word)
    if len(word) < _LEAST_LETTERS:
        return word
    found = _ending(word, "spelling.endings")
    return word[: -len(found[0])] + found[1] if found else word


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """The Porter stem of a lower-case English word."""
    if not 3 <= len(word) <= _LONGEST:
        return word
    word = _replaced(word, *_PLURALS)
    word = _without_ed_or_ing(word)
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    for table, syllables in _SUFFIXES:
        word = _replaced(word, table, syllables)
    return _without_final_e(word)


def _replaced(word: str, table: str, syllables: int) -> str:
    found = _ending(word, table)
    if found is None:
        return word
    rest = word[: -len(found[0])]
    return rest + found[1] if _syllables(rest) >= syllables else word


def _ending(word: str, table: str) -> tuple[str, str] | None:
    """The first ending of a table that a word has, and what replaces it."""
    # Most words have none, which one look at all of them tells.
    if not word.endswith(_endings(table)):
        return None
    pairs = WORDS.pairs(table).items()
    return next((it for it in pairs if word.endswith(it[0])), None)


@cache
def _endings(table: str) -> tuple[str, ...]:
    return tuple(WORDS.pairs(table))


def _without_ed_or_ing(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _syllables(word[:-3]) else word
    ending = "ed" if word.endswith("ed") else "ing" if word.endswith("ing") else ""
    rest = word[: -len(ending)] if ending else word
    if not ending or not _has_vowel(rest) or len(rest) < len(ending):
        return word
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if rest[-1] == rest[-2] and rest[-1] not in _DOUBLED_ANYWAY and not _is_vowel(rest, -1):
        return rest[:-1]
    return rest + "e" if _syllables(rest) == 1 and _is_short(rest) else rest


def _without_final_e(word: str) -> str:
    if word.endswith("e"):
        rest = word[:-1]
        syllables = _syllables(rest)
        if syllables > 1 or (syllables == 1 and not _is_short(rest)):
            word = rest
    return word[:-1] if word.endswith("ll") and _syllables(word) > 1 else word


def _is_vowel(word: str, at: int) -> bool:
    at %= len(word)
    return word[at] in _VOWELS or (word[at] == "y" and at > 0 and word[at - 1] not in _VOWELS)


def _has_vowel(word: str) -> bool:
    return _VOWEL.search(word) is not None


def _syllables(word: str) -> int:
    """The number of vowel-consonant sequences."""
    return len(_SYLLABLE.findall(word))


def _is_short(word: str) -> bool:
    """Whether a word ends like `hop`, whose forms double a consonant or add an `e`."""
    return (
        len(word) >= 3
        and not _is_vowel(word, -3)
        and _is_vowel(word, -2)
        and not _is_vowel(word, -1)
        and word[-1] not in "wxy"
    )
