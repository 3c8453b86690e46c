"""The records of the learning plane: candidates, learnings, and how each came to be decided."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from understudy.sessions.learning_scopes import LearningScope

# What the index of terms calls learnings.
TERM_KIND: Final = "learning"

MAX_CONTENT_CHARS: Final = 1600
# Why a candidate was rejected that nobody decided on in time.
EXPIRED: Final = "expired"


class Kind(StrEnum):
    """What sort of knowledge it is."""

    RUN_SUMMARY = "run_summary"
    FACT = "fact"
    PREFERENCE = "preference"
    DECISION = "decision"
    PROCEDURE = "procedure"


# What may reach a prompt; the others are review material, or become skills.
SEMANTIC_KINDS: Final = frozenset({Kind.FACT, Kind.PREFERENCE, Kind.DECISION})


class Sensitivity(StrEnum):
    """Whether it may be told where its scope is seen."""

    SCOPED = "scoped"
    SENSITIVE = "sensitive"


class Origin(StrEnum):
    """Who proposed a candidate."""

    API = "api"
    DAEMON = "daemon"


class CandidateState(StrEnum):
    """Where a candidate stands."""

    PENDING = "pending"
    ESCALATED = "escalated"
    PUBLISHED = "published"
    REJECTED = "rejected"


class LearningStatus(StrEnum):
    """Where a learning stands."""

    PROVISIONAL = "provisional"
    ACTIVE = "active"
    SUPERSEDED = "superseded"
    REVOKED = "revoked"


class Tier(StrEnum):
    """How far a publication goes."""

    PROVISIONAL = "provisional"
    ACTIVE = "active"


class PolicyDecision(StrEnum):
    """How a learning came to be published."""

    MANUAL = "manual"
    AUTOMATIC = "automatic"
    ESCALATED = "escalated"


class Verification(StrEnum):
    """Whether the daemon found what a learning says in what its source run said."""

    UNVERIFIED = "unverified"
    PENDING = "pending"
    VERIFIED = "verified"
    FAILED = "failed"


class Mode(StrEnum):
    """How much automation may do."""

    MANUAL_ONLY = "manual_only"
    SHADOW = "shadow"
    ENABLED = "enabled"


class ReviewAction(StrEnum):
    """What automation may do with a candidate."""

    MANUAL_REVIEW = "manual_review"
    REJECT = "reject"
    PUBLISH_PROVISIONAL = "publish_provisional"
    PUBLISH_ACTIVE = "publish_active"


class CapturePath(StrEnum):
    """How a candidate was found."""

    API = "api"
    RUN_SUMMARY = "run_summary"
    LABELS = "labels"
    MODEL = "model"
    # By counting what runs do: only a person may make something of it.
    USAGE = "usage"
    # By watching what a promoted skill does; that too is for a person.
    ROLLOUT = "rollout"


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningSource:
    """Where something was said."""

    run_id: str | None = None
    session_id: str | None = None
    agent_id: str | None = None
    input_event_offset: int | None = None
    observation_id: str | None = None
    derivation_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceRef:
    """What speaks for it."""

    run_id: str | None = None
    artifact_id: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeVerdict:
    """What the judge said of a candidate."""

    action: ReviewAction
    judged_at_ms: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AutomationReview:
    """What automation made of a candidate."""

    mode: Mode
    action: ReviewAction
    reviewed_at_ms: int
    reason: str
    # The revision of the policy that it was reviewed under.
    policy_revision: int
    matched_rule_name: str | None = None
    judge: JudgeVerdict | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Something that might be worth knowing, and waits for a decision."""

    candidate_id: str
    origin: Origin
    scope: LearningScope
    kind: Kind
    content: str
    # Derived from the content when it is made: what makes two of them the same, and what one is about.
    semantic_key: str
    subject_key: str | None
    created_at_ms: int
    sensitivity: Sensitivity = Sensitivity.SCOPED
    confidence: int = 80
    source: LearningSource = LearningSource()
    evidence_refs: tuple[EvidenceRef, ...] = ()
    expires_at_ms: int | None = None
    state: CandidateState = CandidateState.PENDING
    capture_path: CapturePath = CapturePath.API
    # The run it was found in had read what tools or strangers wrote.
    derived_from_untrusted: bool = False
    # A candidate with the same key that a person rejected, or whose learning a person took back; this
    # one has evidence of its own.
    reproposal_of: str | None = None
    # A person said no to the same thing before; what the daemon found only a person may then publish.
    declined_before: bool = False
    # What it was found in, so that the same words said again are no new evidence.
    evidence_digest: str | None = None
    automation_review: AutomationReview | None = None
    published_learning_id: str | None = None
    decided_at_ms: int | None = None
    # Who decided: a user, or `daemon`.
    decided_by: str | None = None
    decision_reason: str | None = None
    version: int = 1

    def is_expired(self, now_ms: int) -> bool:
        """Whether its time is over."""
        return self.expires_at_ms is not None and self.expires_at_ms <= now_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """Something that is known."""

    learning_id: str
    scope: LearningScope
    kind: Kind
    content: str
    semantic_key: str
    subject_key: str | None
    created_at_ms: int
    published_at_ms: int
    status: LearningStatus
    publish_tier: Tier = Tier.ACTIVE
    sensitivity: Sensitivity = Sensitivity.SCOPED
    confidence: int = 80
    source: LearningSource = LearningSource()
    evidence_refs: tuple[EvidenceRef, ...] = ()
    source_candidate_id: str | None = None
    expires_at_ms: int | None = None
    policy_decision: PolicyDecision | None = None
    policy_actor: str | None = None
    verification_status: Verification = Verification.UNVERIFIED
    derived_from_untrusted: bool = False
    supersedes: str | None = None
    superseded_by: str | None = None
    revoked_at_ms: int | None = None
    revoked_reason: str | None = None
    # Who took it back: a user, or `daemon`.
    revoked_by: str | None = None
    version: int = 1

    def is_expired(self, now_ms: int) -> bool:
        """Whether its time is over."""
        return self.expires_at_ms is not None and self.expires_at_ms <= now_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateTally:
    """How many candidates of one capture path, decided by one rule, are in one state."""

    capture_path: str
    # The rule that matched; None where none did or nobody reviewed.
    rule: str | None
    state: str
    # Whether the daemon decided rather than a person.
    is_automatic: bool
    count: int
    # Whether nobody decided in time: rejected by the daemon with the reason `EXPIRED`.
    is_expired: bool = False


class Expired(NamedTuple):
    """A candidate whose time is over; in the order in which they are gone through."""

    expires_at_ms: int
    candidate_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningUse:
    """One learning in the prompt of one run, as it stood then."""

    learning_id: str
    learning_version: int
    run_id: str
    session_id: str
    at_ms: int
