"""Candidates and learnings on the wire: request bodies, and answers that are no records."""

from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field, computed_field

from understudy.learnings.bulk import BulkAction
from understudy.learnings.model import (
    Applies,
    CandidateState,
    Kind,
    Learning,
    LearningStatus,
    PolicyDecision,
    Sensitivity,
    Tier,
    Verification,
)
from understudy.sessions.learning_scopes import ScopeKind
from understudy.wire.base import Id, Lax, RequestBody

MAX_EVIDENCE: Final = 32
MAX_BULK: Final = 200
MAX_QUERY_CHARS: Final = 16_000
# A time or an offset; larger ones would not fit every database.
Millis = Annotated[int, Field(ge=0, le=2**53 - 1)]


class ScopeBody(RequestBody):
    """The scope of the knowledge; the workspace has the id `default`."""

    kind: Lax[ScopeKind]
    id: str


class SourceBody(RequestBody):
    """The source of a statement."""

    run_id: Id | None = None
    session_id: Id | None = None
    agent_id: Id | None = None
    input_event_offset: Millis | None = None
    observation_id: Id | None = None
    derivation_id: Id | None = None


class EvidenceRefBody(RequestBody):
    """One piece of evidence."""

    run_id: Id | None = None
    artifact_id: Id | None = None
    note: Id | None = None


class CreateCandidate(RequestBody):
    """A candidate to propose."""

    scope: ScopeBody
    kind: Lax[Kind]
    content: str
    sensitivity: Lax[Sensitivity] = Sensitivity.SCOPED
    # By default from the content: `always` for a standing instruction.
    applies: Lax[Applies | None] = None
    confidence: int = 80
    source: SourceBody = SourceBody()
    evidence_refs: list[EvidenceRefBody] = Field(default_factory=list, max_length=MAX_EVIDENCE)
    expires_at_ms: Millis | None = None


class CreateLearning(RequestBody):
    """A learning to publish, for the whole workspace unless a scope is named."""

    content: str
    kind: Lax[Kind]
    scope: ScopeBody = ScopeBody(kind=ScopeKind.WORKSPACE, id="default")
    applies: Lax[Applies | None] = None
    expires_at_ms: Millis | None = None
    # The learning that it supersedes.
    supersedes: Id | None = None
    # Whether it is published beside learnings that say the same or contradict it.
    beside: bool = False


class PublishCandidate(RequestBody):
    """How to publish a candidate; an omitted field is taken from it."""

    # By default the scope that review suggests, as `suggested_scope` of the candidate says.
    scope: ScopeBody | None = None
    kind: Lax[Kind | None] = None
    sensitivity: Lax[Sensitivity | None] = None
    applies: Lax[Applies | None] = None
    content: str | None = None
    confidence: int | None = None
    expires_at_ms: Millis | None = None
    publish_tier: Lax[Tier | None] = None
    evidence_refs: list[EvidenceRefBody] | None = Field(default=None, max_length=MAX_EVIDENCE)
    # The learning that it supersedes.
    supersedes: Id | None = None
    # Whether it is published beside learnings that say the same or contradict it.
    beside: bool = False
    # The version that was shown: if somebody decided since, the call is refused.
    version: Millis | None = None


class RejectCandidate(RequestBody):
    """The reason of the rejection, for later readers."""

    reason: str | None = None
    # The version that was shown: if somebody decided since, the call is refused.
    version: Millis | None = None


class ReopenCandidate(RequestBody):
    """The reason for taking the decision back."""

    reason: str | None = None


class SnoozeCandidate(RequestBody):
    """Until when the queue of review skips it; a time in the past wakes it."""

    until_ms: Millis


class CandidateFilterBody(RequestBody):
    """A filter of candidates; an omitted field does not narrow."""

    query: str | None = Field(default=None, max_length=MAX_QUERY_CHARS)
    scope_kind: Lax[ScopeKind | None] = None
    scope_id: Id | None = None
    kind: Lax[Kind | None] = None
    applies: Lax[Applies | None] = None
    state: Lax[CandidateState | None] = None


class BulkChoiceBody(RequestBody):
    """One candidate of a decision about many, as a dry run showed it."""

    candidate_id: Id
    # If somebody decided since, this candidate is refused.
    version: Millis | None = None
    # The scope to publish it for; without one, what the review page suggests.
    scope: ScopeBody | None = None


class BulkDecision(RequestBody):
    """One decision about many candidates: those that are named, or those that a filter finds."""

    action: Lax[BulkAction]
    candidate_ids: list[Id] | None = Field(default=None, min_length=1, max_length=MAX_BULK)
    # Instead of ids alone, with the versions and scopes that were shown.
    candidates: list[BulkChoiceBody] | None = Field(default=None, min_length=1, max_length=MAX_BULK)
    filter: CandidateFilterBody | None = None
    publish_tier: Lax[Tier | None] = None
    reason: str | None = None
    # Only return what would happen to each.
    dry_run: bool = False


class SupersedeLearning(RequestBody):
    """The replacement of a learning; an omitted field keeps its value."""

    content: str
    scope: ScopeBody | None = None
    kind: Lax[Kind | None] = None
    sensitivity: Lax[Sensitivity | None] = None
    applies: Lax[Applies | None] = None
    confidence: int | None = None
    expires_at_ms: Millis | None = None
    # Whether it is published beside other learnings that say the same or contradict it.
    beside: bool = False


class ChangeLearning(RequestBody):
    """The changes to a learning that stays; an omitted field keeps its value."""

    applies: Lax[Applies | None] = None
    sensitivity: Lax[Sensitivity | None] = None
    # `null` removes the expiry.
    expires_at_ms: Millis | None = None


class RevokeLearning(RequestBody):
    """The reason of the revocation."""

    reason: str | None = None


class LearningFilterBody(RequestBody):
    """A filter of learnings; an omitted field does not narrow."""

    query: str | None = Field(default=None, max_length=MAX_QUERY_CHARS)
    scope_kind: Lax[ScopeKind | None] = None
    scope_id: Id | None = None
    kind: Lax[Kind | None] = None
    applies: Lax[Applies | None] = None
    status: Lax[LearningStatus | None] = None
    publish_tier: Lax[Tier | None] = None
    verification_status: Lax[Verification | None] = None
    policy_decision: Lax[PolicyDecision | None] = None
    policy_actor: Id | None = None
    matched_rule_name: Id | None = None
    published_after_ms: Millis | None = None
    published_before_ms: Millis | None = None
    used: bool | None = None


class RevokeMatching(LearningFilterBody):
    """The learnings to revoke; at least one filter, or `all`."""

    reason: str | None = None
    # Only list them.
    dry_run: bool = False
    # Every learning; for admins.
    all: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokedLearnings:
    """The learnings that were revoked, or would be."""

    dry_run: bool
    items: tuple[Learning, ...]

    @computed_field
    @property
    def count(self) -> int:
        """How many learnings there are."""
        return len(self.items)
