"""What callers send about candidates and learnings."""

from typing import Annotated, Final

from pydantic import Field

from understudy.wire.base import RequestBody
from understudy.wire.learnings import (
    BulkAction,
    CandidateState,
    Kind,
    LearningStatus,
    PolicyDecision,
    Sensitivity,
    Tier,
)
from understudy.wire.memory import ScopeKind

MAX_EVIDENCE: Final = 32
MAX_BULK: Final = 200
MAX_QUERY_CHARS: Final = 16_000
Id = Annotated[str, Field(max_length=500)]
# A time or an offset; larger ones would not fit every database.
Millis = Annotated[int, Field(ge=0, le=2**53 - 1)]


class ScopeBody(RequestBody):
    """What the knowledge is kept for; the workspace has the id `default`."""

    kind: ScopeKind
    id: str


class SourceBody(RequestBody):
    """Where something was said."""

    run_id: Id | None = None
    session_id: Id | None = None
    agent_id: Id | None = None
    input_event_offset: Millis | None = None
    observation_id: Id | None = None
    derivation_id: Id | None = None


class EvidenceRefBody(RequestBody):
    """What speaks for it."""

    run_id: Id | None = None
    artifact_id: Id | None = None
    note: Id | None = None


class CreateCandidate(RequestBody):
    """Something that might be worth knowing."""

    scope: ScopeBody
    kind: Kind
    content: str
    sensitivity: Sensitivity = "scoped"
    confidence: int = 80
    source: SourceBody = SourceBody()
    evidence_refs: list[EvidenceRefBody] = Field(default_factory=list, max_length=MAX_EVIDENCE)
    expires_at_ms: Millis | None = None


class PublishCandidate(RequestBody):
    """How to publish a candidate; what is left out is taken from it."""

    scope: ScopeBody | None = None
    kind: Kind | None = None
    sensitivity: Sensitivity | None = None
    content: str | None = None
    confidence: int | None = None
    expires_at_ms: Millis | None = None
    publish_tier: Tier | None = None
    evidence_refs: list[EvidenceRefBody] | None = Field(default=None, max_length=MAX_EVIDENCE)
    # The learning that it takes the place of.
    supersedes: Id | None = None


class RejectCandidate(RequestBody):
    """Why it is not worth knowing, for whoever looks later."""

    reason: str | None = None


class CandidateFilterBody(RequestBody):
    """Which candidates; what is left out does not narrow."""

    query: str | None = Field(default=None, max_length=MAX_QUERY_CHARS)
    scope_kind: ScopeKind | None = None
    scope_id: Id | None = None
    kind: Kind | None = None
    state: CandidateState | None = None


class BulkDecision(RequestBody):
    """One decision about many candidates: those that are named, or those that a filter finds."""

    action: BulkAction
    candidate_ids: list[Id] | None = Field(default=None, min_length=1, max_length=MAX_BULK)
    filter: CandidateFilterBody | None = None
    publish_tier: Tier | None = None
    reason: str | None = None
    # Only tell what would become of each.
    dry_run: bool = False


class SupersedeLearning(RequestBody):
    """What takes the place of a learning; what is left out stays as it is."""

    content: str
    scope: ScopeBody | None = None
    kind: Kind | None = None
    sensitivity: Sensitivity | None = None
    confidence: int | None = None
    expires_at_ms: Millis | None = None


class RevokeLearning(RequestBody):
    """Why it no longer holds."""

    reason: str | None = None


class LearningFilterBody(RequestBody):
    """Which learnings; what is left out does not narrow."""

    query: str | None = Field(default=None, max_length=MAX_QUERY_CHARS)
    scope_kind: ScopeKind | None = None
    scope_id: Id | None = None
    kind: Kind | None = None
    status: LearningStatus | None = None
    policy_decision: PolicyDecision | None = None
    policy_actor: Id | None = None
    matched_rule_name: Id | None = None


class RevokeMatching(LearningFilterBody):
    """Which learnings to take back; at least one filter, or `all`."""

    reason: str | None = None
    # Only list them.
    dry_run: bool = False
    # Every one there is; for admins.
    all: bool = False
