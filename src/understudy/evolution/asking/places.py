"""Where in a line a request may begin and end: behind its leads, and before its polite words.

Every place is looked at once, however the words before it may be split, so nothing is tried twice.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from understudy.evolution.asking.grammar import Grammar

# Nobody says more of them before a wish, or behind it.
MAX_WORDS: Final = 6


def beginnings(line: str, grammar: Grammar) -> list[int]:
    """The places behind any leads, the furthest first."""
    reached = _reached({0}, lambda start: _behind(line, grammar, start))
    return sorted(reached, reverse=True)


def endings(line: str, grammar: Grammar, end: int) -> list[int]:
    """The places before any polite words that come before an end, the furthest from it first."""
    return sorted(
        _reached({end}, lambda place: places_before(line, grammar, place, grammar.polite))
    )


def places_before(line: str, grammar: Grammar, end: int, choices: Iterable[str]) -> Iterator[int]:
    """Where a line would end without one of these at its end, and without what sets it off."""
    for choice in choices:
        if not line.endswith(f"{grammar.blank}{choice}", 0, end):
            continue
        start = end - len(choice) - len(grammar.blank)
        comma = f"{grammar.blank},"
        yield start - len(comma) if line.endswith(comma, 0, start) else start


def _behind(line: str, grammar: Grammar, start: int) -> Iterator[int]:
    comma = f"{grammar.blank},"
    for lead in grammar.leads:
        if not line.startswith(lead, start):
            continue
        end = start + len(lead)
        end += len(comma) if line.startswith(comma, end) else 0
        if line.startswith(grammar.blank, end):
            yield end + len(grammar.blank)


def _reached(places: set[int], onward: Callable[[int], Iterator[int]]) -> set[int]:
    reached = {*places}
    for _ in range(MAX_WORDS):
        places = {further for place in places for further in onward(place)} - reached
        reached |= places
    return reached
