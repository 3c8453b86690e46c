"""Learnings with sane defaults, as if somebody had published them by hand."""

from typing import Any

from tests.support.factories import NOW
from understudy.core.ids import new_id
from understudy.learnings.keys import key_of
from understudy.learnings.model import Kind, Learning, LearningStatus, PolicyDecision
from understudy.sessions.learning_scopes import (
    WORKSPACE,
    LearningScope,
    ScopeKind,
    session_scope,
)
from understudy.storage.unit import Units

SESSION = session_scope("s1")
PERSONA = LearningScope(kind=ScopeKind.PERSONA, id="helper")
PROJECT = LearningScope(kind=ScopeKind.PROJECT, id="garden")


def make_learning(content: str = "The gate code is on the door.", **fields: Any) -> Learning:
    """An active fact of the workspace."""
    key = key_of(content)
    values: dict[str, Any] = {
        "learning_id": new_id("lrn"),
        "scope": WORKSPACE,
        "kind": Kind.FACT,
        "content": content,
        "semantic_key": key.semantic,
        "subject_key": key.subject,
        "created_at_ms": NOW,
        "published_at_ms": NOW,
        "status": LearningStatus.ACTIVE,
        "policy_decision": PolicyDecision.MANUAL,
        "policy_actor": "operator",
    }
    return Learning(**(values | fields))


ATLAS = make_learning("Atlas project color is vermilion.", learning_id="lrn_atlas")
SNACK = make_learning("Default snack preference is banana.", learning_id="lrn_snack", scope=SESSION)


def keep(units: Units, *learnings: Learning) -> list[str]:
    """Store learnings as they are; tells their ids."""
    with units.write() as unit:
        for learning in learnings:
            unit.learnings.add(learning)
    return [learning.learning_id for learning in learnings]
