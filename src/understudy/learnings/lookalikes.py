"""Letters that pass for others: a word that mixes scripts may be made to look like another word."""

import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

# Cyrillic and Greek letters, small ones, beside the Latin ones that they or their capitals look like.
# Those that stand for themselves in units and formulas, such as mu and pi, are not among them.
_CYRILLIC: Final = (
    "\u0430a\u0432b\u0435e\u0451e\u043ak\u043cm\u043dh\u043eo\u0440p\u0441c\u0442t\u0443y\u0445x\u0456i"
    "\u0457i\u0458j\u0455s\u04bbh\u0501d\u051bq\u051dw\u04afy\u04e9o\u04cfl"
)
_GREEK: Final = (
    "\u03b1a\u03aca\u03b2b\u03b5e\u03ade\u03b7n\u03b9i\u03afi\u03bak\u03bdv\u03bfo\u03cco\u03c1p\u03c4t"
    "\u03c5u\u03cdu\u03c7x\u03b3y\u03b6z\u03f2c\u03f3j"
)
_PAIRS: Final = _CYRILLIC + _GREEK
LOOKALIKES: Final = dict(zip(_PAIRS[::2], _PAIRS[1::2], strict=True))
_SKELETON: Final = str.maketrans(LOOKALIKES)
LATIN: Final = "LATIN"
FOREIGN: Final = frozenset({"CYRILLIC", "GREEK"})
# One foreign letter alone is a symbol, such as the angle alpha.
MIN_LETTERS: Final = 2


def unmasked(words: Sequence[str]) -> list[str]:
    """Plain words as they look: one of two scripts is Latin, and so is one that only looks so."""
    # Whoever writes both languages has words that pass for nothing.
    is_latin = any(map(_has_latin, words)) and not any(map(_is_foreign, words))
    return [
        word.translate(_SKELETON) if _is_masked(word, among_latin=is_latin) else word
        for word in words
    ]


def has_lookalikes(words: Iterable[str]) -> bool:
    """Whether one of some plain words has letters that pass for Latin ones beside Latin ones."""
    found = list(words)
    return unmasked(found) != found


def _is_masked(word: str, *, among_latin: bool) -> bool:
    if word.isascii():
        return False
    letters = [it for it in word if it.isalpha()]
    if len(letters) < MIN_LETTERS or not any(it in LOOKALIKES for it in letters):
        return False
    return _has_latin(word) or (among_latin and all(it in LOOKALIKES for it in letters))


def _is_foreign(word: str) -> bool:
    """Whether a word is plainly Cyrillic or Greek."""
    if word.isascii() or _has_latin(word):
        return False
    letters = [it for it in word if it.isalpha()]
    return len(letters) >= MIN_LETTERS and any(
        _script(it) in FOREIGN and it not in LOOKALIKES for it in letters
    )


def _has_latin(word: str) -> bool:
    return any(_script(it) == LATIN for it in word if it.isalpha())


@lru_cache(maxsize=4096)
def _script(letter: str) -> str:
    return LATIN if letter.isascii() else unicodedata.name(letter, "").partition(" ")[0]
