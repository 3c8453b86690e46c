"""Evaluation of a candidate under a policy: a pure function that answers its reasons."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from understudy.learnings.model import Candidate, CapturePath, Kind, Origin, ReviewAction
from understudy.learnings.normal_form import has_lookalikes, plain, words
from understudy.learnings.secrets import secret_reason
from understudy.review.policy import LearningPolicy, PolicyRule, PublicationSettings
from understudy.review.rule_match import Adjustment, RuleTrace, Trace, trace_rules

# Kinds made of scrubbed text, whose markers look like secrets.
UNCLASSIFIED: Final = frozenset({Kind.RUN_SUMMARY})
_PUBLISHING: Final = frozenset({ReviewAction.PUBLISH_PROVISIONAL, ReviewAction.PUBLISH_ACTIVE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The action of a policy for a candidate, with its reason and trace."""

    action: ReviewAction
    matched_rule_name: str | None
    reason: str
    # The expiry of the learning.
    expires_at_ms: int | None
    trace: Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class _Limit:
    """A limit on what automation may publish, or publish as active."""

    code: str
    # Given the candidate, the settings, and the rule that decided.
    applies: Callable[[Candidate, PublicationSettings, PolicyRule | None], bool]
    instead: ReviewAction
    says: str
    # The actions that it replaces.
    limited: frozenset[ReviewAction] = frozenset({ReviewAction.PUBLISH_ACTIVE})


# The first that applies counts, so those with manual review come first.
_LIMITS: Final = (
    _Limit(
        code="declined_before",
        # A proposal by the API is deliberate, so the limit is for the daemon alone.
        applies=lambda it, *_: it.declined_before and it.origin is Origin.DAEMON,
        instead=ReviewAction.MANUAL_REVIEW,
        says="a person said no to the same thing before, so a person decides",
        limited=_PUBLISHING,
    ),
    _Limit(
        code="client",
        # What another program reports is a claim, unless the operator's rule trusts that program.
        applies=lambda it, _, rule: (
            it.source.client is not None and (rule is None or rule.client is None)
        ),
        instead=ReviewAction.MANUAL_REVIEW,
        says="the client of an agent reported it and no rule names that client, so a person decides",
        limited=_PUBLISHING,
    ),
    _Limit(
        code="usage",
        applies=lambda it, *_: it.capture_path is CapturePath.USAGE,
        instead=ReviewAction.MANUAL_REVIEW,
        says="it was suggested from counting what runs do, so a person decides",
        limited=_PUBLISHING,
    ),
    _Limit(
        code="rollout",
        applies=lambda it, *_: it.capture_path is CapturePath.ROLLOUT,
        instead=ReviewAction.MANUAL_REVIEW,
        says="it asks somebody to look at a promoted skill, so a person decides",
        limited=_PUBLISHING,
    ),
    _Limit(
        code="mixed_scripts",
        applies=lambda it, *_: has_lookalikes(words(plain(it.content))),
        instead=ReviewAction.MANUAL_REVIEW,
        says="it has letters of one script that pass for another's, so a person decides",
        limited=_PUBLISHING,
    ),
    _Limit(
        code="procedure",
        applies=lambda it, *_: it.kind is Kind.PROCEDURE,
        instead=ReviewAction.MANUAL_REVIEW,
        says="a procedure is never published as active without a person",
    ),
    _Limit(
        code="api_origin",
        applies=lambda it, policy, _: (
            it.origin is Origin.API and not policy.allow_api_origin_active_publication
        ),
        instead=ReviewAction.PUBLISH_PROVISIONAL,
        says="a candidate from the API is not published as active",
    ),
    _Limit(
        code="derived_from_untrusted",
        applies=lambda it, policy, _: (
            it.derived_from_untrusted and not policy.allow_untrusted_active_publication
        ),
        instead=ReviewAction.PUBLISH_PROVISIONAL,
        says="a candidate from a run that read what tools or strangers wrote"
        " is not published as active",
    ),
)


def evaluate(candidate: Candidate, policy: LearningPolicy, *, now_ms: int) -> Evaluation:
    """Evaluate a candidate under a policy, whatever its mode."""
    settings = policy.publication
    refused = None if candidate.kind in UNCLASSIFIED else secret_reason(candidate.content)
    rules = trace_rules(candidate, settings, may_decide=refused is None)
    if refused is not None:
        return Evaluation(
            action=ReviewAction.REJECT,
            matched_rule_name=None,
            reason=f"the secret classifier says no: {refused}",
            expires_at_ms=candidate.expires_at_ms,
            trace=Trace(rules=rules, refused=refused),
        )
    decided = next((it for it in rules if it.decided), None)
    action, reason = _said(decided, settings)
    adjustments = _adjust(candidate, settings, action, decided)
    return Evaluation(
        action=adjustments[-1].after if adjustments else action,
        matched_rule_name=decided.name if decided else None,
        reason="; ".join([reason, *(it.reason for it in adjustments)]),
        expires_at_ms=_expiry(candidate, settings, decided, now_ms=now_ms),
        trace=Trace(rules=rules, adjustments=adjustments),
    )


def _said(decided: RuleTrace | None, settings: PublicationSettings) -> tuple[ReviewAction, str]:
    if decided is None:
        action = settings.default_action
        return action, f"no rule matched, and the default is {action}"
    called = f"rule {decided.name!r}" if decided.name else f"rule {decided.index + 1}"
    return decided.action, f"{called} says {decided.action}"


def _adjust(
    candidate: Candidate,
    settings: PublicationSettings,
    action: ReviewAction,
    decided: RuleTrace | None,
) -> tuple[Adjustment, ...]:
    """The first limit that replaces the action, if any."""
    rule = settings.rules[decided.index] if decided else None
    limits = (it for it in _LIMITS if action in it.limited)
    limit = next((it for it in limits if it.applies(candidate, settings, rule)), None)
    if limit is None:
        return ()
    return (Adjustment(code=limit.code, before=action, after=limit.instead, reason=limit.says),)


def _expiry(
    candidate: Candidate,
    settings: PublicationSettings,
    decided: RuleTrace | None,
    *,
    now_ms: int,
) -> int | None:
    lasts_ms = settings.rules[decided.index].expires_after_ms if decided else None
    ends = [candidate.expires_at_ms, None if lasts_ms is None else now_ms + lasts_ms]
    return min((it for it in ends if it is not None), default=None)
