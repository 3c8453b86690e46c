"""A filter in which nothing is seen does not narrow, and never means everything by accident."""

from dataclasses import replace

import pytest

from understudy.learnings.model import CandidateFilter, LearningFilter

UNSEEN = ["", " \n", "\u200b", "\ufeff", "\u3164", " \u200b\u2800 \u00a0"]


@pytest.mark.parametrize("text", UNSEEN)
def test_a_text_in_which_nothing_is_seen_says_nothing(text: str) -> None:
    assert CandidateFilter(query=text) == CandidateFilter()
    for blank in (
        LearningFilter(query=text),
        LearningFilter(policy_actor=text),
        LearningFilter(matched_rule_name=text),
        replace(LearningFilter(query="atlas"), query=text),
    ):
        assert blank.is_empty


def test_what_is_seen_is_kept_without_the_blanks_around_it() -> None:
    assert LearningFilter(query=" atlas ").query == "atlas"
    # Joined by what is not seen alone.
    assert CandidateFilter(query="👩\u200d💻").query == "👩\u200d💻"
