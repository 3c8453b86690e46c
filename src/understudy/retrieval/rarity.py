"""The plan of index lookups: the rarest terms first, within a budget of postings."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from understudy.retrieval.documents import TermStatistics

# Up to so many entries in scope, ranking all is quicker than index lookups.
SCAN_LIMIT: Final = 300
# The most postings that one question reads; very common terms are skipped.
POSTINGS_BUDGET: Final = 50_000
# Counts up to this are exact; larger ones are cached for `COUNT_AGE_S`.
EXACT_COUNT: Final = 1_000
COUNT_AGE_S: Final = 60.0
# Weights are integers, so that sums do not depend on the order of addition.
WEIGHT_UNIT: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """A term to look up, and its weight."""

    term: str
    weight: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PostingsPlan:
    """The terms whose postings are read, or one that is too common."""

    whole: tuple[Lookup, ...] = ()
    # Set if even the rarest term exceeds the budget: only its newest entries are read.
    too_common: str | None = None


def plan(
    terms: Sequence[str],
    statistics: TermStatistics,
    *,
    in_scope: int,
    budget: int = POSTINGS_BUDGET,
) -> PostingsPlan:
    """Plan the rarest terms whose postings fit into the budget."""
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
    """The weight of a term by its rarity."""
    return round(WEIGHT_UNIT * math.log1p(documents / frequency))
