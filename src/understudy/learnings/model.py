"""Records of the learning plane: candidates, learnings, their states, reviews and filters."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum, auto
from typing import Annotated, Final, NamedTuple

from pydantic import computed_field

from understudy.core.invisible_characters import is_unseen
from understudy.core.machine import Machine
from understudy.core.records import HIDDEN, OMIT_EMPTY, Omitted, reduced
from understudy.sessions.learning_scopes import LearningScope

# The kind of learnings in the term index.
TERM_KIND: Final = "learning"

MAX_CONTENT_CHARS: Final = 1600
# The reason of a candidate that the daemon rejected because it expired.
EXPIRED: Final = "expired"


class Kind(StrEnum):
    """The kind of a statement."""

    RUN_SUMMARY = "run_summary"
    FACT = "fact"
    PREFERENCE = "preference"
    DECISION = "decision"
    PROCEDURE = "procedure"


# Kinds that may be injected; the others are for reviewers, or become skills.
SEMANTIC_KINDS: Final = frozenset({Kind.FACT, Kind.PREFERENCE, Kind.DECISION})


class Sensitivity(StrEnum):
    """Whether a learning may be injected and found where its scope is visible."""

    SCOPED = "scoped"
    SENSITIVE = "sensitive"


class Applies(StrEnum):
    """When a learning is injected: where it matches the input, or in every run."""

    WHEN_RELEVANT = "when_relevant"
    ALWAYS = "always"


class Origin(StrEnum):
    """Who proposed a candidate."""

    API = "api"
    DAEMON = "daemon"


class CandidateState(StrEnum):
    """The state of a candidate."""

    PENDING = "pending"
    ESCALATED = "escalated"
    PUBLISHED = "published"
    REJECTED = "rejected"


class LearningStatus(StrEnum):
    """The status of a learning."""

    PROVISIONAL = "provisional"
    ACTIVE = "active"
    SUPERSEDED = "superseded"
    REVOKED = "revoked"


class Tier(StrEnum):
    """The tier that a learning is published in."""

    PROVISIONAL = "provisional"
    ACTIVE = "active"


class PolicyDecision(StrEnum):
    """How the publication of a learning was decided."""

    MANUAL = "manual"
    AUTOMATIC = "automatic"
    ESCALATED = "escalated"


class Verification(StrEnum):
    """Whether the daemon found the statement of a learning in its source run."""

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
    # By usage statistics; only a person may publish it.
    USAGE = "usage"
    # By observing a promoted skill; only a person may decide it.
    ROLLOUT = "rollout"


class Relation(StrEnum):
    """How a statement relates to a known learning."""

    SAME = auto()
    CONTRADICTS = auto()
    # Nobody could say: no model was asked, or it named no relation.
    UNKNOWN = auto()


CANDIDATE: Final = Machine(
    name="learning candidate",
    steps={
        CandidateState.PENDING: frozenset(
            {CandidateState.ESCALATED, CandidateState.PUBLISHED, CandidateState.REJECTED}
        ),
        CandidateState.ESCALATED: frozenset({CandidateState.PUBLISHED, CandidateState.REJECTED}),
        # A person may take their decision back; see `learnings/reopen.py`.
        CandidateState.PUBLISHED: frozenset({CandidateState.PENDING}),
        CandidateState.REJECTED: frozenset({CandidateState.PENDING}),
    },
    conflict_code="candidate_state_conflict",
    domain="learnings",
)

LEARNING: Final = Machine(
    name="learning",
    steps={
        # Active by the daemon alone, when late evidence verifies it; people supersede it.
        LearningStatus.PROVISIONAL: frozenset(
            {LearningStatus.ACTIVE, LearningStatus.SUPERSEDED, LearningStatus.REVOKED}
        ),
        LearningStatus.ACTIVE: frozenset({LearningStatus.SUPERSEDED, LearningStatus.REVOKED}),
        # Live again where the publication of its replacement is undone.
        LearningStatus.SUPERSEDED: frozenset(
            {LearningStatus.REVOKED, LearningStatus.PROVISIONAL, LearningStatus.ACTIVE}
        ),
        LearningStatus.REVOKED: frozenset(),
    },
    conflict_code="learning_state_conflict",
    domain="learnings",
)

OPEN: Final = frozenset({CandidateState.PENDING, CandidateState.ESCALATED})
LIVE: Final = frozenset({LearningStatus.PROVISIONAL, LearningStatus.ACTIVE})
# The verb of the operation that brings a record into a state.
_VERBS: Final[Mapping[str, str]] = {
    CandidateState.PUBLISHED: "publish",
    CandidateState.REJECTED: "reject",
    LearningStatus.SUPERSEDED: "supersede",
    LearningStatus.REVOKED: "revoke",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningSource:
    """The source of a statement."""

    run_id: Omitted[str] = None
    session_id: Omitted[str] = None
    agent_id: Omitted[str] = None
    # The program that reported the run, where we do not run the agent.
    client: Omitted[str] = None
    input_event_offset: Omitted[int] = None
    observation_id: Omitted[str] = None
    derivation_id: Omitted[str] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceRef:
    """One piece of evidence for a statement."""

    run_id: Omitted[str] = None
    artifact_id: Omitted[str] = None
    note: Omitted[str] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedRelation:
    """The relation to one learning that a model named."""

    learning_id: str
    relation: Relation


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeVerdict:
    """The verdict of the judge on a candidate."""

    action: ReviewAction
    judged_at_ms: int
    reason: str
    # Whether the judge says plainly that the user's words mean the statement.
    supported: Omitted[bool] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AutomationReview:
    """The review of a candidate by automation."""

    mode: Mode
    action: ReviewAction
    reviewed_at_ms: int
    reason: str
    # The policy revision that the review applied.
    policy_revision: int
    matched_rule_name: Omitted[str] = None
    judge: Omitted[JudgeVerdict] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A proposed statement that waits for a decision or has one."""

    candidate_id: str
    origin: Origin
    scope: LearningScope
    kind: Kind
    content: str
    # Derived from the content: equal keys mean the same statement; the subject is what it is about.
    semantic_key: str
    subject_key: Omitted[str] = None
    created_at_ms: int
    sensitivity: Sensitivity = Sensitivity.SCOPED
    applies: Applies = Applies.WHEN_RELEVANT
    confidence: int = 80
    source: LearningSource = LearningSource()
    evidence_refs: tuple[EvidenceRef, ...] = ()
    expires_at_ms: Omitted[int] = None
    state: CandidateState = CandidateState.PENDING
    capture_path: CapturePath = CapturePath.API
    # The source run had read the output of tools, files or strangers.
    derived_from_untrusted: bool = False
    # The candidate with the same key that a person declined; this one has new evidence.
    reproposal_of: Omitted[str] = None
    # A person declined the same statement before, so automation may not publish it.
    declined_before: bool = False
    # Digest of the source sentence: the same sentence again is no new evidence.
    evidence_digest: Annotated[str | None, HIDDEN] = None
    # The user's own words that it rests on, as a model copied them.
    quote: Omitted[str] = None
    # Its relations to its nearest learnings as a model named them, and the ids of the learnings that
    # it was compared with: the model is asked again only for others.
    relations: Annotated[tuple[StatedRelation, ...], OMIT_EMPTY] = ()
    compared: Annotated[tuple[str, ...], HIDDEN] = ()
    automation_review: Omitted[AutomationReview] = None
    published_learning_id: Omitted[str] = None
    decided_at_ms: Omitted[int] = None
    # Who decided: a user, or `daemon`.
    decided_by: Omitted[str] = None
    decision_reason: Omitted[str] = None
    # Learnings that it became before its publication was undone, oldest first.
    undone_learning_ids: Annotated[tuple[str, ...], OMIT_EMPTY] = ()
    # The queue of review skips it until then.
    snoozed_until_ms: Omitted[int] = None
    version: int = 1

    @property
    def review_rank(self) -> int:
        """The sort key in the queue of review: kinds that can be injected come first."""
        if self.kind is Kind.RUN_SUMMARY:
            return 3
        if self.sensitivity is Sensitivity.SENSITIVE:
            return 2
        return 0 if self.kind in SEMANTIC_KINDS else 1

    @computed_field
    @property
    def actions(self) -> tuple[str, ...]:
        """The operations that the state of the candidate allows."""
        return tuple(_VERBS[it] for it in CANDIDATE.allowed(self.state) if it in _VERBS)

    def is_expired(self, now_ms: int) -> bool:
        """Whether it has expired."""
        return self.expires_at_ms is not None and self.expires_at_ms <= now_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """A published statement."""

    learning_id: str
    scope: LearningScope
    kind: Kind
    content: str
    semantic_key: str
    subject_key: Omitted[str] = None
    created_at_ms: int
    published_at_ms: int
    status: LearningStatus
    publish_tier: Tier = Tier.ACTIVE
    sensitivity: Sensitivity = Sensitivity.SCOPED
    applies: Applies = Applies.WHEN_RELEVANT
    confidence: int = 80
    source: LearningSource = LearningSource()
    evidence_refs: tuple[EvidenceRef, ...] = ()
    source_candidate_id: Omitted[str] = None
    expires_at_ms: Omitted[int] = None
    policy_decision: Omitted[PolicyDecision] = None
    policy_actor: Omitted[str] = None
    verification_status: Verification = Verification.UNVERIFIED
    derived_from_untrusted: bool = False
    supersedes: Omitted[str] = None
    superseded_by: Omitted[str] = None
    revoked_at_ms: Omitted[int] = None
    revoked_reason: Omitted[str] = None
    # Who revoked it: a user, or `daemon`.
    revoked_by: Omitted[str] = None
    # When its publication was undone: that revocation is no refusal of the statement.
    undone_at_ms: Omitted[int] = None
    # How often the same was published again.
    said_again: int = 0
    version: int = 1

    @computed_field
    @property
    def actions(self) -> tuple[str, ...]:
        """The operations that the status of the learning allows."""
        return tuple(_VERBS[it] for it in LEARNING.allowed(self.status) if it in _VERBS)

    def is_expired(self, now_ms: int) -> bool:
        """Whether it has expired."""
        return self.expires_at_ms is not None and self.expires_at_ms <= now_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A learning near to a statement, and how the statement relates to it."""

    learning_id: str
    content: str
    scope: LearningScope
    score: float
    relation: Relation


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedLearning:
    """The short form of a learning that another record refers to."""

    learning_id: str
    scope: LearningScope
    status: LearningStatus
    content: str


def related(learnings: Iterable[Learning]) -> tuple[RelatedLearning, ...]:
    """The short forms of learnings."""
    return tuple(reduced(RelatedLearning, it) for it in learnings)


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateTally:
    """How many candidates of one capture path, decided by one rule, are in one state."""

    capture_path: str
    # The rule that matched; None without a match or a review.
    rule: str | None
    state: str
    # Whether the daemon decided rather than a person.
    is_automatic: bool
    count: int
    # Rejected by the daemon with the reason `EXPIRED`.
    is_expired: bool = False


class Expired(NamedTuple):
    """An expired candidate, as the sort key of the expiry pass."""

    expires_at_ms: int
    candidate_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningUse:
    """One learning injected into the prompt of one run, with its version then."""

    learning_id: Annotated[str, HIDDEN] = ""
    learning_version: int
    run_id: str
    session_id: str
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateFilter:
    """A filter of candidates; a field that is None does not narrow."""

    # Searched in id, scope key, kind, content and source run, ignoring case.
    query: str | None = None
    scope: LearningScope | None = None
    kind: Kind | None = None
    applies: Applies | None = None
    state: CandidateState | None = None
    # Only pending and escalated ones, in the order of review.
    waiting: bool = False
    # Only these; empty does not narrow.
    candidate_ids: tuple[str, ...] = ()
    # Only what the caller proposed, and what was found in the caller's own runs.
    own: bool = False

    def __post_init__(self) -> None:
        _drop_blanks(self, "query")


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningFilter:
    """A filter of learnings; a field that is None does not narrow."""

    query: str | None = None
    scope: LearningScope | None = None
    kind: Kind | None = None
    applies: Applies | None = None
    status: LearningStatus | None = None
    publish_tier: Tier | None = None
    verification_status: Verification | None = None
    policy_decision: PolicyDecision | None = None
    # Compared ignoring case.
    policy_actor: str | None = None
    # The rule that matched in the review of its candidate.
    matched_rule_name: str | None = None
    # From this time on, and before that one.
    published_after_ms: int | None = None
    published_before_ms: int | None = None
    # Whether any run had it injected.
    used: bool | None = None

    def __post_init__(self) -> None:
        _drop_blanks(self, "query", "policy_actor", "matched_rule_name")

    @property
    def is_empty(self) -> bool:
        """Whether the filter matches every learning."""
        return self == LearningFilter()


def _drop_blanks(narrowed: CandidateFilter | LearningFilter, *names: str) -> None:
    """Replace blank or invisible texts by None, since they would match everything."""
    for name in names:
        object.__setattr__(narrowed, name, _said(getattr(narrowed, name)))


def _said(text: str | None) -> str | None:
    trimmed = (text or "").strip()
    return None if all(it.isspace() or is_unseen(it) for it in trimmed) else trimmed
