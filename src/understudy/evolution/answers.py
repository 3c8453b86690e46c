"""The intent of a user's message about a skill: accept an offer, decline it, request a skill, or none."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache, lru_cache
from itertools import chain, groupby
from operator import itemgetter
from typing import Final

from understudy.evolution.visible_text import plain, word_line
from understudy.i18n.catalogue import phrases
from understudy.learnings.quotations import pasted
from understudy.patterns.word_lists import WordLists

MAX_CHARS: Final = 200
LANGUAGES: Final = ("english", "vietnamese", "chinese")
Words = tuple[str, ...]
# Phrases by their first word.
Choices = Mapping[str, tuple[Words, ...]]
_WORDS: Final = WordLists("understudy.evolution")
# Longer messages have no intent.
MAX_MESSAGE_CHARS: Final = 20_000


class MessageIntent(StrEnum):
    """The intent of a message about a skill."""

    ACCEPT = "accept"
    DECLINE = "decline"
    REQUEST = "request"


# The phrases of each intent, and the lists of words that may stand around them.
_SAID: Final = (
    (MessageIntent.ACCEPT, "consent.save", ("polite", "agreeing")),
    (MessageIntent.DECLINE, "consent.skip", ("polite", "refusing")),
    (MessageIntent.REQUEST, "consent.make", ("polite", "agreeing")),
)


def intent_of(text: str) -> MessageIntent | None:
    """The intent of a message in any supported language; None where it is not certain."""
    for intent, key, around in _SAID:
        # People copy the phrases that they are told to reply with, quotes included.
        may_be_shown = intent is not MessageIntent.REQUEST
        if consists_of(text, spoken(key), around=around, may_be_shown=may_be_shown):
            return intent
    return None


def is_bare_no(text: str) -> bool:
    """Whether the whole message is a no, to whatever was asked."""
    return consists_of(text, listed("bare"), around=("thanking",), may_be_shown=True)


def words_to_answer(locale: str) -> dict[str, str]:
    """The phrases that people are told to reply with, by intent: the first of each list."""
    return {means: phrases(f"consent.{means}")[locale][0] for means in ("save", "skip")}


@cache
def listed(*names: str) -> tuple[str, ...]:
    """The phrases of some lists in every language."""
    return (*chain(*(_WORDS(f"{name}.{language}") for name in names for language in LANGUAGES)),)


@cache
def spoken(key: str) -> tuple[str, ...]:
    """The phrases of a text of the catalogues in every language."""
    return (*chain(*phrases(key).values()),)


def consists_of(
    text: str,
    *needed: tuple[str, ...],
    around: tuple[str, ...],
    may_be_shown: bool = False,
    may_go_on: bool = False,
) -> bool:
    """Whether a short message is made of listed phrases alone, with one of each list in `needed`.

    `around` names the lists of other words that may occur. A question or a pasted text never counts; a
    text that begins with a sign, as a quotation or a list item does, only if it `may_be_shown`. If it
    `may_go_on`, only the beginning counts.
    """
    beginning = text[:MAX_CHARS]
    if (len(text) > MAX_CHARS and not may_go_on) or pasted(beginning) or "```" in beginning:
        return False
    line = plain(beginning)
    if "?" in line or not (may_be_shown or line.strip()[:1].isalnum()):
        return False
    words = tuple(word_line(line).split())
    length = _covered(words, _choices((",", *listed(*around), *chain(*needed))))
    is_all = may_go_on or length == len(words)
    return is_all and all(_has_one(words[:length], _choices(one)) for one in needed)


def _covered(words: Words, choices: Choices) -> int:
    """How many words at the beginning are made of the choices."""
    # Each position is visited once, however the words before it are split.
    reached = places = {0}
    while places:
        places = {end for start in places for end in _ends(words, start, choices)} - reached
        reached = reached | places
    return max(reached)


def _has_one(words: Words, choices: Choices) -> bool:
    return any(True for start in range(len(words)) for _ in _ends(words, start, choices))


def _ends(words: Words, start: int, choices: Choices) -> Iterator[int]:
    first = words[start] if start < len(words) else ""
    for choice in choices.get(first, ()):
        if words[start : start + len(choice)] == choice:
            yield start + len(choice)


# Some lists contain the name of a skill.
@lru_cache(maxsize=128)
def _choices(said: tuple[str, ...]) -> Choices:
    ordered = sorted({*map(words_of, said)} - {()})
    return {first: tuple(group) for first, group in groupby(ordered, key=itemgetter(0))}


def words_of(phrase: str) -> Words:
    """The words of a phrase, with the comma at its end."""
    comma = (",",) if phrase.endswith(",") else ()
    return (*word_line(plain(phrase)).split(), *comma)
