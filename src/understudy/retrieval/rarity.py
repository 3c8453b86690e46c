"""Which terms of a question are looked up: the rarest first, while their postings can be afforded."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from understudy.retrieval.documents import TermStatistics

# Up to so many entries in scope, scoring all of them is quicker than looking terms up.
SCAN_LIMIT: Final = 300
# How many postings one question may read; a term that is everywhere tells little anyway.
POSTINGS_BUDGET: Final = 50_000
# Counts up to here are made for every question; larger ones hardly change within `COUNT_AGE_S`.
EXACT_COUNT: Final = 1_000
COUNT_AGE_S: Final = 60.0
# Weights are whole numbers, so that their sum does not depend on the order of adding.
WEIGHT_UNIT: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """A term to look up, and what it is worth in an entry that holds it."""

    term: str
    weight: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PostingsPlan:
    """The terms whose postings are read whole, or the one that is too common for that."""

    whole: tuple[Lookup, ...] = ()
    # Only where even the rarest term is beyond the budget: its newest entries must do.
    too_common: str | None = None


def plan(
    terms: Sequence[str],
    statistics: TermStatistics,
    *,
    in_scope: int,
    budget: int = POSTINGS_BUDGET,
) -> PostingsPlan:
    """Take the rarest terms while the postings they have in scope fit into the budget."""
    held = [(statistics.frequency(term), term) for term in dict.fromkeys(terms)]
    rarest = sorted((count, term) for count, term in held if count)
    if not rarest:
        return PostingsPlan()
    chosen: list[Lookup] = []
    for frequency, term in rarest:
        budget -= min(frequency, in_scope)
        if budget < 0:
            break
        chosen.append(Lookup(term=term, weight=weight(frequency, statistics.documents)))
    return PostingsPlan(whole=tuple(chosen)) if chosen else PostingsPlan(too_common=rarest[0][1])


def weight(frequency: int, documents: int) -> int:
    """What a term is worth by its rarity."""
    return round(WEIGHT_UNIT * math.log1p(documents / frequency))
