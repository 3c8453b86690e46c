"""Candidates: what might be worth knowing, and what becomes of it."""

from typing import Annotated, Final

from fastapi import APIRouter, Path, Query

from understudy.api.gate import GatedRoute
from understudy.api.learning_bodies import bulk_request, new_candidate, publication
from understudy.api.learning_filters import WhichCandidates
from understudy.api.operations import operator, viewer
from understudy.api.paging import Paging, items
from understudy.api.services import Caller, Services
from understudy.api.views.learning_review import bulk_view, item_view, next_view
from understudy.api.views.learnings import candidate_view, published_view
from understudy.review.trace import RuleTrace
from understudy.wire.base import Items
from understudy.wire.learning_requests import (
    BulkDecision,
    CreateCandidate,
    PublishCandidate,
    RejectCandidate,
)
from understudy.wire.learnings import (
    BulkDecisionView,
    CandidateView,
    NextItemView,
    PublishedView,
    ReviewItemView,
)
from understudy.wire.policies import CandidateExplainView, RuleTraceView

router = APIRouter(tags=["learning"], route_class=GatedRoute)
CandidateId = Annotated[str, Path(description="id of the candidate")]
ALL: Final = "/v1/learning-candidates"
ONE: Final = ALL + "/{candidate_id}"


@router.get(ALL, operation_id="learning_candidates.list")
@viewer()
def list_candidates(
    services: Services, page: Paging, which: WhichCandidates
) -> Items[CandidateView]:
    """Candidates, oldest first; one that was not decided in its time is no longer there."""
    return items(services.learning.candidates.page(page, narrowed=which), candidate_view)


@router.post(ALL, operation_id="learning_candidates.create")
@operator()
def create(body: CreateCandidate, services: Services, caller: Caller) -> CandidateView:
    """Propose something worth knowing; nothing takes effect before it is published."""
    return candidate_view(services.learning.candidates.create(caller, new_candidate(body)))


@router.post(ALL + "/bulk", operation_id="learning_candidates.bulk")
@operator()
def decide_many(body: BulkDecision, services: Services, caller: Caller) -> BulkDecisionView:
    """Publish or reject many; each is told of, and one that is refused does not stop the others."""
    wanted = bulk_request(body)
    return bulk_view(wanted.action, services.learning.bulk_decisions.decide(caller, wanted))


@router.get(ALL + "/next", operation_id="learning_candidates.next")
@viewer()
def next_for_review(
    services: Services,
    after: Annotated[str | None, Query(description="id of a candidate that is passed over")] = None,
) -> NextItemView:
    """The candidate that has waited longest for a person."""
    return next_view(services.learning.candidates.next_for_review(after=after))


@router.get(ONE, operation_id="learning_candidates.get")
@viewer()
def get(candidate_id: CandidateId, services: Services) -> ReviewItemView:
    """One candidate, with what whoever decides should know."""
    return item_view(services.learning.candidates.item(candidate_id))


@router.get(ONE + "/explain", operation_id="learning_candidates.explain")
@viewer()
def explain(candidate_id: CandidateId, services: Services) -> CandidateExplainView:
    """What the policy in force makes of it: every rule, whether it matched, and why."""
    evaluation = services.learning.policy.explain(candidate_id)
    policy, revision = services.learning.policy.policy()
    trace = evaluation.trace
    return CandidateExplainView(
        candidate_id=candidate_id,
        policy_revision=revision.revision,
        mode=policy.mode,
        action=evaluation.action,
        matched_rule_name=evaluation.matched_rule_name,
        reason=evaluation.reason,
        expires_at_ms=evaluation.expires_at_ms,
        refused=trace.refused,
        rules=tuple(_rule(rule) for rule in trace.rules),
        adjustments=trace.adjustments,
    )


def _rule(trace: RuleTrace) -> RuleTraceView:
    return RuleTraceView(
        index=trace.index,
        name=trace.name,
        action=trace.action,
        matched=trace.matched,
        quarantined=trace.quarantined,
        decided=trace.decided,
        mismatches=trace.mismatches,
    )


@router.post(ONE + "/publish", operation_id="learning_candidates.publish")
@operator()
def publish(
    candidate_id: CandidateId,
    services: Services,
    caller: Caller,
    body: PublishCandidate | None = None,
) -> PublishedView:
    """Make a learning of it; one that says the same already is answered instead."""
    wanted = publication(body or PublishCandidate())
    return published_view(services.learning.candidates.publish(caller, candidate_id, wanted))


@router.post(ONE + "/reject", operation_id="learning_candidates.reject")
@operator()
def reject(
    candidate_id: CandidateId,
    services: Services,
    caller: Caller,
    body: RejectCandidate | None = None,
) -> CandidateView:
    """Say no to it; the daemon does not propose the same again without new evidence."""
    reason = body.reason if body else None
    return candidate_view(services.learning.candidates.reject(caller, candidate_id, reason=reason))
