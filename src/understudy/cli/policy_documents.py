"""Parsing and display of policies."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from understudy.cli import inputs, screen
from understudy.cli.learning_records import scope_words
from understudy.cli.output import note
from understudy.cli.schedules import span_words
from understudy.cli.screen import Pairs, count, visible, visible_line

if TYPE_CHECKING:
    from understudy.learnings.capture_settings import ModelChoice, SemanticCaptureSettings
    from understudy.review.dry_run import CandidateOutlook, DryRun
    from understudy.review.policy import (
        LearningPolicy,
        PolicyRule,
        PromotionSettings,
        RetrievalSettings,
    )
    from understudy.wire.policies import PolicyView

STDIN = Path(inputs.STDIN)


def one_source(file: Path | None, *, stdin: bool) -> Path | None:
    """Where a document comes from: a file, or stdin; None when neither was named."""
    if stdin and file is not None:
        raise typer.BadParameter("give --file or --stdin, not both")
    return STDIN if stdin else file


def document(source: Path) -> dict[str, Any]:
    """A whole policy; what `show --json` prints can be changed and given back."""
    try:
        return unwrapped(inputs.parse_object(inputs.read_file(source)))
    except inputs.NotAnObject as problem:
        raise typer.BadParameter(f"{inputs.name_of(source)} {problem}") from None


def unwrapped(found: dict[str, Any]) -> dict[str, Any]:
    """The policy in what the API answers, or the policy itself."""
    inner = found.get("policy")
    return inner if isinstance(inner, dict) else found


def changed(policy: dict[str, Any], typed: Sequence[str]) -> dict[str, Any]:
    """A policy with `judge.enabled=true` and the like done to it; the old one stays as it was."""
    copy: dict[str, Any] = json.loads(json.dumps(policy))
    for pair in typed:
        path, value = _pair(pair)
        *parents, name = path.split(".")
        spot = copy
        for parent in parents:
            if not isinstance(spot.get(parent), dict):
                spot[parent] = {}
            spot = spot[parent]
        spot[name] = value
    return copy


def _pair(typed: str) -> tuple[str, Any]:
    path, equals, value = typed.partition("=")
    if not equals or not all(path.split(".")):
        raise typer.BadParameter(f"give KEY=VALUE; got {typed!r}")
    return path, _value(value)


def _value(text: str) -> Any:
    """JSON as such; everything else is a word."""
    try:
        value = json.loads(text)
        json.dumps(value, allow_nan=False)
    except ValueError:
        return text
    return value


MODES: Final = {
    "manual_only": "people decide, and automation does not look",
    "shadow": "people decide, and automation notes what it would have done",
    "enabled": "automation decides, and people what it leaves to them",
}
# The conditions of a policy rule, in the order in which they are shown.
CONDITIONS: Final = (
    "scope_kind",
    "scope_id",
    "kind",
    "sensitivity",
    "min_confidence",
    "derived_from_untrusted",
)
REQUIREMENTS: Final = ("require_evidence", "require_source_run", "require_source_session")


def policy_pairs(view: "PolicyView[Any]") -> Pairs:
    """Everything that a policy in force says."""
    if hasattr(view.policy, "publication"):
        return learning_policy_pairs(view)
    changed = screen.ago(view.updated_at_ms)
    return [("revision", view.revision), ("changed", changed), *asdict(view.policy).items()]


def learning_policy_pairs(view: "PolicyView[LearningPolicy]") -> Pairs:
    """Everything that the learning policy in force says."""
    policy, publication = view.policy, view.policy.publication
    judge, share = policy.judge, policy.promotion.canary_share_percent
    return [
        ("revision", view.revision),
        ("changed", screen.ago(view.updated_at_ms)),
        ("mode", f"{policy.mode}: {MODES.get(policy.mode, '')}"),
        ("run summaries", "proposed" if policy.capture.run_summary_candidates else "not proposed"),
        ("semantic capture", _semantic(policy.capture.semantic_candidates)),
        ("rules", "\n".join(_rule(at, rule) for at, rule in enumerate(publication.rules, 1))),
        ("default action", publication.default_action),
        (
            "in quarantine",
            ", ".join(visible_line(name) for name in publication.quarantined_rule_names),
        ),
        ("active from API", _allowed(publication.allow_api_origin_active_publication)),
        ("active from untrusted", _allowed(publication.allow_untrusted_active_publication)),
        ("judge", _asked(judge.model, judge.timeout_ms) if judge.enabled else "off"),
        ("promotion", _promotion(policy.promotion)),
        ("canary", f"offered to {share} in 100 sessions" if share else "hidden"),
        ("active skills", _demotion(is_on=policy.promotion.demote_when_worse)),
        *_retrieval(policy.retrieval),
    ]


def _retrieval(retrieval: "RetrievalSettings") -> Pairs:
    """What a prompt is told of learnings."""
    floor = retrieval.relevance_floor
    entries, tokens = retrieval.max_standing_entries, retrieval.max_standing_tokens
    return [
        ("relevance floor", f"{floor:.0%} of the input" if floor else "off: every match is told"),
        ("standing learnings", f"at most {entries}, with {tokens} tokens together"),
    ]


def show_dry_run(view: "DryRun") -> None:
    """The outcomes that a policy would change, and the totals."""
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


def _outlook(view: "CandidateOutlook") -> str:
    return view.action if view.takes_effect else f"{view.action} (only noted)"


def _semantic(view: "SemanticCaptureSettings") -> str:
    if not view.enabled:
        return "off"
    asked = _asked(view.model, view.timeout_ms)
    return f"at most {view.max_candidates_per_run} a run: from labels and from {asked}"


def _asked(model: "ModelChoice | None", timeout_ms: int | None) -> str:
    route = (
        f"route {visible_line(model.provider)}" if model and model.provider else "the default route"
    )
    generation = screen.compact(model.generation) if model else None
    options = f" with {visible_line(generation)}" if generation else ""
    return f"{route}{options}" + (f" within {timeout_ms} ms" if timeout_ms else "")


def _rule(number: int, rule: "PolicyRule") -> str:
    fields = asdict(rule)
    wants = [f"{name}={_word(fields[name])}" for name in CONDITIONS if fields.get(name) is not None]
    wants += [name for name in REQUIREMENTS if fields.get(name)]
    name = f"{visible_line(rule.name)}: " if rule.name else ""
    lasts = rule.expires_after_ms
    ends = f", ends after {span_words(lasts // 1000)}" if lasts else ""
    return f"{number}. {name}{' '.join(wants) or 'everything'} → {rule.action}{ends}"


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else visible_line(str(value))


def _allowed(is_allowed: bool) -> str:
    return "allowed" if is_allowed else "made provisional"


def _promotion(view: "PromotionSettings") -> str:
    executed = "executed evidence" if view.require_executed_evidence else "no executed evidence"
    runs = count(view.min_successes, "verified run")
    spread = f" in {view.min_sessions} sessions" if view.min_sessions > 1 else ""
    replay = ", and a replay without a regression" if view.require_replay else ""
    return f"needs {executed}, {runs}{spread}{replay}"


def _demotion(*, is_on: bool) -> str:
    return "taken back when they do worse than they did" if is_on else "stay, however they do"
