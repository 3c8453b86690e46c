"""Every reason has words for people."""

import pytest

from understudy.learnings.visibility import Blocker
from understudy.retrieval.choice import LearningReason as LearnedReason
from understudy.retrieval.choice import learned_explanation
from understudy.retrieval.recovered import RunReason, explanation


def said(reason: str, score: float | None = 1.0) -> str:
    return explanation(reason, score=score, coverage=0.25, limit=3, floor=0.5)


@pytest.mark.parametrize("reason", RunReason)
@pytest.mark.parametrize("score", [None, 0.0, 2.5])
def test_every_reason_can_be_said(reason: RunReason, score: float | None) -> None:
    words = said(reason, score)

    assert words
    assert "{" not in words


def test_the_words_fit_the_case() -> None:
    assert "matches the input" in said(RunReason.INCLUDED)
    assert "recent" in said(RunReason.INCLUDED, 0.0)
    assert "3 newest" in said(RunReason.INCLUDED, None)
    assert "3 are newer" in said(RunReason.OVER_ENTRY_LIMIT, None)
    assert "25%" in said(RunReason.BELOW_RELEVANCE_FLOOR)
    assert "50%" in said(RunReason.BELOW_RELEVANCE_FLOOR)


KEEPING_OUT = [*Blocker, *(each for each in LearnedReason if each is not LearnedReason.INCLUDED)]


@pytest.mark.parametrize("code", KEEPING_OUT)
def test_everything_that_keeps_a_learning_out_can_be_said(code: str) -> None:
    words = learned_explanation([code], score=1.0)

    assert words != code
    assert "{" not in words


def test_all_that_keeps_a_learning_out_is_said() -> None:
    said_of = learned_explanation([Blocker.SENSITIVE, LearnedReason.NO_MATCH], score=0.0)

    assert said_of == "it is marked as sensitive; no word of the input is in it"
    assert learned_explanation(["of_the_future"], score=None) == "of_the_future"
    assert "matches the input" in learned_explanation([], score=2.5)
    assert "asks for what is remembered" in learned_explanation([], score=0.0)
    assert "no input" in learned_explanation([], score=None)


def test_a_reason_of_another_version_is_told_as_it_is() -> None:
    assert said("{score.__class__}") == "{score.__class__}"
