"""Doing what was decided about a candidate, in the unit that holds it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from understudy.core import audit
from understudy.core.principal import DAEMON
from understudy.learnings.decisions import by_policy, reject
from understudy.learnings.events import What, of_candidate, tell
from understudy.learnings.listeners import Listeners
from understudy.learnings.model import (
    CANDIDATE,
    AutomationReview,
    Candidate,
    CandidateState,
    ReviewAction,
    Tier,
)
from understudy.learnings.publication import publish
from understudy.learnings.publish_changes import Wanted
from understudy.review.decision import ReviewDecision

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """One decision, and whatever it takes to carry it out; the last thing a unit does."""

    unit: "Unit"
    candidate: Candidate
    decision: ReviewDecision
    review: AutomationReview
    now_ms: int
    listeners: Listeners


def apply(act: Application) -> None:
    """Publish, reject or escalate, and keep the review with the candidate."""
    _ACTS[act.decision.action](act)


def note(unit: "Unit", candidate: Candidate, review: AutomationReview) -> None:
    """Keep the review with a candidate that stays as it is."""
    noted = replace(candidate, automation_review=review, version=candidate.version + 1)
    unit.candidates.update(noted, expected_version=candidate.version)


def escalate(unit: "Unit", candidate: Candidate, review: AutomationReview, *, now_ms: int) -> None:
    """Leave the decision to a person."""
    CANDIDATE.check(candidate.state, CandidateState.ESCALATED)
    escalated = replace(
        candidate,
        state=CandidateState.ESCALATED,
        automation_review=review,
        version=candidate.version + 1,
    )
    unit.candidates.update(escalated, expected_version=candidate.version)
    entry = audit.done(
        DAEMON,
        "learning_candidates.escalate",
        candidate.candidate_id,
        at_ms=now_ms,
        version=escalated.version,
    )
    unit.audit.add(entry)
    tell(unit, (of_candidate(What.CANDIDATE_ESCALATED, escalated),), at_ms=now_ms)


def _escalate(act: Application) -> None:
    escalate(act.unit, act.candidate, act.review, now_ms=act.now_ms)


def _reject(act: Application) -> None:
    reject(
        act.unit,
        act.candidate.candidate_id,
        by=by_policy(act.review),
        now_ms=act.now_ms,
        reason=act.review.reason,
    )


def _publish(act: Application) -> None:
    publish(
        act.unit,
        act.candidate.candidate_id,
        Wanted(publish_tier=_TIERS[act.decision.action], expires_at_ms=act.decision.expires_at_ms),
        by=by_policy(act.review, verification=act.decision.verification),
        now_ms=act.now_ms,
        listeners=act.listeners,
    )


_TIERS: Final = {
    ReviewAction.PUBLISH_PROVISIONAL: Tier.PROVISIONAL,
    ReviewAction.PUBLISH_ACTIVE: Tier.ACTIVE,
}
_ACTS: Final[Mapping[ReviewAction, Callable[[Application], None]]] = {
    ReviewAction.MANUAL_REVIEW: _escalate,
    ReviewAction.REJECT: _reject,
    ReviewAction.PUBLISH_PROVISIONAL: _publish,
    ReviewAction.PUBLISH_ACTIVE: _publish,
}
