"""The intent of a user's message about an offer: accept, decline, request a skill, or none."""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cache
from itertools import chain, groupby
from operator import itemgetter
from typing import Final

from understudy.evolution.requests.grammar import SMILES
from understudy.evolution.requests.skill_requests import asks_for_skill
from understudy.evolution.visible_text import plain, word_line
from understudy.i18n.catalogue import phrases
from understudy.learnings.quotations import pasted
from understudy.patterns.word_lists import WordLists

MAX_CHARS: Final = 200
Words = tuple[str, ...]
# Phrases by their first word.
Choices = Mapping[str, tuple[Words, ...]]
_WORDS: Final = WordLists("understudy.evolution")
# Longer messages have no intent.
MAX_MESSAGE_CHARS: Final = 20_000


def words_to_answer(locale: str) -> dict[str, str]:
    """The phrases that people are told to reply with, by intent: the first of each list."""
    return {means: phrases(f"consent.{means}")[locale][0] for means in ("save", "skip")}


@cache
def words_around(*lists: str) -> tuple[str, ...]:
    """The words of some lists that may stand around an answer; smiles too around a yes."""
    smiles = SMILES if "agreeing" in lists else ()
    return (*chain(*(_WORDS(f"answers.{each}") for each in lists)), *smiles)


def is_accepting(text: str) -> bool:
    """Whether the whole message accepts an offer."""
    return _answers(text, _phrases("consent.save"), words_around("polite", "agreeing"))


def is_declining(text: str) -> bool:
    """Whether the whole message declines an offer."""
    return _answers(text, _phrases("consent.skip"), words_around("polite", "refusing"))


def is_bare_no(text: str) -> bool:
    """Whether the whole message is a no, to whatever was asked."""
    return _answers(text, _choices(_WORDS("answers.bare")), words_around("thanking", "bare"))


def _answers(text: str, said: Choices, around: tuple[str, ...]) -> bool:
    if len(text) > MAX_CHARS or _shows_something(text):
        return False
    line = plain(text)
    # A question is no answer.
    return "?" not in line and _is_said(tuple(word_line(line).split()), said, around)


def _shows_something(text: str) -> bool:
    """Whether it contains pasted text: a quotation, a page, code."""
    return bool(pasted(text)) or "```" in text


def _is_said(words: Words, said: Choices, around: tuple[str, ...]) -> bool:
    """Whether the words are one of the phrases, with any number of polite words around it."""
    polite = _choices((",", *around))
    # Each position is visited once, however the words before it are split.
    places = _reached(words, {0}, polite)
    answered = {end for start in places for end in _ends(words, start, said)}
    return len(words) in _reached(words, answered, polite)


def _reached(words: Words, places: set[int], choices: Choices) -> set[int]:
    reached = {*places}
    while places:
        places = {end for start in places for end in _ends(words, start, choices)} - reached
        reached |= places
    return reached


def _ends(words: Words, start: int, choices: Choices) -> Iterator[int]:
    first = words[start] if start < len(words) else ""
    for choice in choices.get(first, ()):
        if words[start : start + len(choice)] == choice:
            yield start + len(choice)


@cache
def _choices(said: tuple[str, ...]) -> Choices:
    return _by_first({*map(words_of, said)})


@cache
def _phrases(key: str) -> Choices:
    return _by_first({words_of(said) for spoken in phrases(key).values() for said in spoken})


def _by_first(choices: Iterable[Words]) -> Choices:
    ordered = sorted(choices)
    return {first: tuple(group) for first, group in groupby(ordered, key=itemgetter(0))}


def words_of(choice: str) -> Words:
    """The words of a phrase, with the comma at its end."""
    comma = (",",) if choice.endswith(",") else ()
    return (*word_line(plain(choice)).split(), *comma)


class MessageIntent(StrEnum):
    """The intent of a message about a skill."""

    ACCEPT = "accept"
    DECLINE = "decline"
    REQUEST = "request"


# The first that applies is the intent.
READINGS: Final = (
    (MessageIntent.ACCEPT, is_accepting),
    (MessageIntent.DECLINE, is_declining),
    (MessageIntent.REQUEST, asks_for_skill),
)


def intent_of(text: str) -> MessageIntent | None:
    """The intent of a message in any supported language; None where it is not certain."""
    if len(text) > MAX_MESSAGE_CHARS:
        return None
    return next((meaning for meaning, applies in READINGS if applies(text)), None)
