"""Candidates: list, propose, publish, reject."""

from dataclasses import replace
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Path, Query
from fastapi.concurrency import run_in_threadpool
from pydantic import ValidationError

from understudy.api.bodies import located, record_of
from understudy.api.gate import GatedRoute
from understudy.api.operations import client, operator, viewer
from understudy.api.paging import Paging
from understudy.api.routes.learnings import (
    OfApplies,
    OfKind,
    OfScope,
    OfScopeKind,
    Text,
    published_learning,
)
from understudy.api.services import Caller, Services
from understudy.core.errors import Invalid, LimitExceeded, coded_error
from understudy.core.page import MAX_LIMIT, Page
from understudy.core.principal import Principal, Role
from understudy.core.records import reduced
from understudy.learnings.bulk import BulkAction, BulkChoice, BulkRequest, BulkResult
from understudy.learnings.candidates import ListedCandidate, NextReviewItem, ReviewItem
from understudy.learnings.checks import scope_filter
from understudy.learnings.model import (
    Candidate,
    CandidateFilter,
    CandidateState,
    LearningSource,
    Tier,
)
from understudy.learnings.proposal import NewCandidate
from understudy.learnings.publication import PublishChanges, PublishedLearning
from understudy.review.judge import answers_of_judge
from understudy.runtime.two_people import TwoApprovers
from understudy.wire.learnings import (
    BulkChoiceBody,
    BulkDecision,
    CandidateFilterBody,
    CreateCandidate,
    PublishCandidate,
    RejectCandidate,
    ReopenCandidate,
    SnoozeCandidate,
)
from understudy.wire.policies import CandidateExplainView, RuleTraceView

router = APIRouter(tags=["learning"], route_class=GatedRoute)
CandidateId = Annotated[str, Path(description="id of the candidate")]
ALL: Final = "/v1/learning-candidates"
ONE: Final = ALL + "/{candidate_id}"


def _filter(given: CandidateFilterBody) -> CandidateFilter:
    return record_of(CandidateFilter, given, scope=scope_filter(given.scope_kind, given.scope_id))


async def _filter_of_query(
    query: Text = None,
    scope_kind: OfScopeKind = None,
    scope_id: OfScope = None,
    kind: OfKind = None,
    applies: OfApplies = None,
    state: Annotated[CandidateState | None, Query(description="only in this state")] = None,
) -> CandidateFilter:
    return _filter(
        CandidateFilterBody(
            query=query,
            scope_kind=scope_kind,
            scope_id=scope_id,
            kind=kind,
            applies=applies,
            state=state,
        )
    )


Which = Annotated[CandidateFilter, Depends(_filter_of_query)]


@router.get(ALL, operation_id="learning_candidates.list")
@viewer(by_client=True)
def list_candidates(
    services: Services,
    caller: Caller,
    page: Paging,
    which: Which,
    waiting: Annotated[
        bool, Query(description="only what waits for a decision, in the order of review")
    ] = False,
    candidate_id: Annotated[
        list[str] | None, Query(description="only these", max_length=MAX_LIMIT)
    ] = None,
) -> Page[ListedCandidate]:
    """List candidates, oldest first; one that was not decided in its time is no longer there."""
    own = caller.role is Role.CLIENT
    narrowed = replace(which, waiting=waiting, candidate_ids=tuple(candidate_id or ()), own=own)
    return services.learning.candidates.page(page, narrowed=narrowed)


@router.post(ALL, operation_id="learning_candidates.create")
@client()
async def create(body: CreateCandidate, services: Services, caller: Caller) -> Candidate:
    """Propose a learning; nothing takes effect before it is published."""
    service, wanted = services.learning.candidates, _proposal(body, caller)
    candidate = await run_in_threadpool(service.create, caller, wanted)
    await service.look_around(candidate.candidate_id)
    return candidate


def _proposal(body: CreateCandidate, caller: Principal) -> NewCandidate:
    """What is proposed. The words of a client are a model's, and what it cites proves nothing."""
    wanted = record_of(NewCandidate, body)
    if caller.role is Role.CLIENT:
        named = LearningSource(client=wanted.source.client or str(Role.CLIENT))
        wanted = replace(wanted, source=named, evidence_refs=())
    return replace(wanted, derived_from_untrusted=wanted.source.client is not None)


def _publishes(body: Any) -> bool:
    is_publication = isinstance(body, dict) and body.get("action") == BulkAction.PUBLISH
    return is_publication and not body.get("dry_run")


def _naming(services: Services, body: Any) -> Any:
    """A decision that names the candidates which its filter finds; as it is where the route refuses it.

    Who approves it approves these: what comes later is not published with them.
    """
    try:
        wanted = _bulk_request(BulkDecision.model_validate(body))
        chosen, _ = services.learning.bulk_decisions.chosen(wanted)
    except (Invalid, LimitExceeded, ValidationError):
        return body
    if wanted.candidates or not chosen:
        return body
    rest = {name: value for name, value in body.items() if name != "filter"}
    return {**rest, "candidate_ids": sorted(it.candidate_id for it in chosen)}


@router.post(ALL + "/bulk", operation_id="learning_candidates.bulk")
@operator(two=TwoApprovers.BULK_PUBLICATION, two_if=_publishes, two_body=_naming)
def decide_many(body: BulkDecision, services: Services, caller: Caller) -> BulkResult:
    """Publish or reject many candidates; one that is refused does not stop the others."""
    return services.learning.bulk_decisions.decide(caller, _bulk_request(body))


def _bulk_request(body: BulkDecision) -> BulkRequest:
    ways = ("candidate_ids", "candidates", "filter")
    given = [name for name in ways if getattr(body, name) is not None]
    if len(given) > 1:
        raise coded_error("learnings/bulk_choice_ambiguous", pointer=f"/{given[-1]}")
    named = body.candidates or [BulkChoiceBody(candidate_id=it) for it in body.candidate_ids or ()]
    with located("filter"):
        narrowed = _filter(body.filter or CandidateFilterBody())
    return record_of(
        BulkRequest,
        body,
        candidates=tuple(record_of(BulkChoice, it) for it in named),
        narrowed=narrowed,
        publish_tier=body.publish_tier or Tier.ACTIVE,
    )


@router.get(ALL + "/next", operation_id="learning_candidates.next")
@viewer()
def next_for_review(
    services: Services,
    which: Which,
    after: Annotated[
        str | None, Query(description="id of a candidate: it and those before it are passed over")
    ] = None,
) -> NextReviewItem:
    """The first candidate of the queue of review: what prompts can be told of comes first, then
    procedures, sensitive ones and run summaries, each the oldest first."""
    return services.learning.candidates.next_for_review(after=after, narrowed=which)


@router.get(ONE, operation_id="learning_candidates.get")
@viewer()
def get(candidate_id: CandidateId, services: Services) -> ReviewItem:
    """Show a candidate, with what a reviewer should know."""
    return services.learning.candidates.item(candidate_id)


@router.get(ONE + "/explain", operation_id="learning_candidates.explain")
@viewer()
def explain(candidate_id: CandidateId, services: Services) -> CandidateExplainView:
    """Explain what the policy in force makes of a candidate: every rule, whether it matched, and why."""
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
        judge_may=answers_of_judge(policy, evaluation.action),
        expires_at_ms=evaluation.expires_at_ms,
        refused=trace.refused,
        rules=tuple(reduced(RuleTraceView, rule) for rule in trace.rules),
        adjustments=trace.adjustments,
    )


@router.post(ONE + "/publish", operation_id="learning_candidates.publish")
@operator()
async def publish(
    candidate_id: CandidateId,
    services: Services,
    caller: Caller,
    body: PublishCandidate | None = None,
) -> PublishedLearning:
    """Publish a candidate as a learning; one that says the same already is answered instead."""
    given = body or PublishCandidate()
    wanted = record_of(PublishChanges, given, publish_tier=given.publish_tier or Tier.ACTIVE)
    service = services.learning.candidates
    compared = await service.compared_again(candidate_id, wanted)
    return published_learning(
        await run_in_threadpool(service.publish, caller, candidate_id, compared)
    )


@router.post(ONE + "/reject", operation_id="learning_candidates.reject")
@operator()
def reject(
    candidate_id: CandidateId,
    services: Services,
    caller: Caller,
    body: RejectCandidate | None = None,
) -> Candidate:
    """Reject a candidate; the daemon does not propose the same again without new evidence."""
    given = body or RejectCandidate()
    return services.learning.candidates.reject(
        caller, candidate_id, reason=given.reason, version=given.version
    )


@router.post(ONE + "/reopen", operation_id="learning_candidates.reopen")
@operator()
def reopen(
    candidate_id: CandidateId,
    services: Services,
    caller: Caller,
    body: ReopenCandidate | None = None,
) -> Candidate:
    """Reopen a candidate that the caller decided: it waits again, and its learning is revoked."""
    reason = body.reason if body else None
    return services.learning.candidates.reopen(caller, candidate_id, reason=reason)


@router.post(ONE + "/snooze", operation_id="learning_candidates.snooze")
@operator()
def snooze(
    candidate_id: CandidateId, body: SnoozeCandidate, services: Services, caller: Caller
) -> Candidate:
    """Skip a candidate in the queue of review until a time; lists still show it."""
    return services.learning.candidates.snooze(caller, candidate_id, body.until_ms)
