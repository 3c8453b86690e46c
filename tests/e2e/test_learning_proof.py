"""Proof as a stranger meets it: what a model found is published by what the user typed around its quote."""

from typing import Any

import pytest

from tests.support.daemon import wait_for
from tests.support.learning_daemon import EXTRACTION, JUDGE, LearningDaemon, rule

pytestmark = pytest.mark.e2e

REQUEST = "We deploy on Tuesdays with Olga watching, so plan the release notes for me."
CLAUSE = "We deploy on Tuesdays with Olga watching"


def published(learning_daemon: LearningDaemon, session: str, content: str, quote: str) -> Any:
    """The learning that the policy makes of the one candidate of a model, with its candidate."""
    found = {"kind": "fact", "content": content, "quote": quote, "confidence": 95}
    learning_daemon.answer(EXTRACTION, lambda _: {"candidates": [found]})
    learning_daemon.run(learning_daemon.session(session), REQUEST)
    scope = {"scope_kind": "session", "scope_id": session, "kind": "fact"}
    [made] = wait_for(lambda: learning_daemon.candidates(**scope), what="the candidate")
    view = learning_daemon.reviewed(made["candidate_id"], "published")
    return learning_daemon.learning(view["published_learning_id"]), view


def automatic(learning_daemon: LearningDaemon, **judge: Any) -> None:
    """Capture by a model, and a policy that publishes facts at once."""
    asked = {"judge": {"enabled": True}} if judge else {}
    if judge:
        learning_daemon.answer(JUDGE, lambda _: {"action": "publish_active", "reason": "", **judge})
    learning_daemon.policy("enabled", rule("publish_active", kind="fact"), capture={}, **asked)


def test_what_the_clause_around_a_quote_says_is_published_as_verified(
    learning_daemon: LearningDaemon,
) -> None:
    automatic(learning_daemon)
    learning, candidate = published(
        learning_daemon, "plain", "The user deploys on Tuesdays with Olga watching", CLAUSE
    )

    assert (learning["status"], learning["verification_status"]) == ("active", "verified")
    assert candidate["quote"] == CLAUSE


def test_a_quote_that_nobody_typed_is_never_verified(learning_daemon: LearningDaemon) -> None:
    automatic(learning_daemon, supported=True)
    learning, candidate = published(
        learning_daemon, "made-up", "We deploy on Tuesdays", "we deploy on Tuesdays only"
    )

    assert (learning["status"], learning["verification_status"]) == ("provisional", "failed")
    assert "quote_not_found" in candidate["automation_review"]["reason"]


@pytest.mark.parametrize(
    ("judge", "outcome"),
    [
        ({}, ("provisional", "failed")),
        ({"supported": False}, ("provisional", "failed")),
        ({"supported": True}, ("active", "verified")),
    ],
    ids=["no judge", "a judge that denies it", "a judge that says supported"],
)
def test_what_leaves_words_of_the_clause_out_needs_a_judge(
    learning_daemon: LearningDaemon, judge: dict[str, bool], outcome: tuple[str, str]
) -> None:
    automatic(learning_daemon, **judge)
    learning, candidate = published(
        learning_daemon, f"weak-{judge.get('supported')}", "Deploy with Olga watching", CLAUSE
    )

    assert (learning["status"], learning["verification_status"]) == outcome
    if outcome[0] == "provisional":
        assert "words_left_out" in candidate["automation_review"]["reason"]
    if judge:
        [asked] = learning_daemon.asked(JUDGE)
        assert asked["evidence"] == {"request": REQUEST, "clause": CLAUSE}


def test_a_condition_that_was_left_out_waits_for_a_person_whatever_the_judge_says(
    learning_daemon: LearningDaemon,
) -> None:
    automatic(learning_daemon, supported=True)
    found = {"kind": "fact", "content": "We deploy on Mondays", "quote": "we deploy on Mondays"}
    learning_daemon.answer(EXTRACTION, lambda _: {"candidates": [found]})
    request = "If the tests pass we deploy on Mondays, so plan the release notes for me."
    learning_daemon.run(learning_daemon.session("condition"), request)
    scope = {"scope_kind": "session", "scope_id": "condition", "kind": "fact"}
    [made] = wait_for(lambda: learning_daemon.candidates(**scope), what="the candidate")

    view = learning_daemon.reviewed(made["candidate_id"], "escalated")
    assert "clause_in_doubt" in view["automation_review"]["reason"]
