"""The normal form of statements: one spelling, one set of words, look-alike letters unmasked."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

# Han and kana for character classes: scripts without blanks between words.
HAN_AND_KANA: Final = "\u3005\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
_BETWEEN_HAN_AND_KANA: Final = re.compile(rf"(?<=[{HAN_AND_KANA}]) (?=[{HAN_AND_KANA}])")
_ENDS: Final = " .;,:!?\u2026\u3002\u3001"
# Negations in one form: the negation follows the verb, so that it is part of the value.
_DENIALS: Final = (
    (re.compile(r"\b(is|are)n['\u2019]t\b"), r"\1 not"),
    (re.compile(r"\bn['\u2019]est\b"), "est"),
    (re.compile(r"\bne sont\b"), "sont"),
    (re.compile(r"\b(?:không|chẳng)(?: phải)? là\b"), "là không"),
    (re.compile(r"(?<!是)不是"), "是不"),
)
_COMPARISONS: Final = ((">=", "≥"), ("<=", "≤"), ("!=", "≠"))
# Signs that change the meaning of a word or a number: C++, -5, < 5, 50 %, $5.
_MONEY: Final = "$€£¥₫"
_UNITS: Final = "%°" + _MONEY
_COMPARING: Final = "<>≤≥≠"
_SIGNS: Final = frozenset("+#-" + _UNITS + _COMPARING)
_APART: Final = re.compile(rf"(?<=[{_MONEY}]) (?=\d)|(?<=\d) (?=[{_UNITS}])")
_WORD: Final = re.compile(
    rf"[{HAN_AND_KANA}]+"
    rf"|(?:(?<!\S)-(?=[\d{_MONEY}]))?(?:[{_MONEY}](?=\d))?[^\s+#{_UNITS}{_COMPARING}{HAN_AND_KANA}-]+"
    rf"(?:[+#]{{1,2}}(?!\S)|(?<=\d)[{_UNITS}])?"
    rf"|[{_COMPARING}](?=\s?[-{_MONEY}]?\d)|(?<=\s)[{_COMPARING}](?=\s)"
)
# Joints of versions, dates, hosts, paths and addresses; a hyphen joins only within one.
_JOINTS: Final = "./:@-"
# Noncharacters, which no text contains.
_HIDDEN: Final = "\ufdd0\ufdd1\ufdd2\ufdd3\ufdd4"
_TO_HIDDEN: Final = str.maketrans(_JOINTS, _HIDDEN)
_FROM_HIDDEN: Final = str.maketrans(_HIDDEN, _JOINTS)
_PART: Final = rf"[^\W{HAN_AND_KANA}]"
_NAME: Final = rf"{_PART}+(?:-{_PART}+)*+"
_JOINED: Final = re.compile(
    rf"(?:(?<!\S)/)?(?<!{_PART})(?<!{_PART}-){_NAME}(?:[./:@]{{1,3}}{_NAME})++|(?<!\S)/{_NAME}|\d+(?:-\d+)++"
)
# Small Cyrillic and Greek letters, each followed by the Latin letter that it looks like.
# Without letters of units and formulas, such as mu and pi.
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


def plain(text: str) -> str:
    """The text on one line in lower case, with one form for each character and negation."""
    # No blank follows a full-width colon.
    one_form = unicodedata.normalize("NFKC", text.replace("\uff1a", ": ")).casefold()
    line = " ".join(unicodedata.normalize("NFKC", one_form).split()).strip(_ENDS)
    line = _APART.sub("", _BETWEEN_HAN_AND_KANA.sub("", line))
    for said, meant in _COMPARISONS:
        line = line.replace(said, meant)
    for denial, meant in _DENIALS:
        line = denial.sub(meant, line)
    return line


def exact_words(line: str) -> list[str]:
    """The words of a line; numbers, hosts, paths and addresses stay whole."""
    hidden = _JOINED.sub(lambda joined: joined[0].translate(_TO_HIDDEN), line)
    return [word.translate(_FROM_HIDDEN) for word in words(hidden)]


def words(line: str) -> list[str]:
    """The words of a plain text, without punctuation; its symbols where there are none."""
    found = _WORD.findall("".join(_spaced(character) for character in line))
    return found or [it for it in line if unicodedata.category(it) == "So"]


@lru_cache(maxsize=4096)
def _spaced(character: str) -> str:
    # Vowels of many scripts are combining marks, which tell words apart.
    is_mark = unicodedata.category(character).startswith("M")
    is_kept = character.isalnum() or is_mark or character in _SIGNS or character in _HIDDEN
    return character if is_kept else " "


def unmasked(words: Sequence[str]) -> list[str]:
    """The words with look-alike letters replaced by Latin ones, where a word passes for Latin."""
    # A text with real Cyrillic or Greek words is in two languages, and is left alone.
    is_latin = any(map(_has_latin, words)) and not any(map(_is_foreign, words))
    return [
        word.translate(_SKELETON) if _is_masked(word, among_latin=is_latin) else word
        for word in words
    ]


def has_lookalikes(words: Iterable[str]) -> bool:
    """Whether a word mixes Latin letters with look-alikes of another script."""
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
