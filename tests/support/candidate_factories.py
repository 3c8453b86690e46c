"""Candidates with sane defaults, as if the daemon had found them in a run."""

from typing import Any

from tests.support.factories import NOW
from understudy.core.ids import new_id
from understudy.learnings.keys import key_of
from understudy.learnings.model import (
    AutomationReview,
    Candidate,
    CapturePath,
    Kind,
    LearningSource,
    Mode,
    Origin,
    ReviewAction,
)
from understudy.sessions.learning_scopes import WORKSPACE


def make_candidate(
    content: str = "The gate code is on the door.", *, run_id: str | None = None, **fields: Any
) -> Candidate:
    """A pending fact of the workspace that a model found in a run of its own."""
    key = key_of(content)
    values: dict[str, Any] = {
        "candidate_id": new_id("cand"),
        "origin": Origin.DAEMON,
        "scope": WORKSPACE,
        "kind": Kind.FACT,
        "content": content,
        "semantic_key": key.semantic,
        "subject_key": key.subject,
        "created_at_ms": NOW,
        "source": LearningSource(run_id=run_id or new_id("run"), session_id="s1"),
        "capture_path": CapturePath.MODEL,
    }
    return Candidate(**(values | fields))


def make_review(rule: str | None = None, **fields: Any) -> AutomationReview:
    """What automation in shadow mode would have done."""
    values: dict[str, Any] = {
        "mode": Mode.SHADOW,
        "action": ReviewAction.PUBLISH_PROVISIONAL,
        "reviewed_at_ms": NOW,
        "reason": "a rule matched",
        "policy_revision": 3,
        "matched_rule_name": rule,
    }
    return AutomationReview(**(values | fields))
