"""Which of the skills on offer fit some words: BM25 over what they say of themselves."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from understudy.core.text import LATIN, UNSPACED
from understudy.skills.catalogue_entry import CatalogueEntry

K1: Final = 1.2
B: Final = 0.75
# Somebody who names a skill means it.
EXACT_SLUG: Final = 100.0
PART_OF_SLUG: Final = 25.0
# Of a longer query only the beginning is looked for.
MAX_QUERY_CHARS: Final = 2_000
_MAX_TOKEN_CHARS: Final = 64
_MAX_TEXT_CHARS: Final = 4_000
_RUN: Final = re.compile(rf"[{UNSPACED}]+|(?:(?![{UNSPACED}])[^\W_])+")
_FIRST_UNSPACED: Final = re.compile(rf"[{UNSPACED}]")


def rank(offered: Sequence[CatalogueEntry], query: str) -> tuple[CatalogueEntry, ...]:
    """Those that fit, best first; of equals the first by name."""
    asked = query[:MAX_QUERY_CHARS]
    terms = tuple(dict.fromkeys(tokens(asked)))
    counts = [_counted(_text(one)) for one in offered]
    scores = _bm25(terms, counts)
    total = [
        score + _slug_points(one.slug, asked) for one, score in zip(offered, scores, strict=True)
    ]
    fitting = [at for at, points in enumerate(total) if points > 0]
    fitting.sort(key=lambda at: (-total[at], at))
    return tuple(offered[at] for at in fitting)


def tokens(text: str) -> Iterator[str]:
    """Words in one case without their marks; of scripts without blanks each two neighbours."""
    for run in _RUN.findall(_folded(text)):
        if _FIRST_UNSPACED.match(run):
            yield from (run[at : at + 2] for at in range(max(1, len(run) - 1)))
        elif len(run) > 1:
            yield run[:_MAX_TOKEN_CHARS]


def _folded(text: str) -> str:
    lowered = unicodedata.normalize("NFKC", text).casefold().translate(LATIN)
    apart = unicodedata.normalize("NFD", lowered)
    bare = "".join(char for char in apart if unicodedata.category(char) != "Mn")
    return unicodedata.normalize("NFC", bare)


def _text(one: CatalogueEntry) -> str:
    return f"{one.name} {one.slug} {one.description} {one.when_to_use}"[:_MAX_TEXT_CHARS]


@lru_cache(maxsize=2_048)
def _counted(text: str) -> Counter[str]:
    return Counter(tokens(text))


def _bm25(terms: Sequence[str], counts: Sequence[Counter[str]]) -> list[float]:
    lengths = [each.total() for each in counts]
    average = sum(lengths) / len(lengths) if any(lengths) else 1.0
    scores = [0.0] * len(counts)
    for term in terms:
        having = [at for at, each in enumerate(counts) if term in each]
        rarity = math.log((len(counts) - len(having) + 0.5) / (len(having) + 0.5) + 1)
        for at in having:
            often = counts[at][term]
            norm = K1 * (1 - B + B * lengths[at] / average)
            scores[at] += rarity * often * (K1 + 1) / (often + norm)
    return scores


def _slug_points(slug: str, query: str) -> float:
    asked = "-".join(query.casefold().split())
    if slug == asked:
        return EXACT_SLUG
    is_part = len(asked) > 1 and asked in slug
    return PART_OF_SLUG if is_part or slug in query.casefold().split() else 0.0
