"""Candidates and learnings as the daemon answers them."""

from typing import Literal, TypeAlias

from understudy.wire.base import Items, Omitted, View
from understudy.wire.memory import LearningKind, LearningScopeView

Kind: TypeAlias = LearningKind
Sensitivity: TypeAlias = Literal["scoped", "sensitive"]
Origin: TypeAlias = Literal["api", "daemon"]
CandidateState: TypeAlias = Literal["pending", "escalated", "published", "rejected"]
LearningStatus: TypeAlias = Literal["provisional", "active", "superseded", "revoked"]
Tier: TypeAlias = Literal["provisional", "active"]
PolicyDecision: TypeAlias = Literal["manual", "automatic", "escalated"]
Verification: TypeAlias = Literal["unverified", "pending", "verified", "failed"]
Mode: TypeAlias = Literal["manual_only", "shadow", "enabled"]
Action: TypeAlias = Literal["manual_review", "reject", "publish_provisional", "publish_active"]
CapturePath: TypeAlias = Literal["api", "run_summary", "labels", "model", "usage", "rollout"]
BulkAction: TypeAlias = Literal["publish", "reject"]


class SourceView(View):
    """Where something was said."""

    run_id: Omitted[str] = None
    session_id: Omitted[str] = None
    agent_id: Omitted[str] = None
    input_event_offset: Omitted[int] = None
    observation_id: Omitted[str] = None
    derivation_id: Omitted[str] = None


class EvidenceRefView(View):
    """What speaks for it."""

    run_id: Omitted[str] = None
    artifact_id: Omitted[str] = None
    note: Omitted[str] = None


class JudgeVerdictView(View):
    """What the judge said."""

    action: Action
    judged_at_ms: int
    reason: str


class AutomationReviewView(View):
    """What automation made of a candidate."""

    mode: Mode
    action: Action
    reviewed_at_ms: int
    # The revision of the policy that it was reviewed under.
    policy_revision: int
    matched_rule_name: Omitted[str] = None
    judge: Omitted[JudgeVerdictView] = None
    reason: str


class CandidateView(View):
    """Something that might be worth knowing, and waits for a decision or has one."""

    candidate_id: str
    origin: Origin
    scope: LearningScopeView
    kind: Kind
    sensitivity: Sensitivity
    content: str
    confidence: int
    source: SourceView
    evidence_refs: list[EvidenceRefView]
    created_at_ms: int
    expires_at_ms: Omitted[int] = None
    state: CandidateState
    automation_review: Omitted[AutomationReviewView] = None
    published_learning_id: Omitted[str] = None
    # What makes two of them the same, and what it is about.
    semantic_key: str
    subject_key: Omitted[str] = None
    # How it was found; `api` where somebody sent it.
    capture_path: CapturePath
    # Whether the run it was found in had read what tools or strangers wrote.
    derived_from_untrusted: bool
    # The same thing was rejected or taken back before; this one has evidence of its own.
    reproposal_of: Omitted[str] = None
    # Whether a person said no to the same thing before; no rule publishes what the daemon found then.
    declined_before: bool
    decided_at_ms: Omitted[int] = None
    decided_by: Omitted[str] = None
    decision_reason: Omitted[str] = None
    version: int
    # What may be done with it now.
    actions: list[str]


class RelatedLearningView(View):
    """A learning that has to do with another, in short."""

    learning_id: str
    scope: LearningScopeView
    status: LearningStatus
    content: str


class RejectedBeforeView(View):
    """The same thing where a person said no."""

    candidate_id: str
    decided_at_ms: Omitted[int] = None
    decided_by: Omitted[str] = None
    reason: Omitted[str] = None


class RevokedBeforeView(View):
    """The same thing where a person took it back."""

    learning_id: str
    scope: LearningScopeView
    revoked_at_ms: Omitted[int] = None
    revoked_by: Omitted[str] = None
    reason: Omitted[str] = None


class ReviewItemView(CandidateView):
    """A candidate with what whoever decides should know; all empty once it is decided."""

    # Whether it can no longer be published because its time is over.
    expired: bool
    # The learning that must be named in `supersedes` for this to be published as it is.
    conflicts_with: Omitted[RelatedLearningView] = None
    # Learnings in other scopes that say otherwise; in a prompt the narrower scope wins.
    contradicts: list[RelatedLearningView]
    # A learning that says the same; publishing answers that one.
    duplicate_of: Omitted[RelatedLearningView] = None
    # Newest first.
    rejected_before: list[RejectedBeforeView]
    # In any scope that is seen together with this one, newest first.
    revoked_before: list[RevokedBeforeView]


class NextItemView(View):
    """The candidate that has waited longest for a person, if any waits."""

    item: ReviewItemView | None


class LearningView(View):
    """Something that is known."""

    learning_id: str
    scope: LearningScopeView
    kind: Kind
    sensitivity: Sensitivity
    content: str
    confidence: int
    source: SourceView
    evidence_refs: list[EvidenceRefView]
    source_candidate_id: Omitted[str] = None
    created_at_ms: int
    published_at_ms: int
    expires_at_ms: Omitted[int] = None
    status: LearningStatus
    publish_tier: Tier
    policy_decision: Omitted[PolicyDecision] = None
    policy_actor: Omitted[str] = None
    verification_status: Verification
    supersedes: Omitted[str] = None
    superseded_by: Omitted[str] = None
    revoked_at_ms: Omitted[int] = None
    revoked_reason: Omitted[str] = None
    revoked_by: Omitted[str] = None
    semantic_key: str
    subject_key: Omitted[str] = None
    derived_from_untrusted: bool
    version: int
    # What may be done with it now.
    actions: list[str]


class PublishedView(LearningView):
    """A learning as publishing left it."""

    # Learnings in other scopes that say otherwise; in a prompt the narrower scope wins.
    contradicts: list[RelatedLearningView]


class BulkOutcomeView(View):
    """What became of one candidate, or would."""

    candidate_id: str
    # Whether it was decided so, or would be.
    done: bool
    learning_id: Omitted[str] = None
    # Why it is refused, as the single call would answer.
    code: Omitted[str] = None
    detail: Omitted[str] = None


class BulkDecisionView(View):
    """One decision about many candidates."""

    action: BulkAction
    dry_run: bool
    done_count: int
    refused_count: int
    items: list[BulkOutcomeView]
    # Whether the filter finds more than are decided at once; ask again for the rest.
    has_more: bool


class RevokedMatchingView(View):
    """The learnings that were taken back, or would be."""

    dry_run: bool
    count: int
    items: list[LearningView]


class UseView(View):
    """A run that had a learning in its prompt, and which version of it."""

    run_id: str
    session_id: str
    learning_version: int
    at_ms: int


class SourceRunView(View):
    """The run that something was found in."""

    run_id: str
    session_id: str
    agent_id: str
    status: str
    submitted_at_ms: int


class LineageView(View):
    """Where a learning came from, and where it went."""

    learning: LearningView
    # What it, or the first of those that it replaced, was published from.
    candidate: Omitted[CandidateView] = None
    # What automation and the judge made of that candidate, newest first.
    reviews: list[AutomationReviewView]
    # Absent where nothing names a run, or the run is gone.
    source_run: Omitted[SourceRunView] = None
    # What it replaced and what replaced it, nearest first.
    replaced: list[RelatedLearningView]
    replaced_by: list[RelatedLearningView]
    # The runs that had it in their prompt, newest first; `limit` and `cursor` page through them.
    use_count: int
    uses: Items[UseView]
