"""Candidates and policies for tests of reviews; a test sets only what it is about."""

from typing import Any

from hypothesis import strategies as st

from tests.support.factories import NOW
from understudy.core.ids import new_id
from understudy.learnings.keys import key_of
from understudy.learnings.model import (
    Candidate,
    EvidenceRef,
    Kind,
    LearningSource,
    Mode,
    Origin,
    ReviewAction,
    Sensitivity,
)
from understudy.review.policy import LearningPolicy, PolicyRule, PublicationSettings
from understudy.sessions.learning_scopes import WORKSPACE, ScopeKind


def proposed(content: str = "Preferred editor is Helix", **fields: Any) -> Candidate:
    """A fact of the workspace that somebody proposed through the API."""
    key = key_of(content)
    values: dict[str, Any] = {
        "candidate_id": new_id("cand"),
        "origin": Origin.API,
        "scope": WORKSPACE,
        "kind": Kind.FACT,
        "content": content,
        "semantic_key": key.semantic,
        "subject_key": key.subject,
        "created_at_ms": NOW,
    }
    return Candidate(**(values | fields))


def found(content: str = "Preferred editor is Helix", **fields: Any) -> Candidate:
    """A fact that the daemon found in a run of the session s1."""
    run_id = fields.pop("run_id", "run_1")
    values: dict[str, Any] = {
        "origin": Origin.DAEMON,
        "source": LearningSource(run_id=run_id, session_id="s1"),
        "evidence_refs": (EvidenceRef(run_id=run_id),),
    }
    return proposed(content, **(values | fields))


def rule(action: str, **fields: Any) -> PolicyRule:
    """A rule with this action."""
    return PolicyRule(action=ReviewAction(action), **fields)


def policy(*rules: PolicyRule, mode: Mode = Mode.ENABLED, **fields: Any) -> LearningPolicy:
    """A policy with these rules."""
    return LearningPolicy(mode=mode, publication=PublicationSettings(rules=rules, **fields))


# Any name a person may type, or none.
OPTIONAL_NAMES = st.none() | st.text(
    st.characters(codec="utf-8", categories=("L", "N", "P")), min_size=1, max_size=20
)
# Rules that any candidate may come under, save that none of them publishes as active.
RULES = st.builds(
    PolicyRule,
    action=st.sampled_from([it for it in ReviewAction if it is not ReviewAction.PUBLISH_ACTIVE]),
    name=OPTIONAL_NAMES,
    scope_kind=st.none() | st.sampled_from(ScopeKind),
    scope_id=OPTIONAL_NAMES,
    kind=st.none() | st.sampled_from(Kind),
    sensitivity=st.none() | st.sampled_from(Sensitivity),
    min_confidence=st.none() | st.integers(0, 100),
    derived_from_untrusted=st.none() | st.booleans(),
    require_evidence=st.booleans(),
    require_source_run=st.booleans(),
    require_source_session=st.booleans(),
    expires_after_ms=st.none() | st.integers(1, 10**12),
)
