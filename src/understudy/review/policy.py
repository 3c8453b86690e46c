"""The learning policy: capture, publication rules, judge, and promotion to skills."""

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import AfterValidator, StrictBool, WithJsonSchema
from pydantic_core import PydanticCustomError

from understudy.core.clock import DAY_MS
from understudy.core.records import OMIT
from understudy.learnings.capture_settings import (
    MAX_NAME_CHARS,
    MAX_TIMEOUT_MS,
    CaptureSettings,
    ConflictSettings,
    ModelChoice,
    SemanticCaptureSettings,
)
from understudy.learnings.model import Kind, Mode, ReviewAction, Sensitivity
from understudy.runtime.policy import AtMost, Line, Number, PolicyKind, Whole, check
from understudy.runtime.service import current_revision
from understudy.sessions.learning_scopes import ScopeKind

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

MAX_RULES: Final = 200
MAX_EXPIRY_MS: Final = 100 * 366 * DAY_MS
# A higher number would never be reached.
MAX_SUCCESSES: Final = 100
MAX_STANDING: Final = 100
MAX_STANDING_TOKENS: Final = 10_000

_Name = Annotated[str, Line(MAX_NAME_CHARS)]
_Id = Annotated[str, Line(MAX_NAME_CHARS, trimmed=True)]
_Successes = Annotated[int, Whole(1, MAX_SUCCESSES)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRule:
    """One publication rule; a field that is left out matches everything."""

    action: ReviewAction
    name: Annotated[_Name | None, OMIT] = None
    scope_kind: Annotated[ScopeKind | None, OMIT] = None
    scope_id: Annotated[_Id | None, OMIT] = None
    kind: Annotated[Kind | None, OMIT] = None
    sensitivity: Annotated[Sensitivity | None, OMIT] = None
    min_confidence: Annotated[Annotated[int, Whole(0, 100)] | None, OMIT] = None
    derived_from_untrusted: Annotated[StrictBool | None, OMIT] = None
    # The program that reported the source run; what it reports is published by no other rule.
    client: Annotated[_Id | None, OMIT] = None
    require_evidence: StrictBool = False
    require_source_run: StrictBool = False
    require_source_session: StrictBool = False
    expires_after_ms: Annotated[Annotated[int, Whole(1, MAX_EXPIRY_MS)] | None, OMIT] = None


def rule_key(name: str) -> str:
    """The key by which names of rules are compared."""
    return name.strip().casefold()


def _checked_rule(rule: PolicyRule) -> PolicyRule:
    if rule.action is ReviewAction.PUBLISH_ACTIVE and rule.kind is None:
        check([("kind", "missing", "publish_active needs a kind")])
    if rule.action is ReviewAction.PUBLISH_ACTIVE and rule.kind is Kind.PROCEDURE:
        check([("kind", "wrong_value", "a procedure is never published as active")])
    return rule


def _checked_default(action: ReviewAction) -> ReviewAction:
    if action is ReviewAction.PUBLISH_ACTIVE:
        detail = "publish_active is never the default; a rule has to name a kind for it"
        raise PydanticCustomError("wrong_value", detail)
    return action


def _checked_names(names: tuple[str, ...]) -> tuple[str, ...]:
    keys = [rule_key(name) for name in names]
    detail = "is named already, whatever its case"
    check((at, "duplicate", detail) for at, key in enumerate(keys) if key in keys[:at])
    return names


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicationSettings:
    """The rules of publication; the first match decides."""

    default_action: Annotated[
        ReviewAction,
        AfterValidator(_checked_default),
        WithJsonSchema(
            {"enum": sorted(set(ReviewAction) - {ReviewAction.PUBLISH_ACTIVE})}, mode="validation"
        ),
    ] = ReviewAction.MANUAL_REVIEW
    allow_api_origin_active_publication: StrictBool = False
    allow_untrusted_active_publication: StrictBool = False
    quarantined_rule_names: Annotated[
        tuple[_Name, ...], AtMost(MAX_RULES), AfterValidator(_checked_names)
    ] = ()
    rules: Annotated[
        tuple[Annotated[PolicyRule, AfterValidator(_checked_rule)], ...], AtMost(MAX_RULES)
    ] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """Whether and how a judge model is asked before automation acts."""

    enabled: StrictBool = False
    model: ModelChoice | None = None
    timeout_ms: Annotated[int, Whole(0, MAX_TIMEOUT_MS)] | None = None


def _checked_judge(judge: JudgeSettings) -> JudgeSettings:
    if judge.enabled and judge.timeout_ms == 0:
        check([("timeout_ms", "too_small", "must be above 0 while enabled")])
    return judge


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionSettings:
    """The evidence a procedure needs before it becomes a skill."""

    require_executed_evidence: StrictBool = False
    # The verified runs it needs, and in how many sessions.
    min_successes: _Successes = 1
    min_sessions: _Successes = 1
    # Whether a replay of recorded runs without a regression is required.
    require_replay: StrictBool = False
    # The percentage of sessions that a canary is offered to; 0 hides it.
    canary_share_percent: Annotated[int, Whole(0, 100)] = 0
    # Whether an active skill is demoted when it does worse than its baseline.
    demote_when_worse: StrictBool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalSettings:
    """Settings for the injection of learnings."""

    # The share of the input that the best match must cover for any to be injected; others must
    # cover half of it. 0 lets every match through.
    relevance_floor: Annotated[float, Number(0, 1)] = 0.38
    # The limits for learnings that apply to every task: their number, and the tokens of their texts
    # without the frame.
    max_standing_entries: Annotated[int, Whole(0, MAX_STANDING)] = 12
    max_standing_tokens: Annotated[int, Whole(0, MAX_STANDING_TOKENS)] = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningPolicy:
    """The learning policy."""

    mode: Mode = Mode.SHADOW
    capture: CaptureSettings = field(default_factory=CaptureSettings)
    publication: PublicationSettings = PublicationSettings()
    judge: Annotated[JudgeSettings, AfterValidator(_checked_judge)] = JudgeSettings()
    promotion: PromotionSettings = PromotionSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    conflicts: ConflictSettings = field(default_factory=ConflictSettings)


DEFAULT: Final = LearningPolicy()
# A damaged policy fails closed: nothing is automatic.
CLOSED: Final = LearningPolicy(
    mode=Mode.MANUAL_ONLY,
    capture=CaptureSettings(semantic_candidates=SemanticCaptureSettings(enabled=False)),
    promotion=PromotionSettings(require_executed_evidence=True, require_replay=True),
)
LEARNING_POLICY: Final[PolicyKind[LearningPolicy]] = PolicyKind(
    setting="learning_policy",
    code="invalid_learning_policy",
    shape=LearningPolicy,
    default=DEFAULT,
    damaged=CLOSED,
)


def policy_digest(policy: LearningPolicy) -> str:
    """The digest of a policy for reviews: equal for policies that review alike."""
    said = LEARNING_POLICY.to_json(policy)
    # Of promotion only the field that the first digests had: the others must not cause every
    # candidate to be reviewed again.
    said["promotion"] = {name: said["promotion"][name] for name in ("require_executed_evidence",)}
    # Reviews do not depend on retrieval settings.
    del said["retrieval"]
    # Nor on how a model compares statements.
    del said["conflicts"]
    canonical = json.dumps(said, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyInForce:
    """A policy with its revision and digest."""

    policy: LearningPolicy
    revision: int
    digest: str


def in_force(unit: "Unit") -> PolicyInForce:
    """The policy in force, with its revision and digest."""
    revision = current_revision(unit)
    policy = LEARNING_POLICY.usable(revision.document)
    return PolicyInForce(policy=policy, revision=revision.revision, digest=policy_digest(policy))


def policy_in(unit: "Unit") -> LearningPolicy:
    """The policy in force."""
    return LEARNING_POLICY.usable(current_revision(unit).document)


def capture_in(unit: "Unit") -> CaptureSettings:
    """The capture settings of the policy in force."""
    return policy_in(unit).capture


def promotion_in(unit: "Unit") -> PromotionSettings:
    """The promotion settings of the policy in force."""
    return policy_in(unit).promotion


def retrieval_in(unit: "Unit") -> RetrievalSettings:
    """The retrieval settings of the policy in force."""
    return policy_in(unit).retrieval


def conflicts_in(unit: "Unit") -> ConflictSettings:
    """The settings of the policy in force for comparing statements."""
    return policy_in(unit).conflicts


def judge_in(unit: "Unit") -> JudgeSettings:
    """The judge settings of the policy in force."""
    return policy_in(unit).judge
