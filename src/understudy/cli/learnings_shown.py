"""Learnings as people read them."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from understudy.cli import screen
from understudy.cli.candidates_shown import (
    SENSITIVE,
    UNTRUSTED,
    evidence_words,
    listed,
    scope_words,
    source_words,
)
from understudy.cli.screen import Pairs, visible

if TYPE_CHECKING:
    from understudy.wire.learnings import LearningView

COLUMNS: Final = ("learning", "status", "kind", "scope", "published", "by", "content")


def rows(learnings: Iterable["LearningView"]) -> list[tuple[object, ...]]:
    """Learnings for a table."""
    return [
        (
            each.learning_id,
            each.status,
            each.kind,
            scope_words(each.scope),
            screen.ago(each.published_at_ms),
            each.policy_actor,
            listed(each.content),
        )
        for each in learnings
    ]


def learning_pairs(view: "LearningView") -> Pairs:
    """Everything about a learning."""
    return [
        ("learning", view.learning_id),
        ("content", visible(view.content)),
        ("status", view.status),
        ("kind", view.kind),
        ("scope", scope_words(view.scope)),
        ("sensitivity", SENSITIVE if view.sensitivity == "sensitive" else None),
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


def _published(view: "LearningView") -> str:
    decision = f", {view.policy_decision}" if view.policy_decision else ""
    by = f" by {view.policy_actor}" if view.policy_actor else ""
    return f"{screen.ago(view.published_at_ms)}{by}{decision}, tier {view.publish_tier}"
