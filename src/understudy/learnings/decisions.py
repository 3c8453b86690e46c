"""Who decides about a candidate, and what is written down of it."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from understudy.core import audit
from understudy.core.errors import coded_error
from understudy.core.principal import DAEMON, Principal
from understudy.learnings.events import LearningNotice, What, of_candidate, tell
from understudy.learnings.model import (
    CANDIDATE,
    AutomationReview,
    Candidate,
    CandidateState,
    PolicyDecision,
    Verification,
)

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


# What a learning names as its actor; which person it was, the candidate and the audit say.
OPERATOR: Final = "operator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decider:
    """A person, or the daemon under a policy."""

    principal: Principal
    decision: PolicyDecision
    actor: str
    verification: Verification = Verification.UNVERIFIED
    # What automation made of the candidate, where that is what decides.
    review: AutomationReview | None = None


def by_hand(principal: Principal) -> Decider:
    """A person decides."""
    return Decider(principal=principal, decision=PolicyDecision.MANUAL, actor=OPERATOR)


def by_policy(
    review: AutomationReview | None = None, *, verification: Verification = Verification.UNVERIFIED
) -> Decider:
    """The daemon decides."""
    return Decider(
        principal=DAEMON,
        decision=PolicyDecision.AUTOMATIC,
        actor=DAEMON.user_id,
        verification=verification,
        review=review,
    )


def require_candidate(unit: "Unit", candidate_id: str, *, lock: bool = False) -> Candidate:
    """The candidate, or `NotFound`."""
    candidate = unit.candidates.get(candidate_id, lock=lock)
    if candidate is None:
        raise coded_error("learnings/candidate_not_found", candidate_id=candidate_id)
    return candidate


def decide(
    unit: "Unit",
    candidate: Candidate,
    state: CandidateState,
    *,
    by: Decider,
    now_ms: int,
    reason: str | None = None,
    learning_id: str | None = None,
) -> Candidate:
    """Close a candidate whose row this unit holds."""
    CANDIDATE.check(candidate.state, state)
    decided = replace(
        candidate,
        state=state,
        published_learning_id=learning_id,
        decided_at_ms=now_ms,
        decided_by=by.principal.user_id,
        decision_reason=reason,
        automation_review=by.review or candidate.automation_review,
        version=candidate.version + 1,
    )
    unit.candidates.update(decided, expected_version=candidate.version)
    action = _ACTIONS[state]
    entry = audit.done(
        by.principal,
        action,
        candidate.candidate_id,
        at_ms=now_ms,
        version=decided.version,
        reason=learning_id,
    )
    unit.audit.add(entry)
    return decided


_ACTIONS: Final = {
    CandidateState.PUBLISHED: "learning_candidates.publish",
    CandidateState.REJECTED: "learning_candidates.reject",
}


def reject(
    unit: "Unit", candidate_id: str, *, by: Decider, now_ms: int, reason: str | None = None
) -> Candidate:
    """Reject a candidate; one that was rejected before stays as it is."""
    rejected, told = reject_quietly(unit, candidate_id, by=by, now_ms=now_ms, reason=reason)
    tell(unit, told, at_ms=now_ms)
    return rejected


def reject_quietly(
    unit: "Unit", candidate_id: str, *, by: Decider, now_ms: int, reason: str | None = None
) -> tuple[Candidate, tuple[LearningNotice, ...]]:
    """The same, with what is still to be told once the unit has done everything else."""
    candidate = require_candidate(unit, candidate_id, lock=True)
    if candidate.state is CandidateState.REJECTED:
        return candidate, ()
    if candidate.state is CandidateState.PUBLISHED:
        raise coded_error(
            "learnings/candidate_published",
            candidate_id=candidate_id,
            learning_id=candidate.published_learning_id,
        )
    rejected = decide(unit, candidate, CandidateState.REJECTED, by=by, now_ms=now_ms, reason=reason)
    return rejected, (of_candidate(What.CANDIDATE_DECIDED, rejected),)
