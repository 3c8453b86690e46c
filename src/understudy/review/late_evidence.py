"""Late evidence: a learning published before its source run ended is verified when the run has ended."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from understudy.core import audit
from understudy.core.principal import DAEMON
from understudy.learnings.already_decided import declined
from understudy.learnings.conflicts import against_automation, duplicate_of
from understudy.learnings.decisions import awaiting_evidence
from understudy.learnings.events import LearningEvent, Listeners, of_learning, tell
from understudy.learnings.model import (
    LEARNING,
    Candidate,
    Learning,
    LearningStatus,
    Mode,
    PolicyDecision,
    Tier,
    Verification,
)
from understudy.review.policy import PolicyInForce, in_force
from understudy.review.verify import Support, support_for

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


def settle_late(unit: "Unit", candidate: Candidate, *, now_ms: int, listeners: Listeners) -> None:
    """Verify a learning that waited for its evidence, and activate it as automation had decided.

    The decision is escalated to a person if the policy, another learning or a refusal prevents it
    by now.
    """
    # Publications take this lock first, against deadlocks.
    unit.learnings.hold(candidate.scope)
    learning = awaiting_evidence(unit, candidate, lock=True)
    if learning is None:
        return
    policy = in_force(unit)
    may_trust_tools = policy.policy.publication.allow_untrusted_active_publication
    status = _verification(
        support_for(unit, candidate, now_ms=now_ms), may_trust_tools=may_trust_tools
    )
    settled = replace(learning, verification_status=status)
    if status is Verification.VERIFIED:
        if _may_become_active(unit, candidate, policy, now_ms=now_ms):
            LEARNING.check(learning.status, LearningStatus.ACTIVE)
            settled = replace(settled, status=LearningStatus.ACTIVE, publish_tier=Tier.ACTIVE)
        else:
            settled = replace(settled, policy_decision=PolicyDecision.ESCALATED)
            count = listeners.observer.count
            unit.after_commit(partial(count, "publications_total", PolicyDecision.ESCALATED))
    if status is not Verification.PENDING:
        _write(unit, settled, now_ms=now_ms)


def _verification(support: Support | None, *, may_trust_tools: bool) -> Verification:
    if support is None or (support.is_by_tool and not may_trust_tools):
        return Verification.UNVERIFIED
    if support.is_awaited:
        return Verification.PENDING
    return Verification.VERIFIED if support.is_found else Verification.FAILED


def _may_become_active(
    unit: "Unit", candidate: Candidate, policy: PolicyInForce, *, now_ms: int
) -> bool:
    # Without a review under this policy, another policy had decided.
    if policy.policy.mode is not Mode.ENABLED:
        return False
    if unit.reviews.get(candidate.candidate_id, policy.digest) is None:
        return False
    known = (
        against_automation(unit, candidate, now_ms=now_ms),
        duplicate_of(unit, candidate, now_ms=now_ms),
    )
    if any(it is not None for it in known):
        return False
    return declined(unit, candidate.scope, candidate.kind, candidate.content) is None


def _write(unit: "Unit", learning: Learning, *, now_ms: int) -> None:
    changed = replace(learning, version=learning.version + 1)
    unit.learnings.update(changed, expected_version=learning.version)
    entry = audit.done(
        DAEMON,
        "learnings.verify",
        changed.learning_id,
        at_ms=now_ms,
        version=changed.version,
        reason=str(changed.verification_status),
    )
    unit.audit.add(entry)
    tell(unit, (of_learning(LearningEvent.LEARNING_CHANGED, changed),), at_ms=now_ms)
