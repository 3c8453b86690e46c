"""The phrases of `labels.toml`, and where a text begins with one or contains one."""

import re
from collections.abc import Iterable
from functools import cache
from typing import Final

from understudy.learnings.normal_form import HAN_AND_KANA
from understudy.patterns.word_lists import WordLists

WORDS: Final = WordLists("understudy.learnings", "labels.toml")
LANGUAGES: Final = ("en", "vi", "zh")
# How much of a text is read for its first words, before a label for its clause.
MAX_LEAD_CHARS: Final = 240
HAN: Final = re.compile(f"[{HAN_AND_KANA}]")
_HAN_OR_WORD: Final = re.compile(
    rf"[{HAN_AND_KANA}]|[^\W{HAN_AND_KANA}]+(?:['’/.-][^\W{HAN_AND_KANA}]+)*+"
)


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, and each sign of a script without blanks."""
    return _HAN_OR_WORD.findall(text.casefold())


def finds(name: str, text: str) -> bool:
    """Whether a text contains a phrase of a list."""
    return phrases(name).search(text.casefold()) is not None


def begins(name: str, text: str) -> bool:
    """Whether a text begins with a phrase of a list."""
    return phrases(name).match(text[:MAX_LEAD_CHARS].casefold()) is not None


@cache
def phrases(name: str) -> re.Pattern[str]:
    """A list of phrases as a pattern; those in Chinese are found anywhere, others as whole words."""
    return re.compile(any_of(WORDS(name)))


def any_of(words: Iterable[str]) -> str:
    """Phrases as the text of a pattern, the longest first."""
    longest_first = sorted(words, key=len, reverse=True)
    spaced = "|".join(re.escape(it) for it in longest_first if not HAN.match(it))
    unspaced = [re.escape(it) for it in longest_first if HAN.match(it)]
    words_alone = rf"(?<!\w)(?:{spaced})(?![\w])"
    return f"(?:{'|'.join([words_alone, *unspaced])})"
