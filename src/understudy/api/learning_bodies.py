"""What callers send about candidates and learnings, as the services take it."""

from collections.abc import Sequence

from understudy.api.bodies import located
from understudy.api.learning_filters import candidate_filter
from understudy.core.errors import Invalid
from understudy.learnings.bulk import BulkAction, BulkRequest
from understudy.learnings.filters import CandidateFilter
from understudy.learnings.model import EvidenceRef, Kind, LearningSource, Sensitivity, Tier
from understudy.learnings.proposal import NewCandidate
from understudy.learnings.publish_changes import Wanted
from understudy.learnings.supersession import Replacement
from understudy.sessions.learning_scopes import LearningScope, ScopeKind
from understudy.wire.learning_requests import (
    BulkDecision,
    CandidateFilterBody,
    CreateCandidate,
    EvidenceRefBody,
    PublishCandidate,
    ScopeBody,
    SupersedeLearning,
)


def new_candidate(body: CreateCandidate) -> NewCandidate:
    """What is proposed."""
    return NewCandidate(
        scope=_scope(body.scope),
        kind=Kind(body.kind),
        content=body.content,
        sensitivity=Sensitivity(body.sensitivity),
        confidence=body.confidence,
        source=LearningSource(**body.source.model_dump()),
        evidence_refs=_evidence(body.evidence_refs),
        expires_at_ms=body.expires_at_ms,
    )


def publication(body: PublishCandidate) -> Wanted:
    """What is to be different from how it was proposed."""
    refs = body.evidence_refs
    return Wanted(
        scope=None if body.scope is None else _scope(body.scope),
        kind=None if body.kind is None else Kind(body.kind),
        sensitivity=None if body.sensitivity is None else Sensitivity(body.sensitivity),
        content=body.content,
        confidence=body.confidence,
        expires_at_ms=body.expires_at_ms,
        evidence_refs=None if refs is None else _evidence(refs),
        publish_tier=_tier(body.publish_tier),
        supersedes=body.supersedes,
    )


def bulk_request(body: BulkDecision) -> BulkRequest:
    """Which candidates are decided, and how."""
    if body.candidate_ids is not None and body.filter is not None:
        raise Invalid(
            "bulk_choice_ambiguous",
            domain="learnings",
            pointer="/filter",
            detail="name the candidates or give a filter, not both",
        )
    return BulkRequest(
        action=BulkAction(body.action),
        candidate_ids=tuple(body.candidate_ids or ()),
        narrowed=_narrowed(body.filter),
        publish_tier=_tier(body.publish_tier),
        reason=body.reason,
        dry_run=body.dry_run,
    )


def _narrowed(given: CandidateFilterBody | None) -> CandidateFilter:
    with located("filter"):
        return candidate_filter(given or CandidateFilterBody())


def replacement(body: SupersedeLearning) -> Replacement:
    """What is to be known instead."""
    return Replacement(
        content=body.content,
        scope=None if body.scope is None else _scope(body.scope),
        kind=None if body.kind is None else Kind(body.kind),
        sensitivity=None if body.sensitivity is None else Sensitivity(body.sensitivity),
        confidence=body.confidence,
        expires_at_ms=body.expires_at_ms,
    )


def _tier(given: str | None) -> Tier:
    """How far a person's publication goes; active unless they say otherwise."""
    return Tier.ACTIVE if given is None else Tier(given)


def _scope(body: ScopeBody) -> LearningScope:
    return LearningScope(kind=ScopeKind(body.kind), id=body.id)


def _evidence(refs: Sequence[EvidenceRefBody]) -> tuple[EvidenceRef, ...]:
    return tuple(EvidenceRef(**ref.model_dump()) for ref in refs)
