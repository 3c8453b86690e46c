"""English words cut to the part that their inflections share, after Porter (1980)."""

from functools import lru_cache
from itertools import pairwise
from typing import Final

_VOWELS: Final = frozenset("aeiou")
_DOUBLED_ANYWAY: Final = frozenset("lsz")
# Ending, what takes its place, and how many syllables must stand before it.
_Ending = tuple[str, str, int]
_PLURALS: Final[tuple[_Ending, ...]] = (
    ("sses", "ss", 0),
    ("ies", "i", 0),
    ("ss", "ss", 0),
    ("us", "us", 0),
    ("s", "", 0),
)
_DOUBLE_ENDINGS: Final[tuple[_Ending, ...]] = (
    ("ational", "ate", 1),
    ("ization", "ize", 1),
    ("iveness", "ive", 1),
    ("fulness", "ful", 1),
    ("ousness", "ous", 1),
    ("tional", "tion", 1),
    ("biliti", "ble", 1),
    ("entli", "ent", 1),
    ("ousli", "ous", 1),
    ("ation", "ate", 1),
    ("alism", "al", 1),
    ("aliti", "al", 1),
    ("iviti", "ive", 1),
    ("enci", "ence", 1),
    ("anci", "ance", 1),
    ("izer", "ize", 1),
    ("abli", "able", 1),
    ("alli", "al", 1),
    ("ator", "ate", 1),
    ("logi", "log", 1),
    ("eli", "e", 1),
)
_DERIVED: Final[tuple[_Ending, ...]] = (
    ("icate", "ic", 1),
    ("ative", "", 1),
    ("alize", "al", 1),
    ("iciti", "ic", 1),
    ("ical", "ic", 1),
    ("ness", "", 1),
    ("ful", "", 1),
)
_LAST: Final[tuple[_Ending, ...]] = (
    ("ement", "", 2),
    ("ance", "", 2),
    ("ence", "", 2),
    ("able", "", 2),
    ("ible", "", 2),
    ("ment", "", 2),
    ("sion", "s", 2),
    ("tion", "t", 2),
    ("ant", "", 2),
    ("ent", "", 2),
    ("ism", "", 2),
    ("ate", "", 2),
    ("iti", "", 2),
    ("ous", "", 2),
    ("ive", "", 2),
    ("ize", "", 2),
    ("al", "", 2),
    ("er", "", 2),
    ("ic", "", 2),
    ("ou", "", 2),
)
# No longer English word is worth the time.
_LONGEST: Final = 40


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """What a lower-case English word shares with its other forms."""
    if not 3 <= len(word) <= _LONGEST:
        return word
    word = _replaced(word, _PLURALS)
    word = _without_ed_or_ing(word)
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    for endings in (_DOUBLE_ENDINGS, _DERIVED, _LAST):
        word = _replaced(word, endings)
    return _without_final_e(word)


def _replaced(word: str, endings: tuple[_Ending, ...]) -> str:
    for ending, instead, syllables in endings:
        if word.endswith(ending):
            rest = word[: -len(ending)]
            return rest + instead if _syllables(rest) >= syllables else word
    return word


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
    return any(_is_vowel(word, at) for at in range(len(word)))


def _syllables(word: str) -> int:
    """How often a consonant follows a vowel."""
    kinds = [_is_vowel(word, at) for at in range(len(word))]
    return sum(before and not after for before, after in pairwise(kinds))


def _is_short(word: str) -> bool:
    """Whether it ends like `hop`, whose forms double or gain a letter."""
    return (
        len(word) >= 3
        and not _is_vowel(word, -3)
        and _is_vowel(word, -2)
        and not _is_vowel(word, -1)
        and word[-1] not in "wxy"
    )
