"""Putting another learning in the place of one."""

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from understudy.core.errors import coded_error
from understudy.core.ids import new_id
from understudy.core.principal import Principal
from understudy.learnings.checks import (
    check_confidence,
    check_content,
    check_expiry,
    check_learning,
)
from understudy.learnings.conflicts import conflict_with, contradictions, duplicate_of
from understudy.learnings.decisions import OPERATOR
from understudy.learnings.events import What, of_learning, tell
from understudy.learnings.keys import key_of
from understudy.learnings.listeners import Listeners
from understudy.learnings.model import (
    LIVE,
    Kind,
    Learning,
    LearningStatus,
    PolicyDecision,
    Sensitivity,
    Verification,
)
from understudy.learnings.publish_changes import given_or
from understudy.learnings.refusals import (
    learning_not_live_error,
)
from understudy.learnings.retirement import Retirement, require_learning
from understudy.sessions.learning_scopes import LearningScope

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """What is to be known instead; what is None stays as it was."""

    content: str
    scope: LearningScope | None = None
    kind: Kind | None = None
    sensitivity: Sensitivity | None = None
    confidence: int | None = None
    expires_at_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SupersedingLearning:
    """The learning that took the place of another, now or before."""

    learning: Learning
    contradicts: tuple[Learning, ...] = ()
    is_new: bool = True


def check_replacement(wanted: Replacement) -> Replacement:
    """What can be told without looking at the learning; answers it trimmed."""
    if wanted.kind is Kind.RUN_SUMMARY:
        raise coded_error("learnings/run_summary_is_daemon_owned", pointer="/kind")
    if wanted.confidence is not None:
        check_confidence(wanted.confidence)
    check_expiry(wanted.expires_at_ms)
    # A person wrote it, so it is checked whatever it replaces.
    return replace(wanted, content=check_content(wanted.content, wanted.kind or Kind.FACT))


def supersede(
    unit: "Unit",
    learning_id: str,
    wanted: Replacement,
    *,
    by: Principal,
    now_ms: int,
    listeners: Listeners,
) -> SupersedingLearning:
    """Replace a learning; one that was replaced before answers what took its place."""
    unit.learnings.hold(require_learning(unit, learning_id).scope)
    target = require_learning(unit, learning_id, lock=True)
    ending = Retirement(unit=unit, by=by, now_ms=now_ms, listeners=listeners)
    there = unit.learnings.replacing([learning_id]).get(learning_id)
    if there is not None:
        if target.status in LIVE:
            tell(unit, ending.supersede(target, there.learning_id), at_ms=now_ms)
        return _answer(unit, there, now_ms=now_ms, is_new=False)
    if target.status not in LIVE:
        raise learning_not_live_error(target)
    if wanted.scope not in (None, target.scope):
        raise coded_error(
            "learnings/supersede_scope_mismatch",
            learning_id=target.learning_id,
            scope=target.scope.key,
        )
    learning = _replacing(target, wanted, now_ms=now_ms)
    _require_room(unit, learning, now_ms=now_ms)
    unit.learnings.add(learning)
    told = ending.supersede(target, learning.learning_id)
    unit.after_commit(partial(listeners.observer.learning_published, PolicyDecision.MANUAL))
    answer = _answer(unit, learning, now_ms=now_ms, is_new=True)
    tell(unit, (of_learning(What.LEARNING_PUBLISHED, learning), *told), at_ms=now_ms)
    return answer


def _require_room(unit: "Unit", learning: Learning, *, now_ms: int) -> None:
    """Raise when a third learning says the same, or something else of the same subject."""
    same = duplicate_of(unit, learning, now_ms=now_ms)
    if same is not None and same.learning_id != learning.supersedes:
        raise coded_error("learnings/learning_duplicate", learning_id=same.learning_id)
    other = conflict_with(unit, learning, now_ms=now_ms, supersedes=learning.supersedes)
    if other is not None:
        raise coded_error("learnings/learning_conflict", learning_id=other.learning_id)


def _answer(unit: "Unit", learning: Learning, *, now_ms: int, is_new: bool) -> SupersedingLearning:
    found = contradictions(unit, learning, now_ms=now_ms, supersedes=learning.supersedes)
    return SupersedingLearning(learning=learning, contradicts=found, is_new=is_new)


def _replacing(target: Learning, wanted: Replacement, *, now_ms: int) -> Learning:
    key = key_of(wanted.content)
    learning = Learning(
        learning_id=new_id("lrn"),
        scope=target.scope,
        kind=wanted.kind or target.kind,
        content=wanted.content,
        semantic_key=key.semantic,
        subject_key=key.subject,
        created_at_ms=target.created_at_ms,
        published_at_ms=now_ms,
        status=LearningStatus.ACTIVE,
        sensitivity=wanted.sensitivity or target.sensitivity,
        confidence=given_or(wanted.confidence, target.confidence),
        source=target.source,
        evidence_refs=target.evidence_refs,
        expires_at_ms=given_or(wanted.expires_at_ms, target.expires_at_ms),
        policy_decision=PolicyDecision.MANUAL,
        policy_actor=OPERATOR,
        # Nobody has looked for the new words anywhere.
        verification_status=Verification.UNVERIFIED,
        derived_from_untrusted=target.derived_from_untrusted,
        supersedes=target.learning_id,
    )
    check_learning(learning)
    return learning
