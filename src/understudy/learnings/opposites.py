"""Opposites: words that deny another, and words that exclude each other."""

import re
from collections.abc import Sequence
from functools import cache

from understudy.learnings.clause_words import LISTS, MAX_PHRASE, has_han
from understudy.learnings.equations import singular


def opposed(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two phrases differ only in a pair of opposites."""
    left = " ".join(it for it in one if it not in other)
    right = " ".join(it for it in other if it not in one)
    return _are_opposite(left, right) or _are_opposite(" ".join(one), " ".join(other))


def affirmed(words: tuple[str, ...], *, denied: bool) -> tuple[tuple[str, ...], bool]:
    """The words with a word such as `forbidden` as the denial of `allowed`."""
    for size in range(min(len(words), MAX_PHRASE), 0, -1):
        for at in range(len(words) - size + 1):
            said = " ".join(words[at : at + size])
            meant = contradictories().get(said) or synonyms().get(said)
            if meant:
                is_opposite = said in contradictories()
                return (*words[:at], meant, *words[at + size :]), denied != is_opposite
    return words, denied


@cache
def contradictories() -> dict[str, str]:
    """What each word denies, by the word."""
    found: dict[str, str] = {}
    for pair in LISTS("opposites.contradictory"):
        affirming, _, denying = pair.partition(":")
        found.setdefault(denying, affirming)
    return found


@cache
def synonyms() -> dict[str, str]:
    """One word for those that the same word denies."""
    pairs = (it.split(":") for it in LISTS("opposites.contradictory"))
    return {affirming: contradictories()[denying] for affirming, denying in pairs}


def masked(text: str) -> str:
    """A text with a mark in place of each word that has an opposite."""
    words = ("~" if it in contraries() else it for it in text.split())
    return _han_contraries().sub("~", " ".join(words))


@cache
def _han_contraries() -> re.Pattern[str]:
    words = [it for it in contraries() if has_han(it) and len(it) > 1]
    return re.compile("|".join(sorted(words, key=len, reverse=True)))


def _are_opposite(one: str, other: str) -> bool:
    """Whether two words, or two Chinese phrases, differ in a pair of opposites."""
    if other in contraries().get(one, ()):
        return True
    found = _han_contraries().search(one) if has_han(one) else None
    if found is None:
        return False
    return any(one.replace(found[0], it, 1) == other for it in contraries()[found[0]])


@cache
def contraries() -> dict[str, frozenset[str]]:
    """The opposites of each word."""
    found: dict[str, set[str]] = {}
    for pair in LISTS("opposites.contrary"):
        one, _, other = pair.partition(":")
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
        found.setdefault(singular(one), set()).add(singular(other))
        found.setdefault(singular(other), set()).add(singular(one))
    return {word: frozenset(others) for word, others in found.items()}
