"""Why a run memory or a learning reached a prompt or did not, in words."""

from collections.abc import Mapping, Sequence
from typing import Final

from understudy.learnings.visibility import WORDS as BLOCKER_WORDS
from understudy.retrieval.choice import MAX_ENTRIES
from understudy.retrieval.choice import LearningReason as LearnedReason
from understudy.retrieval.recovered import RunReason

WORDS: Final[Mapping[RunReason, str]] = {
    RunReason.BELOW_RELEVANCE_FLOOR: "it covers {coverage:.0%} of the input, and the policy wants"
    " at least {floor:.0%}",
    RunReason.OVER_ENTRY_LIMIT: "{limit} others fit better or are newer, and the policy lets no more through",
    RunReason.OVER_BUDGET: "it fits, but the prompt had no room left",
    RunReason.EXPIRED: "its time is over, or memory is switched off: it is removed when next met",
    RunReason.UNREADABLE: "it is missing, damaged or of another session",
}
MATCHED: Final = "it matches the input, and is among the {limit} best"
# Where nothing in the input is found in it.
FILLED_UP: Final = "nothing in the input matches it, but it is recent and there was room"
NEWEST: Final = "there is no input to compare with, and it is among the {limit} newest"
TOO_OLD: Final = "there is no input to compare with, and {limit} are newer"

# Why a learning is not told: the rules that forbid it, and what else there may be.
LEARNED_WORDS: Final[Mapping[str, str]] = {
    **{str(code): words for code, words in BLOCKER_WORDS.items()},
    LearnedReason.NO_MATCH: "no word of the input is in it",
    LearnedReason.OVERRIDDEN_BY_NARROWER_SCOPE: "a narrower scope says something else of the same"
    " subject",
    LearnedReason.OVER_ENTRY_LIMIT: f"{MAX_ENTRIES} others come before it, and a prompt is told of"
    " no more",
    LearnedReason.OVER_BUDGET: "it fits, but the prompt had no room left",
}
LEARNED_MATCHED: Final = "it matches the input"
LEARNED_BROWSED: Final = "nothing matches the input, but it asks for what is remembered"
LEARNED_FIRST: Final = "there is no input to compare with, and it comes early by scope and time"


def explanation(
    reason: str, *, score: float | None, coverage: float, limit: int, floor: float
) -> str:
    """A sentence for a reason; `score` is None where there was nothing to rank against."""
    words = _words(reason, score)
    return words.format(coverage=coverage, limit=limit, floor=floor)


def learned_explanation(reasons: Sequence[str], *, score: float | None) -> str:
    """A sentence for all that keeps a learning out, or for why it is told.

    `score` is None where there was nothing to rank against.
    """
    if reasons:
        # A report may be of another version of the daemon.
        return "; ".join(LEARNED_WORDS.get(reason, reason) for reason in reasons)
    if score is None:
        return LEARNED_FIRST
    return LEARNED_MATCHED if score > 0 else LEARNED_BROWSED


def _words(reason: str, score: float | None) -> str:
    if reason == RunReason.INCLUDED:
        return NEWEST if score is None else (MATCHED if score > 0 else FILLED_UP)
    if reason == RunReason.OVER_ENTRY_LIMIT and score is None:
        return TOO_OLD
    # A report may be of another version of the daemon.
    known = reason in set(RunReason)
    return WORDS[RunReason(reason)] if known else reason.replace("{", "{{").replace("}", "}}")
