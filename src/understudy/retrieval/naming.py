"""Whom statements are about: the name that many of them begin with."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from understudy.retrieval.terms import terms_of
from understudy.retrieval.vocabulary import general_weight

# So many must begin with it: a name that is everywhere says little by itself, and more by its place.
LEAST_SHARED: Final = 8
# Words of everyday use are no names, even where a sentence begins with them.
LEAST_RARE: Final = 3.0
# A longer text is about more than what it begins with.
MOST_CHARS: Final = 500
# One whole word, so that its terms are those of the text; of a script with capitals.
_FIRST: Final = re.compile(r"\W*(?:(?:The|A|An|My|Our)\s+)?([^\W\d_]+)(?=['’]s\b|[:,]?(?:\s|\Z))")


def names_of(texts: Sequence[str]) -> list[str | None]:
    """For each text the name that it begins with, if enough of them do."""
    first = [_first_name(text) for text in texts]
    shared = Counter(first)
    return [name if shared[name] >= LEAST_SHARED else None for name in first]


def _first_name(text: str) -> str | None:
    found = _FIRST.match(text)
    if found is None or len(text) > MOST_CHARS:
        return None
    word = found[1]
    is_capital = word[0].isupper() and all(each.lower() != each.upper() for each in word)
    is_rare = is_capital and any(general_weight(term) >= LEAST_RARE for term in terms_of(word))
    return word if is_rare else None
