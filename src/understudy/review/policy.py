"""The learning policy: what is captured, what automation may do, and who is asked first."""

from dataclasses import dataclass, field
from typing import Final

from understudy.learnings.capture_settings import CaptureSettings, ModelChoice
from understudy.learnings.model import Action, Kind, Mode, Sensitivity
from understudy.sessions.learning_scopes import ScopeKind

SETTING: Final = "learning_policy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule of publication; what it leaves out matches everything."""

    action: Action
    name: str | None = None
    scope_kind: ScopeKind | None = None
    scope_id: str | None = None
    kind: Kind | None = None
    sensitivity: Sensitivity | None = None
    min_confidence: int | None = None
    derived_from_untrusted: bool | None = None
    require_evidence: bool = False
    require_source_run: bool = False
    require_source_session: bool = False
    expires_after_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicationSettings:
    """What becomes of candidates; the first rule that matches decides."""

    default_action: Action = Action.MANUAL_REVIEW
    allow_api_origin_active_publication: bool = False
    allow_untrusted_active_publication: bool = False
    quarantined_rule_names: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """Whether a model is asked before automation acts."""

    enabled: bool = False
    model: ModelChoice | None = None
    timeout_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionSettings:
    """What a procedure must show before it becomes a skill."""

    require_executed_evidence: bool = False
    # How many runs have to verify it, and in how many sessions.
    min_successes: int = 1
    min_sessions: int = 1
    # Whether recorded runs have to be run again with it, and none may fare worse.
    require_replay: bool = False
    # To how many in a hundred sessions a canary is offered; to none it is hidden.
    canary_share_percent: int = 0
    # Whether an active skill is taken back that does worse than its baseline.
    demote_when_worse: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningPolicy:
    """What an operator decides about learning."""

    mode: Mode = Mode.SHADOW
    capture: CaptureSettings = field(default_factory=CaptureSettings)
    publication: PublicationSettings = PublicationSettings()
    judge: JudgeSettings = JudgeSettings()
    promotion: PromotionSettings = PromotionSettings()


DEFAULT: Final = LearningPolicy()


def rule_key(name: str) -> str:
    """What makes two names of rules the same."""
    return name.strip().casefold()
