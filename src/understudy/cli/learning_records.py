"""Candidates and learnings as text for people, in full."""

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from understudy.cli import screen
from understudy.cli.output import note
from understudy.cli.screen import Pairs, visible, visible_line

if TYPE_CHECKING:
    from understudy.learnings.candidates import RejectedBefore, ReviewItem, RevokedBefore
    from understudy.learnings.model import (
        AutomationReview,
        Candidate,
        EvidenceRef,
        Learning,
        LearningSource,
        Neighbour,
        RelatedLearning,
    )
    from understudy.learnings.publication import PublishedLearning
    from understudy.learnings.reach import Reach
    from understudy.sessions.learning_scopes import LearningScope
    from understudy.wire.policies import CandidateExplainView, RuleTraceView

# Characters of a content that a list shows.
LISTED_CHARS: Final = 160
CANDIDATE_COLUMNS: Final[screen.Layout] = {
    "candidate": "candidate_id",
    "state": lambda each: "snoozed" if is_snoozed(each) else each.state,
    "kind": "kind",
    "scope": lambda each: scope_words(each.suggested_scope or each.scope),
    "made": "created_at_ms",
    "automation": lambda each: each.automation_review.action if each.automation_review else None,
    "content": lambda each: listed(each.content),
}
# What automation does with a candidate; in mode `shadow` it only would.
AUTOMATION: Final = {
    "manual_review": "leave it to a person",
    "reject": "reject it",
    "publish_provisional": "publish it as provisional",
    "publish_active": "publish it as active",
}
UNTRUSTED: Final = "yes: its run had read what tools, files or strangers wrote"
NOT_FOUND: Final = "which the user did not type: the model made it up, or took it from others"
DECLINED: Final = "yes: a person said no to the same thing before"
# Only what the daemon proposes again waits for a person.
DECLINED_TO_DAEMON: Final = f"{DECLINED}, so no rule publishes it"
ALWAYS: Final = "always: injected into every prompt"
SENSITIVE: Final = "sensitive: no prompt and no search tells of it"
FOUND: Final = {
    "api": "sent by a caller",
    "run_summary": "the summary of a run",
    "labels": "said with a label in a request",
    "model": "found in a run by a model",
    "usage": "counted over the runs of a week",
    "rollout": "what the daemon did to a promoted skill",
}


def candidate_pairs(view: "Candidate") -> Pairs:
    """Everything about a candidate."""
    return [*_what(view), *_came(view), *_review(view.automation_review), *_fate(view)]


def item_pairs(view: "ReviewItem") -> Pairs:
    """A candidate with everything relevant to its decision."""
    return [
        *_what(view, reach=reach_lines(view)),
        *_came(view, quotes=view.quotes, quoted=_quoted(view)),
        *_review(view.automation_review),
        *_around(view),
    ]


def reach_lines(view: "ReviewItem") -> str:
    """The scopes that it can be published for, by number; `>` marks the chosen or suggested one."""
    if len(view.reaches) < 2:
        return "".join(map(reached, view.reaches)) or scope_words(view.scope)
    marks = (">" if it.scope == view.suggested_scope else " " for it in view.reaches)
    numbered = enumerate(zip(marks, view.reaches, strict=True), start=1)
    return "\n".join(f"{mark} {number}  {reached(it)}" for number, (mark, it) in numbered)


def reached(reach: "Reach") -> str:
    """A scope, its meaning, and why nobody would have it injected there."""
    unused = f" ({reach.unused})" if reach.unused else ""
    return f"{scope_words(reach.scope)}: {visible_line(reach.words)}{unused}"


def shown_pairs(view: "ReviewItem") -> Pairs:
    """Everything there is, for one that waits and for one that is decided."""
    return [*item_pairs(view), *_fate(view)]


def explained_pairs(view: "CandidateExplainView") -> Pairs:
    """The outcome of the learning policy for a candidate, and its reasons."""
    changed = [
        f"{each.code}: {each.before} → {each.after}, because {visible(each.reason)}"
        for each in view.adjustments
    ]
    return [
        ("candidate", view.candidate_id),
        ("policy", f"revision {view.policy_revision}, mode {view.mode}"),
        ("action", view.action),
        ("because", visible(view.reason)),
        ("rule", visible_line(view.matched_rule_name)),
        ("expires", screen.ahead(view.expires_at_ms)),
        ("refused", view.refused),
        ("then", "\n".join(changed)),
    ]


def rule_rows(rules: Sequence["RuleTraceView"]) -> list[tuple[object, ...]]:
    """The trace of every policy rule, as table rows."""
    return [
        (
            each.index + 1,
            visible_line(each.name) or None,
            each.action,
            _fits(each),
            _mismatches(each),
        )
        for each in rules
    ]


def related(view: "RelatedLearning") -> str:
    """Another learning, in short."""
    return f"{view.learning_id} ({scope_words(view.scope)}, {view.status}): {visible(view.content)}"


def review_words(view: "AutomationReview") -> str:
    """The automation review of a candidate, on one line."""
    when = screen.ago(view.reviewed_at_ms)
    # In other modes automation took no action.
    chose = "chose to" if view.mode == "enabled" else "would"
    action = f"{chose} {AUTOMATION.get(view.action, view.action)}"
    return f"{action} (mode {view.mode}, policy revision {view.policy_revision}, {when})"


def scope_words(scope: "LearningScope | LearningScope") -> str:
    """A scope in the syntax of the options."""
    return f"{scope.kind}:{visible_line(scope.id)}"


def source_words(source: "LearningSource") -> str:
    """The source session and run."""
    named = (("run", source.run_id), ("session", source.session_id), ("agent", source.agent_id))
    return ", ".join(f"{what} {visible_line(name)}" for what, name in named if name)


def evidence_words(refs: Iterable["EvidenceRef"]) -> str:
    """The evidence, one reference a line."""
    return "\n".join(_ref(each) for each in refs)


def listed(content: str) -> str:
    """A content on one line of a list."""
    return visible_line(content, LISTED_CHARS)


def _what(view: "Candidate", *, reach: str | None = None) -> Pairs:
    return [
        ("candidate", view.candidate_id),
        ("content", visible(view.content)),
        ("kind", view.kind),
        ("scope", reach or scope_words(view.scope)),
        ("sensitivity", SENSITIVE if view.sensitivity == "sensitive" else None),
        ("applies", ALWAYS if view.applies == "always" else None),
        ("confidence", view.confidence),
    ]


def _quoted(view: "ReviewItem") -> str | None:
    """The words of the user that a model says it rests on."""
    if view.quote is None:
        return None
    said = f"“{visible_line(view.quote)}”"
    return said if view.quote_found is not False else f"{said}, {NOT_FOUND}"


def _came(view: "Candidate", *, quotes: Sequence[str] = (), quoted: str | None = None) -> Pairs:
    return [
        ("rests on", quoted),
        ("said", "\n".join(f"“{visible_line(each)}”" for each in quotes)),
        (
            "found",
            f"{FOUND.get(view.capture_path, view.capture_path)}, {screen.ago(view.created_at_ms)}",
        ),
        ("source", source_words(view.source)),
        ("evidence", evidence_words(view.evidence_refs)),
        ("untrusted", UNTRUSTED if view.derived_from_untrusted else None),
        ("proposed again", _again(view)),
        ("declined before", _declined(view)),
        ("expires", screen.ahead(view.expires_at_ms)),
    ]


def _again(view: "Candidate") -> str | None:
    if view.reproposal_of is None:
        return None
    return f"{view.reproposal_of} said the same and was declined; this has evidence of its own"


def _declined(view: "Candidate") -> str | None:
    if not view.declined_before:
        return None
    return DECLINED_TO_DAEMON if view.origin == "daemon" else DECLINED


def _review(review: "AutomationReview | None") -> Pairs:
    if review is None:
        return [("automation", "has not looked at it")]
    judge = review.judge
    return [
        ("automation", review_words(review)),
        ("because", visible(review.reason)),
        ("rule", visible_line(review.matched_rule_name)),
        (
            "judge",
            f"would {AUTOMATION.get(judge.action, judge.action)}: {visible(judge.reason)}"
            if judge
            else None,
        ),
    ]


def _around(view: "ReviewItem") -> Pairs:
    conflict, same = view.conflicts_with, view.duplicate_of
    shown = {it.learning_id for it in (conflict, same, *view.contradicts) if it is not None}
    near = [it for it in view.neighbours if it.learning_id not in shown]
    return [
        ("too late", "its time is over: it can no longer be published" if view.expired else None),
        ("conflicts with", related(conflict) if conflict else None),
        ("contradicts", "\n".join(related(each) for each in view.contradicts)),
        ("near", "\n".join(map(_near, near))),
        ("says the same", related(same) if same else None),
        ("rejected before", "\n".join(_no(each) for each in view.rejected_before)),
        ("revoked before", "\n".join(_back(each) for each in view.revoked_before)),
    ]


def _near(neighbour: "Neighbour") -> str:
    words = {"same": "says the same", "contradicts": "contradicts it"}
    relation = words.get(str(neighbour.relation))
    said = f"{neighbour.content} ({neighbour.learning_id})"
    return f"{said}: {relation}" if relation else said


def _no(before: "RejectedBefore") -> str:
    who = before.decided_by or "somebody"
    why = f": {visible(before.reason)}" if before.reason else ""
    return f"{before.candidate_id}, by {who} {screen.ago(before.decided_at_ms)}{why}"


def _back(before: "RevokedBefore") -> str:
    who = before.revoked_by or "somebody"
    why = f": {visible(before.reason)}" if before.reason else ""
    return f"{before.learning_id}, by {who} {screen.ago(before.revoked_at_ms)}{why}"


def is_snoozed(view: "Candidate") -> bool:
    """Whether it is snoozed in the review queue."""
    return (view.snoozed_until_ms or 0) > time.time() * 1000


def fate(view: "Candidate") -> str:
    """The state of a candidate; of a decided one also by whom and when."""
    by = f" by {visible_line(view.decided_by)}" if view.decided_by else ""
    when = f" {screen.ago(view.decided_at_ms)}" if view.decided_at_ms else ""
    return f"{'snoozed' if is_snoozed(view) else view.state}{by}{when}"


def _fate(view: "Candidate") -> Pairs:
    return [
        ("state", fate(view)),
        (
            "returns",
            f"to the queue {screen.ahead(view.snoozed_until_ms)}" if is_snoozed(view) else None,
        ),
        ("reason", visible(view.decision_reason or "")),
        ("learning", view.published_learning_id),
    ]


def _ref(ref: "EvidenceRef") -> str:
    names = [f"run {visible_line(ref.run_id)}"] if ref.run_id else []
    names += [f"artifact {visible_line(ref.artifact_id)}"] if ref.artifact_id else []
    names += [visible_line(ref.note)] if ref.note else []
    return ", ".join(names)


def _fits(rule: "RuleTraceView") -> str:
    if rule.quarantined:
        return "in quarantine"
    if rule.decided:
        return "decides"
    return "fits, but too late" if rule.matched else "no"


def _mismatches(rule: "RuleTraceView") -> str | None:
    said = [
        f"{each.field}: wants {visible(each.wanted)}, is {visible(each.had)}"
        for each in rule.mismatches
    ]
    return "; ".join(said) or None


LEARNING_COLUMNS: Final[screen.Layout] = {
    "learning": "learning_id",
    "status": "status",
    "kind": "kind",
    "scope": lambda each: scope_words(each.scope),
    "published": "published_at_ms",
    "by": "policy_actor",
    "content": lambda each: listed(each.content),
}


def learning_pairs(view: "Learning") -> Pairs:
    """Everything about a learning."""
    return [
        ("learning", view.learning_id),
        ("content", visible(view.content)),
        ("status", view.status),
        ("kind", view.kind),
        ("scope", f"{scope_words(view.scope)}: {_told(view)}"),
        ("sensitivity", SENSITIVE if view.sensitivity == "sensitive" else None),
        ("applies", ALWAYS if view.applies == "always" else None),
        ("confidence", view.confidence),
        ("published", _published(view)),
        ("verification", view.verification_status),
        ("candidate", view.source_candidate_id),
        ("source", source_words(view.source)),
        ("evidence", evidence_words(view.evidence_refs)),
        ("untrusted", UNTRUSTED if view.derived_from_untrusted else None),
        ("expires", screen.ahead(view.expires_at_ms)),
        ("supersedes", view.supersedes),
        ("superseded by", view.superseded_by),
        ("revoked", screen.ago(view.revoked_at_ms) if view.revoked_at_ms else None),
        ("reason", visible(view.revoked_reason or "")),
        ("version", view.version),
    ]


def _told(view: "Learning") -> str:
    from understudy.learnings.reach import reach_words

    if view.status in ("superseded", "revoked"):
        return f"no longer injected, it is {view.status}"
    words = reach_words(
        view.scope, kind=view.kind, sensitivity=view.sensitivity, tier=view.publish_tier
    )
    return visible_line(words)


def _published(view: "Learning") -> str:
    decision = f", {view.policy_decision}" if view.policy_decision else ""
    by = f" by {view.policy_actor}" if view.policy_actor else ""
    return f"{screen.ago(view.published_at_ms)}{by}{decision}, tier {view.publish_tier}"


def tell_published(view: "PublishedLearning") -> None:
    """The id of the learning on stdout, and what is worth knowing about it beside that."""
    print(view.learning_id)
    for line in published_lines(view):
        note(line)


def published_lines(view: "PublishedLearning") -> list[str]:
    """The outcome of a publication, and the learnings that it contradicts."""
    lines = [f"learning {view.learning_id} is {view.status}"]
    if view.already:
        lines = [f"known already (said again {screen.count(view.said_again, 'time')})"]
    if view.reach:
        lines.append(f"  {visible_line(view.reach.words)}")
    if view.applies == "always" and view.publish_tier == "active":
        lines.append("  it is standing: injected into every prompt there, whatever the input")
    if view.reach and view.reach.unused:
        lines.append(f"  but no prompt has it: {view.reach.unused}")
    if view.supersedes:
        lines.append(f"  it takes the place of {view.supersedes}")
    lines += [f"  it contradicts {related(each)}" for each in view.contradicts]
    if view.contradicts:
        lines.append("  in a prompt the narrower scope wins")
    return lines
