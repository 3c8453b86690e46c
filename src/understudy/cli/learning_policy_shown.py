"""The learning policy in words, and what another one would do."""

from typing import TYPE_CHECKING, Final

from understudy.cli import screen
from understudy.cli.cadences import span_words
from understudy.cli.candidates_shown import scope_words
from understudy.cli.output import note
from understudy.cli.screen import Pairs, count, one_line, visible

if TYPE_CHECKING:
    from understudy.wire.learning_policy import (
        JudgeView,
        LearningPolicyDryRunView,
        LearningPolicyView,
        ModelChoiceView,
        OutlookView,
        PromotionView,
        RuleView,
        SemanticCaptureView,
    )

MODES: Final = {
    "manual_only": "people decide, and automation does not look",
    "shadow": "people decide, and automation notes what it would have done",
    "enabled": "automation decides, and people what it leaves to them",
}
# What a rule may ask of a candidate, in the order in which it is told.
CONDITIONS: Final = (
    "scope_kind",
    "scope_id",
    "kind",
    "sensitivity",
    "min_confidence",
    "derived_from_untrusted",
)
REQUIREMENTS: Final = ("require_evidence", "require_source_run", "require_source_session")


def policy_pairs(view: "LearningPolicyView") -> Pairs:
    """Everything that the policy in force says."""
    policy, publication = view.policy, view.policy.publication
    return [
        ("revision", view.revision),
        ("changed", screen.ago(view.updated_at_ms)),
        ("mode", f"{policy.mode}: {MODES.get(policy.mode, '')}"),
        ("run summaries", "proposed" if policy.capture.run_summary_candidates else "not proposed"),
        ("semantic capture", _semantic(policy.capture.semantic_candidates)),
        ("rules", "\n".join(_rule(at, rule) for at, rule in enumerate(publication.rules, 1))),
        ("default action", publication.default_action),
        ("in quarantine", ", ".join(_line(name) for name in publication.quarantined_rule_names)),
        ("active from API", _allowed(publication.allow_api_origin_active_publication)),
        ("active from untrusted", _allowed(publication.allow_untrusted_active_publication)),
        ("judge", _judge(policy.judge)),
        ("promotion", _promotion(policy.promotion)),
        ("canary", _canary(policy.promotion.canary_share_percent)),
        ("active skills", _demotion(is_on=policy.promotion.demote_when_worse)),
    ]


def show_dry_run(view: "LearningPolicyDryRunView") -> None:
    """What a policy would do otherwise, and how many of all it concerns."""
    rows = [
        (
            each.candidate_id,
            each.state,
            each.kind,
            scope_words(each.scope),
            _outlook(each.before),
            _outlook(each.after),
            visible(each.after.reason),
        )
        for each in view.changes
    ]
    columns = ("candidate", "state", "kind", "scope", "now", "then", "because")
    screen.table(columns, rows, empty="Nothing would change.")
    actions = [(action, view.before[action], view.after.get(action, 0)) for action in view.before]
    print()
    screen.table(("action", "now", "then"), actions, empty="")
    decided = f"{view.decided_count} decided in the last {count(view.days, 'day')}"
    note(f"looked at {view.pending_count} that wait and {decided}")
    note("neither the judge nor the evidence was asked: either may still say less")
    if view.truncated:
        note("there are more than were looked at")


def _outlook(view: "OutlookView") -> str:
    return view.action if view.takes_effect else f"{view.action} (only noted)"


def _semantic(view: "SemanticCaptureView") -> str:
    if not view.enabled:
        return "off"
    asked = _asked(view.model, view.timeout_ms)
    return f"at most {view.max_candidates_per_run} a run: what labels say, or else {asked}"


def _judge(view: "JudgeView") -> str:
    return _asked(view.model, view.timeout_ms) if view.enabled else "off"


def _asked(model: "ModelChoiceView | None", timeout_ms: int | None) -> str:
    route = f"route {_line(model.provider)}" if model and model.provider else "the default route"
    generation = screen.compact(model.generation) if model else None
    options = f" with {_line(generation)}" if generation else ""
    return f"{route}{options}" + (f" within {timeout_ms} ms" if timeout_ms else "")


def _rule(number: int, rule: "RuleView") -> str:
    fields = rule.model_dump()
    wants = [f"{name}={_word(fields[name])}" for name in CONDITIONS if fields.get(name) is not None]
    wants += [name for name in REQUIREMENTS if fields.get(name)]
    name = f"{_line(rule.name)}: " if rule.name else ""
    lasts = rule.expires_after_ms
    ends = f", ends after {span_words(lasts // 1000)}" if lasts else ""
    return f"{number}. {name}{' '.join(wants) or 'everything'} → {rule.action}{ends}"


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else _line(str(value))


def _allowed(is_allowed: bool) -> str:
    return "allowed" if is_allowed else "made provisional"


def _promotion(view: "PromotionView") -> str:
    executed = "executed evidence" if view.require_executed_evidence else "no executed evidence"
    runs = count(view.min_successes, "verified run")
    spread = f" in {view.min_sessions} sessions" if view.min_sessions > 1 else ""
    replay = ", and a replay without a regression" if view.require_replay else ""
    return f"needs {executed}, {runs}{spread}{replay}"


def _canary(share: int) -> str:
    return f"offered to {share} in 100 sessions" if share else "hidden"


def _demotion(*, is_on: bool) -> str:
    return "taken back when they do worse than they did" if is_on else "stay, however they do"


def _line(text: str | None) -> str:
    return one_line(visible(text or ""))
