"""Dry run of a policy: the same evaluation of candidates, with nothing stored.

Judge and verification do not run; where the result is publish_active, they may still reduce it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Final

from understudy.core.clock import DAY_MS
from understudy.core.errors import coded_error
from understudy.core.records import OMIT
from understudy.learnings.model import (
    Candidate,
    CandidateState,
    Kind,
    Learning,
    Mode,
    ReviewAction,
    Tier,
)
from understudy.review.evaluate import evaluate
from understudy.review.policy import LearningPolicy, policy_in
from understudy.review.rule_match import deciding_rule
from understudy.sessions.learning_scopes import LearningScope

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

DEFAULT_DAYS: Final = 7
MAX_DAYS: Final = 90
# The most open candidates, and the most decided ones, that are evaluated.
MAX_LOOKED_AT: Final = 1000


@dataclass(frozen=True, slots=True)
class NarrowedPolicies:
    """A policy narrowed for each candidate to the deciding rule, which is quicker to evaluate."""

    policy: LearningPolicy
    # By the index of the deciding rule.
    _cut: dict[int | None, LearningPolicy] = field(default_factory=dict)

    def narrowed_to(self, candidate: Candidate) -> LearningPolicy:
        """A policy with the same result for this candidate."""
        place = deciding_rule(candidate, self.policy.publication)
        if place not in self._cut:
            self._cut[place] = self._only(place)
        return self._cut[place]

    def _only(self, place: int | None) -> LearningPolicy:
        rules = self.policy.publication.rules
        # A rule without a name is reported by its index, so the rules before it stay.
        first = place if place is not None and rules[place].name else 0
        kept = () if place is None else rules[first : place + 1]
        return replace(self.policy, publication=replace(self.policy.publication, rules=kept))


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateOutlook:
    """The result of a policy for a candidate."""

    action: ReviewAction
    # Whether the action is carried out, rather than noted.
    takes_effect: bool
    reason: str
    matched_rule_name: Annotated[str | None, OMIT] = None
    expires_at_ms: Annotated[int | None, OMIT] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedTreatment:
    """A candidate with a different result under the proposed policy."""

    candidate_id: str
    content: str
    kind: Kind
    scope: LearningScope
    state: CandidateState
    # The result of the policy in force; for a decided candidate, the decision.
    before: CandidateOutlook
    after: CandidateOutlook


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """The differences that a policy would make."""

    days: int
    pending_count: int
    decided_count: int
    # Whether there are more candidates than were evaluated.
    truncated: bool
    changes: tuple[ChangedTreatment, ...]
    # Candidates by action, under the policy in force and under the proposed one.
    before: dict[ReviewAction, int]
    after: dict[ReviewAction, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRunInput:
    """The input of a dry run, read at once so that no transaction is open during it."""

    days: int
    current: LearningPolicy
    waiting: tuple[Candidate, ...]
    decided: tuple[Candidate, ...]
    published: dict[str, Learning]
    truncated: bool


def read_input(unit: "Unit", *, days: int, now_ms: int, most: int = MAX_LOOKED_AT) -> DryRunInput:
    """Read open candidates, and those decided in the last days."""
    if not 1 <= days <= MAX_DAYS:
        raise coded_error("runtime/invalid_days", pointer="/days", limit=MAX_DAYS)
    waiting = unit.candidates.open_ones(after=None, limit=most + 1, now_ms=now_ms)
    decided = unit.candidates.decided_since(now_ms - days * DAY_MS, limit=most + 1)
    return DryRunInput(
        days=days,
        current=policy_in(unit),
        waiting=waiting[:most],
        decided=decided[:most],
        published=_published(unit, decided[:most]),
        truncated=max(len(waiting), len(decided)) > most,
    )


def dry_run(looked_at: DryRunInput, proposed: LearningPolicy, *, now_ms: int) -> DryRun:
    """Evaluate candidates under a proposed policy."""
    current, tried = NarrowedPolicies(looked_at.current), NarrowedPolicies(proposed)
    changes = [
        ChangedTreatment(
            candidate_id=it.candidate_id,
            content=it.content,
            kind=it.kind,
            scope=it.scope,
            state=it.state,
            before=_before(it, current, looked_at.published, now_ms=now_ms),
            after=outlook(it, tried.narrowed_to(it), now_ms=now_ms),
        )
        for it in (*looked_at.waiting, *looked_at.decided)
    ]
    return DryRun(
        days=looked_at.days,
        pending_count=len(looked_at.waiting),
        decided_count=len(looked_at.decided),
        truncated=looked_at.truncated,
        changes=tuple(it for it in changes if _differs(it)),
        before=_counts([it.before for it in changes]),
        after=_counts([it.after for it in changes]),
    )


def outlook(candidate: Candidate, policy: LearningPolicy, *, now_ms: int) -> CandidateOutlook:
    """The result of a policy for a candidate; manual review in mode `manual_only`."""
    if policy.mode is Mode.MANUAL_ONLY:
        return CandidateOutlook(
            action=ReviewAction.MANUAL_REVIEW, takes_effect=False, reason="the mode is manual_only"
        )
    said = evaluate(candidate, policy, now_ms=now_ms)
    return CandidateOutlook(
        action=said.action,
        takes_effect=policy.mode is Mode.ENABLED,
        reason=said.reason,
        matched_rule_name=said.matched_rule_name,
        expires_at_ms=said.expires_at_ms,
    )


def _before(
    candidate: Candidate,
    current: NarrowedPolicies,
    published: dict[str, Learning],
    *,
    now_ms: int,
) -> CandidateOutlook:
    if candidate.state is CandidateState.PENDING:
        return outlook(candidate, current.narrowed_to(candidate), now_ms=now_ms)
    review = candidate.automation_review
    if candidate.state is CandidateState.ESCALATED:
        action, reason = ReviewAction.MANUAL_REVIEW, review.reason if review else "escalated"
    else:
        learning = published.get(candidate.published_learning_id or "")
        action = _done(candidate, learning)
        reason = f"{candidate.state} by {candidate.decided_by or 'somebody'}"
    return CandidateOutlook(
        action=action,
        takes_effect=True,
        reason=reason,
        matched_rule_name=review.matched_rule_name if review else None,
        expires_at_ms=candidate.expires_at_ms,
    )


def _done(candidate: Candidate, learning: Learning | None) -> ReviewAction:
    if candidate.state is CandidateState.REJECTED:
        return ReviewAction.REJECT
    is_provisional = learning is not None and learning.publish_tier is Tier.PROVISIONAL
    return ReviewAction.PUBLISH_PROVISIONAL if is_provisional else ReviewAction.PUBLISH_ACTIVE


def _differs(change: ChangedTreatment) -> bool:
    """Whether a result changed; for a pending candidate also whether it takes effect."""
    if change.before.action is not change.after.action:
        return True
    is_waiting = change.state is CandidateState.PENDING
    return is_waiting and change.before.takes_effect is not change.after.takes_effect


def _published(unit: "Unit", candidates: Sequence[Candidate]) -> dict[str, Learning]:
    ids = [it.published_learning_id for it in candidates if it.published_learning_id]
    return unit.learnings.readable(ids) if ids else {}


def _counts(outlooks: Sequence[CandidateOutlook]) -> dict[ReviewAction, int]:
    counts = dict.fromkeys(ReviewAction, 0)
    for it in outlooks:
        counts[it.action] += 1
    return counts
