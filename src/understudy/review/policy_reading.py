"""A learning policy as somebody gave it: what is left out takes its default, what is wrong is named."""

from collections.abc import Mapping
from typing import Any, Final

from understudy.core.clock import DAY_MS
from understudy.core.errors import FieldError, Invalid
from understudy.core.text import and_more
from understudy.learnings.capture_settings import (
    MAX_CANDIDATES_PER_RUN,
    CaptureSettings,
    ModelChoice,
    SemanticCaptureSettings,
)
from understudy.learnings.model import Action, Kind, Mode, Sensitivity
from understudy.review.policy import (
    DEFAULT,
    JudgeSettings,
    LearningPolicy,
    PromotionSettings,
    PublicationSettings,
    Rule,
    rule_key,
)
from understudy.review.policy_fields import (
    Spot,
    checked,
    fields,
    flag,
    many,
    maybe,
    number,
    one_of,
    record,
    text,
    whole,
)
from understudy.sessions.learning_scopes import ScopeKind

CODE: Final = "invalid_learning_policy"
MAX_RULES: Final = 200
MAX_NAME_CHARS: Final = 200
MAX_TIMEOUT_MS: Final = 120_000
MAX_EXPIRY_MS: Final = 100 * 366 * DAY_MS
MAX_NUMBER: Final = 2**31 - 1
MAX_STOPS: Final = 16
# More runs than anybody would wait for.
MAX_SUCCESSES: Final = 100
# How many problems are told in words; the list has all of them.
TOLD: Final = 5
TOLD_CHARS: Final = 100


def read_policy(given: Any) -> LearningPolicy:
    """The policy that a document describes, or `Invalid` with everything that is wrong in it."""
    spot = Spot()
    policy = _POLICY(given, spot)
    if spot.problems:
        raise wrong_policy(spot.problems)
    # Nothing was wrong, so it was made.
    found: LearningPolicy = policy
    return found


def wrong_policy(problems: list[FieldError]) -> Invalid:
    """The error for a policy that cannot be taken."""
    told = [f"{it.pointer[1:TOLD_CHARS] or 'policy'}: {it.detail}" for it in problems[:TOLD]]
    detail = "; ".join(and_more(told, len(problems) - TOLD))
    return Invalid(CODE, domain="runtime", detail=detail, errors=tuple(problems))


def _not_active(action: Action, spot: Spot) -> None:
    if action is Action.PUBLISH_ACTIVE:
        spot.wrong("publish_active is never the default; a rule has to name a kind for it")


def _trimmed(value: str, spot: Spot) -> None:
    if value != value.strip():
        spot.wrong("must have no blanks around it")


def _differ(names: tuple[str, ...], spot: Spot) -> None:
    seen: set[str] = set()
    for at, name in enumerate(names):
        key = rule_key(name)
        if key in seen:
            spot.within(at).wrong("is named already, whatever its case", code="duplicate")
        seen.add(key)


def _check_rule(rule: Rule, spot: Spot) -> None:
    if rule.action is not Action.PUBLISH_ACTIVE:
        return
    if rule.kind is None:
        spot.within("kind").wrong("publish_active needs a kind", code="missing")
    elif rule.kind is Kind.PROCEDURE:
        spot.within("kind").wrong("a procedure is never published as active")


def _check_judge(judge: JudgeSettings, spot: Spot) -> None:
    if judge.enabled:
        _check_timeout(judge.timeout_ms, spot)


def _check_semantic(semantic: SemanticCaptureSettings, spot: Spot) -> None:
    if not semantic.enabled:
        return
    _check_timeout(semantic.timeout_ms, spot)
    if not 1 <= semantic.max_candidates_per_run <= MAX_CANDIDATES_PER_RUN:
        detail = f"must be from 1 to {MAX_CANDIDATES_PER_RUN} while enabled"
        spot.within("max_candidates_per_run").wrong(detail)


def _check_timeout(timeout_ms: int | None, spot: Spot) -> None:
    if timeout_ms == 0:
        spot.within("timeout_ms").wrong("must be above 0 while enabled", code="too_small")


def _stop(value: Any, spot: Spot) -> Any:
    """A text or a list of texts, of any characters that can be stored."""
    words = value if isinstance(value, list) else [value]
    fits = len(words) <= MAX_STOPS and all(
        isinstance(it, str) and 0 < len(it) <= MAX_NAME_CHARS and "\0" not in it for it in words
    )
    if not fits:
        detail = (
            f"must be a text or at most {MAX_STOPS} of them, of 1 to {MAX_NAME_CHARS} characters"
        )
        spot.wrong(detail)
    return value


_ID = checked(text(MAX_NAME_CHARS), _trimmed)
_TIMEOUT = maybe(whole(0, MAX_TIMEOUT_MS))

_GENERATION = fields(
    {
        "model": maybe(text(500)),
        "temperature": maybe(number(0, 2)),
        "top_p": maybe(number(0, 1)),
        "max_tokens": maybe(whole(1, MAX_NUMBER)),
        "seed": maybe(whole(-(2**63), 2**63 - 1)),
        "stop": maybe(_stop),
    }
)

_MODEL = maybe(record(ModelChoice, {"provider": maybe(_ID), "generation": maybe(_GENERATION)}))

_SEMANTIC = checked(
    record(
        SemanticCaptureSettings,
        {
            "enabled": flag,
            "model": _MODEL,
            "timeout_ms": _TIMEOUT,
            "max_candidates_per_run": whole(0, MAX_NUMBER),
        },
    ),
    _check_semantic,
)

_RULE = checked(
    record(
        Rule,
        {
            "name": maybe(text(MAX_NAME_CHARS)),
            "scope_kind": maybe(one_of(ScopeKind)),
            "scope_id": maybe(_ID),
            "kind": maybe(one_of(Kind)),
            "sensitivity": maybe(one_of(Sensitivity)),
            "min_confidence": maybe(whole(0, 100)),
            "derived_from_untrusted": maybe(flag),
            "require_evidence": flag,
            "require_source_run": flag,
            "require_source_session": flag,
            "action": one_of(Action),
            "expires_after_ms": maybe(whole(1, MAX_EXPIRY_MS)),
        },
        required=("action",),
    ),
    _check_rule,
)

_PUBLICATION = record(
    PublicationSettings,
    {
        "default_action": checked(one_of(Action), _not_active),
        "allow_api_origin_active_publication": flag,
        "allow_untrusted_active_publication": flag,
        "quarantined_rule_names": checked(many(text(MAX_NAME_CHARS), MAX_RULES), _differ),
        "rules": many(_RULE, MAX_RULES),
    },
)

_JUDGE = checked(
    record(JudgeSettings, {"enabled": flag, "model": _MODEL, "timeout_ms": _TIMEOUT}), _check_judge
)

_PROMOTION = record(
    PromotionSettings,
    {
        "require_executed_evidence": flag,
        "min_successes": whole(1, MAX_SUCCESSES),
        "min_sessions": whole(1, MAX_SUCCESSES),
        "require_replay": flag,
        "canary_share_percent": whole(0, 100),
        "demote_when_worse": flag,
    },
)


def _policy(**given: Any) -> LearningPolicy:
    return LearningPolicy(**{**given, "capture": _capture(given)})


def _capture(given: Mapping[str, Any]) -> CaptureSettings:
    """What is captured; while automation decides, a summary of every run would only flood it."""
    is_enabled = given.get("mode", DEFAULT.mode) is Mode.ENABLED
    return CaptureSettings(**{"run_summary_candidates": not is_enabled, **given.get("capture", {})})


_POLICY = record(
    _policy,
    {
        "mode": one_of(Mode),
        "capture": fields({"run_summary_candidates": flag, "semantic_candidates": _SEMANTIC}),
        "publication": _PUBLICATION,
        "judge": _JUDGE,
        "promotion": _PROMOTION,
    },
)
