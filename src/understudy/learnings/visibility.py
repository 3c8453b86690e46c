"""Visibility: the table of rules that keep a learning out of searches and prompts."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from understudy.learnings.model import (
    SEMANTIC_KINDS,
    Learning,
    LearningStatus,
    PolicyDecision,
    Sensitivity,
    Tier,
    Verification,
)
from understudy.sessions.learning_scopes import LearningScope

if TYPE_CHECKING:
    from understudy.storage.learnings import LearningStore

_UNSETTLED: Final = frozenset({Verification.UNVERIFIED, Verification.PENDING})
_PROMPT: Final = "prompt"
# At the epoch nothing is expired; expiry is judged when a learning is read.
_ALWAYS: Final = 0


class Blocker(StrEnum):
    """The code of a rule that keeps a learning out."""

    KIND_NOT_TOLD = "kind_not_told"
    REVOKED = "revoked"
    SUPERSEDED = "superseded"
    REPLACED = "replaced"
    EXPIRED = "expired"
    SENSITIVE = "sensitive"
    PROVISIONAL = "provisional"
    VERIFICATION_FAILED = "verification_failed"
    AUTOMATIC_UNVERIFIED = "automatic_unverified"
    ESCALATED = "escalated"


@dataclass(frozen=True, slots=True)
class Moment:
    """The circumstances that a rule sees besides the learning."""

    now_ms: int
    # Whether a live, unexpired learning names this one in `supersedes`.
    is_replaced: bool = False


@dataclass(frozen=True, slots=True)
class VisibilityRule:
    """A rule that keeps a learning out."""

    code: Blocker
    words: str
    blocks: Callable[[Learning, Moment], bool]


# They keep a learning out of searches, too.
SEARCH_RULES: Final = (
    VisibilityRule(
        Blocker.REVOKED, "it was revoked", lambda it, _: it.status is LearningStatus.REVOKED
    ),
    VisibilityRule(
        Blocker.SUPERSEDED,
        "another learning has taken its place",
        lambda it, _: it.status is LearningStatus.SUPERSEDED,
    ),
    VisibilityRule(
        Blocker.REPLACED,
        "a live learning says that it supersedes this one",
        lambda _, at: at.is_replaced,
    ),
    VisibilityRule(Blocker.EXPIRED, "its time is over", lambda it, at: it.is_expired(at.now_ms)),
    VisibilityRule(
        Blocker.VERIFICATION_FAILED,
        "what it says was not found in what its source run said",
        lambda it, _: it.verification_status is Verification.FAILED,
    ),
    VisibilityRule(
        Blocker.SENSITIVE,
        "it is marked as sensitive",
        lambda it, _: it.sensitivity is Sensitivity.SENSITIVE,
    ),
)
RULES: Final = (
    *SEARCH_RULES,
    VisibilityRule(
        Blocker.KIND_NOT_TOLD,
        "only facts, preferences and decisions are told to models",
        lambda it, _: it.kind not in SEMANTIC_KINDS,
    ),
    VisibilityRule(
        Blocker.PROVISIONAL,
        "it is provisional, and only active learnings are told to models",
        lambda it, _: it.status is LearningStatus.PROVISIONAL or it.publish_tier is not Tier.ACTIVE,
    ),
    VisibilityRule(
        Blocker.AUTOMATIC_UNVERIFIED,
        "the daemon published it by itself and has not verified it",
        lambda it, _: (
            it.policy_decision is PolicyDecision.AUTOMATIC and it.verification_status in _UNSETTLED
        ),
    ),
    VisibilityRule(
        Blocker.ESCALATED,
        "its publication was handed to a person",
        lambda it, _: it.policy_decision is PolicyDecision.ESCALATED,
    ),
)
WORDS: Final = {rule.code: rule.words for rule in RULES}


def prompt_blockers(
    learning: Learning, *, now_ms: int, is_replaced: bool = False
) -> tuple[Blocker, ...]:
    """The rules that keep a learning out of prompts; empty means it may be injected."""
    at = Moment(now_ms, is_replaced)
    return tuple(rule.code for rule in RULES if rule.blocks(learning, at))


def search_blockers(
    learning: Learning, *, now_ms: int, is_replaced: bool = False
) -> tuple[Blocker, ...]:
    """The rules that keep a learning out of searches; empty means it may be found."""
    at = Moment(now_ms, is_replaced)
    return tuple(rule.code for rule in SEARCH_RULES if rule.blocks(learning, at))


def replaced_ids(
    store: "LearningStore", learnings: Iterable[Learning], *, now_ms: int
) -> frozenset[str]:
    """The ids of learnings that a live, unexpired learning names in `supersedes`."""
    found = store.replacing([learning.learning_id for learning in learnings])
    return frozenset(old for old, new in found.items() if not new.is_expired(now_ms))


def prompt_visible(
    store: "LearningStore", learnings: Iterable[Learning], *, now_ms: int
) -> tuple[Learning, ...]:
    """The learnings that may be injected, in the same order."""
    plain = [it for it in learnings if not prompt_blockers(it, now_ms=now_ms)]
    replaced = replaced_ids(store, plain, now_ms=now_ms) if plain else frozenset()
    return tuple(it for it in plain if it.learning_id not in replaced)


def prompt_key(scope: LearningScope) -> str:
    """The index key for the prompt-visible learnings of a scope."""
    return f"{_PROMPT}:{scope.key}"


def talk_key(scope: LearningScope, session_id: str) -> str:
    """The index key for the prompt-visible learnings of a scope from one session."""
    return f"{prompt_key(scope)}:{session_id}"


def index_scopes(learning: Learning) -> tuple[str, ...]:
    """The index keys of a learning; none if it may not be found.

    The index only preselects: a learning that is read is judged again by the same table.
    """
    if search_blockers(learning, now_ms=_ALWAYS):
        return ()
    if prompt_blockers(learning, now_ms=_ALWAYS):
        return (learning.scope.key,)
    talk = learning.source.session_id
    return (
        learning.scope.key,
        prompt_key(learning.scope),
        *([] if talk is None else [talk_key(learning.scope, talk)]),
    )
