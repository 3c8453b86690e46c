"""Words that say how an agent is, not who: a sentence of these alone gives it no name, role or purpose.

What is not among them may be a trade or a task, so one such word is enough: `a friendly tax assistant`.
"""

import re
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Final

from understudy.evolution.identity.labels import WORDS

LANGUAGES: Final = ("english", "vietnamese", "chinese")
_EDGE: Final = r"(?:(?<![\w-])(?=\w)|(?<=\w)(?![\w-]))"


@dataclass(frozen=True, slots=True)
class _Manners:
    """The words of one language, each a pattern that finds any of them."""

    adjectives: re.Pattern[str]
    nouns: re.Pattern[str]
    trades: re.Pattern[str]
    any_of: re.Pattern[str]

    def are_all_of(self, said: str) -> bool:
        is_one = self.nouns.search(said) or (
            self.trades.search(said) and self.adjectives.search(said)
        )
        return bool(is_one) and not any(map(str.isalnum, self.any_of.sub(" ", said)))


@cache
def _manners(language: str) -> _Manners:
    # No edge of a word between hyphens: `tax-friendly`. Chinese has no edges of words at all.
    edge = "" if language == "chinese" else _EDGE

    def one_of(*groups: str) -> re.Pattern[str]:
        words = chain(*(WORDS(f"manners.{language}.{group}") for group in groups))
        # The longest first: some begin like others.
        ordered = sorted(words, key=len, reverse=True)
        return re.compile(f"{edge}(?:{'|'.join(map(re.escape, ordered))}){edge}")

    return _Manners(
        adjectives=one_of("adjectives"),
        nouns=one_of("nouns"),
        trades=one_of("trades"),
        any_of=one_of("adjectives", "nouns", "trades", "beside"),
    )


# Where a name ends, and what may follow it that is no part of it.
_NAME_ENDS: Final = re.compile(
    r"(?:\s*[,\uff0c]\s*(?:and |và )?|\s+(?:and|và)\s+|\s+[-\u2013]\s+|\s*\u2014\s*)"
)
_TONGUES: Final = "English|Vietnamese|Chinese|French|German|Spanish|Japanese|Korean"
_NAMES_ANOTHER: Final = re.compile(
    rf"\b(?!(?:I|{_TONGUES})\b)[A-Z]|\b(?:aka|alias|known|calls?|called|names?|named|nicknamed|myself|formerly|was|là|gọi|tên)\b|[叫称稱名号號是]"
)


@cache
def _speaks() -> re.Pattern[str]:
    """How a sentence goes on about the way an agent speaks."""
    adjectives = (*WORDS("manners.english.adjectives"), *WORDS("manners.vietnamese.adjectives"))
    spoken = (*adjectives, "always", "never", "very", "rất", "luôn")
    return re.compile(
        r"(?:(?:i|you|we|my|your|an?|the|tôi|bạn|mình)\b"
        rf"|(?:{'|'.join(map(re.escape, spoken))})(?![\w-])"
        r"|[我你您]?(?:说话|說話|语气|語氣|语言|語言|用|很|总是|總是|喜欢|喜歡|会|會))",
        re.IGNORECASE,
    )


def is_manner(said: str) -> bool:
    """Whether these words say how somebody is, and nothing else."""
    plain = said.casefold()
    return any(_manners(language).are_all_of(plain) for language in LANGUAGES)


def name_in(value: str) -> str:
    """A name without what a sentence goes on with behind it; all of it where that may be another."""
    end = _NAME_ENDS.search(value)
    if end is None:
        return value
    rest = value[end.end() :]
    is_end = _speaks().match(rest) is not None and _NAMES_ANOTHER.search(rest) is None
    return value[: end.start()] if is_end else value
