"""In which sessions a learning is told, in words."""

import pytest

from understudy.learnings.model import Kind, Sensitivity, Tier
from understudy.learnings.reach import reach_words
from understudy.sessions.learning_scopes import WORKSPACE, LearningScope, ScopeKind, session_scope

HERE = session_scope("s1")


@pytest.mark.parametrize(
    ("scope", "words"),
    [
        (HERE, "injected in this session only"),
        (LearningScope(kind=ScopeKind.PERSONA, id="x"), "injected in every session of persona x"),
        (
            LearningScope(kind=ScopeKind.PROJECT, id="{y}"),
            "injected in every session of project {y}",
        ),
        (WORKSPACE, "injected in every session of this daemon"),
    ],
)
def test_a_scope_says_whom_it_reaches(scope: LearningScope, words: str) -> None:
    assert reach_words(scope) == words


def test_what_no_prompt_holds_is_told_nowhere() -> None:
    only = "injected nowhere: only facts, preferences and decisions are; found in this session only"
    later = "injected nowhere while it is provisional; found in this session only"

    assert reach_words(HERE, kind=Kind.PROCEDURE) == only
    assert reach_words(HERE, kind=Kind.RUN_SUMMARY) == only
    assert reach_words(HERE, tier=Tier.PROVISIONAL) == later
    hidden = reach_words(HERE, sensitivity=Sensitivity.SENSITIVE, tier=Tier.PROVISIONAL)
    assert hidden == "injected nowhere: it is sensitive"
