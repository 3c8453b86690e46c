"""The learning policy on the wire: what is captured, what automation may do, and what it would."""

from typing import Annotated, Any, Final, TypeAlias, get_args

from pydantic import Field, WithJsonSchema

from understudy.wire.base import JsonObject, Omitted, Request, View
from understudy.wire.learnings import Action, CandidateState, Kind, Mode, Sensitivity
from understudy.wire.memory import LearningScopeView, ScopeKind
from understudy.wire.policy_schema import closed, policy_schema

MAX_DAYS: Final = 90


class ModelChoiceView(View):
    """A route other than the daemon's own, and how it is to answer."""

    provider: Omitted[str] = None
    generation: Omitted[JsonObject] = None


class SemanticCaptureView(View):
    """Whether facts, preferences and decisions are looked for in completed runs."""

    enabled: bool
    model: ModelChoiceView | None
    timeout_ms: int | None
    max_candidates_per_run: int


class CaptureView(View):
    """What is proposed without anybody asking."""

    run_summary_candidates: bool
    semantic_candidates: SemanticCaptureView


class RuleView(View):
    """One rule of publication; what it leaves out matches everything."""

    name: Omitted[str] = None
    scope_kind: Omitted[ScopeKind] = None
    scope_id: Omitted[str] = None
    kind: Omitted[Kind] = None
    sensitivity: Omitted[Sensitivity] = None
    min_confidence: Omitted[int] = None
    derived_from_untrusted: Omitted[bool] = None
    require_evidence: bool
    require_source_run: bool
    require_source_session: bool
    action: Action
    expires_after_ms: Omitted[int] = None


class PublicationView(View):
    """What becomes of candidates; the first rule that matches decides."""

    default_action: Action
    allow_api_origin_active_publication: bool
    allow_untrusted_active_publication: bool
    quarantined_rule_names: list[str]
    rules: list[RuleView]


class JudgeView(View):
    """Whether a model is asked before automation acts."""

    enabled: bool
    model: ModelChoiceView | None
    timeout_ms: int | None


class PromotionView(View):
    """What a procedure must show before it becomes a skill."""

    require_executed_evidence: bool
    min_successes: int
    min_sessions: int
    require_replay: bool
    canary_share_percent: int
    demote_when_worse: bool


class LearningPolicyFields(View):
    """What an operator decided about learning."""

    mode: Mode
    capture: CaptureView
    publication: PublicationView
    judge: JudgeView
    promotion: PromotionView


class LearningPolicyView(View):
    """The learning policy in force."""

    policy: LearningPolicyFields
    revision: int
    updated_at_ms: int


class LearningPolicyRevisionView(LearningPolicyView):
    """The policy as it stood after one change."""

    actor: str
    setting: str
    rollback_of_revision: Omitted[int] = None


class MismatchView(View):
    """One field of a rule that a candidate does not meet."""

    field: str
    wanted: str
    had: str


class RuleTraceView(View):
    """What one rule had to say of a candidate."""

    # Its place among the rules, from 0.
    index: int
    name: Omitted[str] = None
    action: Action
    # Whether every field of it fits; a rule in quarantine may fit and has no say.
    matched: bool
    quarantined: bool
    # Whether it is the first that fits and has a say.
    decided: bool
    mismatches: list[MismatchView]


class AdjustmentView(View):
    """A step after the rules, which changed what they said."""

    code: str
    before: Action
    after: Action
    reason: str


class CandidateExplainView(View):
    """What the policy in force makes of a candidate, and how it comes to that."""

    candidate_id: str
    policy_revision: int
    mode: Mode
    action: Action
    matched_rule_name: Omitted[str] = None
    reason: str
    # When what is published would end.
    expires_at_ms: Omitted[int] = None
    # Why it is turned away before any rule is asked.
    refused: Omitted[str] = None
    rules: list[RuleTraceView]
    adjustments: list[AdjustmentView]


class DryRunLearningPolicy(Request):
    """A policy to try on what waits, and on what was decided in the last days."""

    policy: JsonObject
    days: int = Field(default=7, ge=1, le=MAX_DAYS)


class OutlookView(View):
    """What becomes of a candidate under a policy; for a decided one, what became of it."""

    action: Action
    # Whether it happens, rather than only being noted or asked for.
    takes_effect: bool
    reason: str
    matched_rule_name: Omitted[str] = None
    expires_at_ms: Omitted[int] = None


class PolicyEffectView(View):
    """A candidate that another policy would treat otherwise."""

    candidate_id: str
    kind: Kind
    scope: LearningScopeView
    state: CandidateState
    before: OutlookView
    after: OutlookView


class LearningPolicyDryRunView(View):
    """What a policy would do otherwise; neither the judge nor the evidence was asked."""

    days: int
    # How many candidates were looked at: those that wait, and those decided in these days.
    pending_count: int
    decided_count: int
    # Whether there are more than were looked at.
    truncated: bool
    # How many of them come to which action, now and under the policy that is tried.
    before: dict[Action, int]
    after: dict[Action, int]
    changes: list[PolicyEffectView]


_FLAG: Final[JsonObject] = {"type": "boolean", "default": False}
_TEXT: Final[JsonObject] = {"type": ["string", "null"]}
_SUCCESSES: Final[JsonObject] = {"type": "integer", "minimum": 1, "maximum": 100, "default": 1}
_TIMEOUT: Final[JsonObject] = {"type": ["integer", "null"], "minimum": 0, "default": None}
_MODEL: Final[JsonObject] = {
    "anyOf": [
        closed({"provider": _TEXT, "generation": {"type": ["object", "null"]}}),
        {"type": "null"},
    ],
    "default": None,
}
_ACTIONS: Final = [*get_args(Action)]
_RULE: Final[JsonObject] = closed(
    {
        "name": _TEXT,
        "scope_kind": {"enum": [*get_args(ScopeKind), None]},
        "scope_id": _TEXT,
        "kind": {"enum": [*get_args(Kind), None]},
        "sensitivity": {"enum": [*get_args(Sensitivity), None]},
        "min_confidence": {"type": ["integer", "null"], "minimum": 0, "maximum": 100},
        "derived_from_untrusted": {"type": ["boolean", "null"]},
        "require_evidence": _FLAG,
        "require_source_run": _FLAG,
        "require_source_session": _FLAG,
        "action": {"enum": _ACTIONS},
        "expires_after_ms": {"type": ["integer", "null"], "minimum": 1},
    },
    required=["action"],
)
_SEMANTIC: Final[JsonObject] = closed(
    {
        "enabled": _FLAG,
        "model": _MODEL,
        "timeout_ms": _TIMEOUT,
        "max_candidates_per_run": {"type": "integer", "minimum": 1, "maximum": 8, "default": 2},
    }
)
_FIELDS: Final[JsonObject] = {
    "mode": {"enum": [*get_args(Mode)], "default": "shadow"},
    "capture": closed(
        {
            "run_summary_candidates": {
                "type": "boolean",
                "description": "left out: true, but false in mode `enabled`",
            },
            "semantic_candidates": _SEMANTIC,
        }
    ),
    "publication": closed(
        {
            "default_action": {
                "enum": [action for action in _ACTIONS if action != "publish_active"],
                "default": "manual_review",
            },
            "allow_api_origin_active_publication": _FLAG,
            "allow_untrusted_active_publication": _FLAG,
            "quarantined_rule_names": {"type": "array", "items": {"type": "string"}},
            "rules": {"type": "array", "items": _RULE},
        }
    ),
    "judge": closed({"enabled": _FLAG, "model": _MODEL, "timeout_ms": _TIMEOUT}),
    "promotion": closed(
        {
            "require_executed_evidence": _FLAG,
            "min_successes": _SUCCESSES,
            "min_sessions": _SUCCESSES,
            "require_replay": _FLAG,
            "canary_share_percent": {"type": "integer", "minimum": 0, "maximum": 100, "default": 0},
            "demote_when_worse": {"type": "boolean", "default": True},
        }
    ),
}
SetLearningPolicy: TypeAlias = Annotated[
    Any, WithJsonSchema(policy_schema("SetLearningPolicy", _FIELDS))
]
