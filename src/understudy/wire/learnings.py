"""Candidates and learnings on the wire: request bodies, and answers that are no records."""

from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field, WithJsonSchema, computed_field

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
# The kinds that a caller may name; a run summary is refused by the domain, with its own code.
ProposedKind = Annotated[
    Kind,
    Field(strict=False),
    WithJsonSchema(
        {"type": "string", "enum": [each.value for each in Kind if each is not Kind.RUN_SUMMARY]}
    ),
]


class ScopeBody(RequestBody):
    """The scope of the knowledge; the workspace has the id `default`."""

    kind: Lax[ScopeKind]
    """`session`, `persona`, `project` or `workspace`."""
    id: str
    """The session, persona or project; `default` for the workspace."""


class SourceBody(RequestBody):
    """The source of a statement."""

    run_id: Id | None = None
    """The run that it comes from."""
    session_id: Id | None = None
    """The session that it comes from."""
    agent_id: Id | None = None
    """The agent that it comes from."""
    client: Id | None = None
    """The program that proposes it for a model. A person decides then, unless a rule names it."""
    input_event_offset: Millis | None = None
    """The offset of the input in the journal of the session."""
    observation_id: Id | None = None
    """The caller's own id of the observation."""
    derivation_id: Id | None = None
    """The caller's own id of the derivation."""


class EvidenceRefBody(RequestBody):
    """One piece of evidence."""

    run_id: Id | None = None
    """The run that speaks for it."""
    artifact_id: Id | None = None
    """An artifact of that run."""
    note: Id | None = None
    """A reference in words."""


class CreateCandidate(RequestBody):
    """A candidate to propose."""

    scope: ScopeBody
    """Where it applies."""
    kind: ProposedKind
    """The kind of the statement."""
    content: str
    """The statement."""
    sensitivity: Lax[Sensitivity] = Sensitivity.SCOPED
    """`scoped`, or `sensitive`, which no prompt and no search repeats."""
    applies: Lax[Applies | None] = None
    """`when_relevant`, or `always`: injected into every prompt. By default from the content."""
    confidence: int = 80
    """How certain it is, from 0 to 100."""
    source: SourceBody = SourceBody()
    """The source of the statement."""
    evidence_refs: list[EvidenceRefBody] = Field(default_factory=list, max_length=MAX_EVIDENCE)
    """Runs and artifacts that speak for it."""
    expires_at_ms: Millis | None = None
    """When the learning expires."""


class CreateLearning(RequestBody):
    """A learning to publish, for the whole workspace unless a scope is named."""

    content: str
    """The statement."""
    kind: ProposedKind
    """The kind of the statement."""
    scope: ScopeBody = ScopeBody(kind=ScopeKind.WORKSPACE, id="default")
    """Where it applies; by default in the whole workspace."""
    applies: Lax[Applies | None] = None
    """`when_relevant`, or `always`: injected into every prompt. By default from the content."""
    expires_at_ms: Millis | None = None
    """When it expires."""
    supersedes: Id | None = None
    """The learning that it supersedes."""
    beside: bool = False
    """Publish it beside learnings that say the same or contradict it."""


class PublishCandidate(RequestBody):
    """How to publish a candidate; an omitted field is taken from it."""

    scope: ScopeBody | None = None
    """Where it applies; by default `suggested_scope` of the candidate."""
    kind: ProposedKind | None = None
    """Another kind."""
    sensitivity: Lax[Sensitivity | None] = None
    """`scoped`, or `sensitive`, which no prompt and no search repeats."""
    applies: Lax[Applies | None] = None
    """`when_relevant`, or `always`: injected into every prompt."""
    content: str | None = None
    """Another wording."""
    confidence: int | None = None
    """How certain it is, from 0 to 100."""
    expires_at_ms: Millis | None = None
    """When the learning expires."""
    publish_tier: Lax[Tier | None] = None
    """`active`, or `provisional`, which is in no prompt."""
    evidence_refs: list[EvidenceRefBody] | None = Field(default=None, max_length=MAX_EVIDENCE)
    """Runs and artifacts that speak for it."""
    supersedes: Id | None = None
    """The learning that it supersedes."""
    beside: bool = False
    """Publish it beside learnings that say the same or contradict it."""
    version: Millis | None = None
    """The version that was shown; after another decision the call is refused."""


class RejectCandidate(RequestBody):
    """The reason of the rejection, for later readers."""

    reason: str | None = None
    """The reason, for later readers."""
    version: Millis | None = None
    """The version that was shown; after another decision the call is refused."""


class ReopenCandidate(RequestBody):
    """The reason for taking the decision back."""

    reason: str | None = None
    """The reason for taking the decision back."""


class SnoozeCandidate(RequestBody):
    """Until when the queue of review skips it; a time in the past wakes it."""

    until_ms: Millis
    """The end of the pause; a time in the past ends it now."""


class CandidateFilterBody(RequestBody):
    """A filter of candidates; an omitted field does not narrow."""

    query: str | None = Field(default=None, max_length=MAX_QUERY_CHARS)
    """Text of the id, scope, kind, content or source run."""
    scope_kind: Lax[ScopeKind | None] = None
    """Only of a kind of scope."""
    scope_id: Id | None = None
    """Only of the scope with this id."""
    kind: Lax[Kind | None] = None
    """Only of a kind."""
    applies: Lax[Applies | None] = None
    """Only those that apply `always`, or `when_relevant`."""
    state: Lax[CandidateState | None] = None
    """Only in a state."""


class BulkChoiceBody(RequestBody):
    """One candidate of a decision about many, as a dry run showed it."""

    candidate_id: Id
    """The candidate."""
    version: Millis | None = None
    """The version that was shown; after another decision it is refused."""
    scope: ScopeBody | None = None
    """Where it applies; by default what the review page suggests."""


class BulkDecision(RequestBody):
    """One decision about many candidates: those that are named, or those that a filter finds."""

    action: Lax[BulkAction]
    """`publish` or `reject`."""
    candidate_ids: list[Id] | None = Field(default=None, min_length=1, max_length=MAX_BULK)
    """The candidates by id."""
    candidates: list[BulkChoiceBody] | None = Field(default=None, min_length=1, max_length=MAX_BULK)
    """The candidates with the versions and scopes that were shown, instead of ids."""
    filter: CandidateFilterBody | None = None
    """The candidates that a filter finds, instead of ids."""
    publish_tier: Lax[Tier | None] = None
    """`active`, or `provisional`, which is in no prompt."""
    reason: str | None = None
    """The reason of the decision."""
    dry_run: bool = False
    """Only return what would happen to each."""


class SupersedeLearning(RequestBody):
    """The replacement of a learning; an omitted field keeps its value."""

    content: str
    """The new wording."""
    scope: ScopeBody | None = None
    """Another scope."""
    kind: ProposedKind | None = None
    """Another kind."""
    sensitivity: Lax[Sensitivity | None] = None
    """`scoped`, or `sensitive`, which no prompt and no search repeats."""
    applies: Lax[Applies | None] = None
    """`when_relevant`, or `always`: injected into every prompt."""
    confidence: int | None = None
    """How certain it is, from 0 to 100."""
    expires_at_ms: Millis | None = None
    """When it expires."""
    beside: bool = False
    """Publish it beside other learnings that say the same or contradict it."""


class ChangeLearning(RequestBody):
    """The changes to a learning that stays; an omitted field keeps its value."""

    applies: Lax[Applies | None] = None
    """`when_relevant`, or `always`: injected into every prompt, whatever the input."""
    sensitivity: Lax[Sensitivity | None] = None
    """`scoped`, or `sensitive`, which no prompt and no search repeats."""
    expires_at_ms: Millis | None = None
    """When it expires; null removes the expiry."""


class RevokeLearning(RequestBody):
    """The reason of the revocation."""

    reason: str | None = None
    """The reason of the revocation."""


class LearningFilterBody(RequestBody):
    """A filter of learnings; an omitted field does not narrow."""

    query: str | None = Field(default=None, max_length=MAX_QUERY_CHARS)
    """Text of the id, scope, kind, content or source run."""
    scope_kind: Lax[ScopeKind | None] = None
    """Only of a kind of scope."""
    scope_id: Id | None = None
    """Only of the scope with this id."""
    kind: Lax[Kind | None] = None
    """Only of a kind."""
    applies: Lax[Applies | None] = None
    """Only those that apply `always`, or `when_relevant`."""
    status: Lax[LearningStatus | None] = None
    """Only of a status."""
    publish_tier: Lax[Tier | None] = None
    """Only of a tier."""
    verification_status: Lax[Verification | None] = None
    """Only with this result of the verification."""
    policy_decision: Lax[PolicyDecision | None] = None
    """Only published by hand, or by the policy."""
    policy_actor: Id | None = None
    """Only published by `operator` or `daemon`."""
    matched_rule_name: Id | None = None
    """Only from candidates that this rule matched."""
    published_after_ms: Millis | None = None
    """Only published after this time."""
    published_before_ms: Millis | None = None
    """Only published before this time."""
    used: bool | None = None
    """Only those that were injected into a prompt, or only the others."""


class RevokeMatching(LearningFilterBody):
    """The learnings to revoke; at least one filter, or `all`."""

    reason: str | None = None
    """The reason of the revocation."""
    dry_run: bool = False
    """Only list them."""
    all: bool = False
    """Every learning; for admins."""


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
