"""The one table of what keeps a learning out of prompts and searches."""

from dataclasses import replace
from typing import Any

import pytest

from tests.support.factories import NOW
from tests.support.learning_factories import make_learning
from understudy.learnings.model import (
    Kind,
    Learning,
    LearningStatus,
    PolicyDecision,
    Sensitivity,
    Tier,
    Verification,
)
from understudy.learnings.visibility import (
    RULES,
    WORDS,
    Blocker,
    prompt_blockers,
    search_blockers,
)

AUTOMATIC = {"policy_decision": PolicyDecision.AUTOMATIC, "policy_actor": "daemon"}
# One attribute that differs from a plain active learning, and the one rule that it meets.
KEPT_OUT: dict[str, tuple[dict[str, Any], Blocker]] = {
    "a procedure": ({"kind": Kind.PROCEDURE}, Blocker.KIND_NOT_TOLD),
    "a run summary": ({"kind": Kind.RUN_SUMMARY}, Blocker.KIND_NOT_TOLD),
    "revoked": ({"status": LearningStatus.REVOKED}, Blocker.REVOKED),
    "superseded": ({"status": LearningStatus.SUPERSEDED}, Blocker.SUPERSEDED),
    "provisional status": ({"status": LearningStatus.PROVISIONAL}, Blocker.PROVISIONAL),
    "provisional tier": ({"publish_tier": Tier.PROVISIONAL}, Blocker.PROVISIONAL),
    "sensitive": ({"sensitivity": Sensitivity.SENSITIVE}, Blocker.SENSITIVE),
    "failed": ({"verification_status": Verification.FAILED}, Blocker.VERIFICATION_FAILED),
    "automatic and unverified": (AUTOMATIC, Blocker.AUTOMATIC_UNVERIFIED),
    "automatic and still being verified": (
        AUTOMATIC | {"verification_status": Verification.PENDING},
        Blocker.AUTOMATIC_UNVERIFIED,
    ),
    "automatic and failed": (
        AUTOMATIC | {"verification_status": Verification.FAILED},
        Blocker.VERIFICATION_FAILED,
    ),
    "escalated": ({"policy_decision": PolicyDecision.ESCALATED}, Blocker.ESCALATED),
    "escalated and verified": (
        {
            "policy_decision": PolicyDecision.ESCALATED,
            "verification_status": Verification.VERIFIED,
        },
        Blocker.ESCALATED,
    ),
    "expired": ({"expires_at_ms": NOW - 1}, Blocker.EXPIRED),
    "expiring now": ({"expires_at_ms": NOW}, Blocker.EXPIRED),
}
LET_IN: dict[str, dict[str, Any]] = {
    "published by hand": {},
    "published by hand and verified": {"verification_status": Verification.VERIFIED},
    "from before there were decisions": {"policy_decision": None, "policy_actor": None},
    "automatic and verified": AUTOMATIC | {"verification_status": Verification.VERIFIED},
    "a preference": {"kind": Kind.PREFERENCE},
    "a decision": {"kind": Kind.DECISION},
    "expiring later": {"expires_at_ms": NOW + 1},
    "one that replaced another": {"supersedes": "lrn_old"},
}
# Review material and what is not settled is found by whoever searches.
NOT_HIDDEN = {
    Blocker.KIND_NOT_TOLD,
    Blocker.PROVISIONAL,
    Blocker.AUTOMATIC_UNVERIFIED,
    Blocker.ESCALATED,
}


def different(**changes: Any) -> Learning:
    return replace(make_learning(), **changes)


@pytest.mark.parametrize("name", KEPT_OUT)
def test_each_attribute_alone_keeps_a_learning_out_of_prompts(name: str) -> None:
    changes, blocker = KEPT_OUT[name]
    assert prompt_blockers(different(**changes), now_ms=NOW) == (blocker,)


@pytest.mark.parametrize("name", LET_IN)
def test_what_no_rule_meets_is_told_and_found(name: str) -> None:
    learning = different(**LET_IN[name])
    assert prompt_blockers(learning, now_ms=NOW) == ()
    assert search_blockers(learning, now_ms=NOW) == ()


@pytest.mark.parametrize("name", KEPT_OUT)
def test_a_search_hides_only_what_is_no_longer_true_or_not_for_all_eyes(name: str) -> None:
    changes, blocker = KEPT_OUT[name]
    hidden = () if blocker in NOT_HIDDEN else (blocker,)
    assert search_blockers(different(**changes), now_ms=NOW) == hidden


def test_one_that_another_names_as_superseded_is_out_whatever_its_own_status_says() -> None:
    assert prompt_blockers(make_learning(), now_ms=NOW, is_replaced=True) == (Blocker.REPLACED,)
    assert search_blockers(make_learning(), now_ms=NOW, is_replaced=True) == (Blocker.REPLACED,)


def test_every_reason_is_told_and_not_only_the_first() -> None:
    learning = different(
        kind=Kind.PROCEDURE, sensitivity=Sensitivity.SENSITIVE, expires_at_ms=NOW - 1
    )
    assert set(prompt_blockers(learning, now_ms=NOW)) == {
        Blocker.KIND_NOT_TOLD,
        Blocker.SENSITIVE,
        Blocker.EXPIRED,
    }


def test_every_rule_has_words_and_a_case_of_its_own_here() -> None:
    assert [rule.code for rule in RULES] == list(WORDS)
    assert all(rule.words for rule in RULES)
    covered = {blocker for _, blocker in KEPT_OUT.values()} | {Blocker.REPLACED}
    assert covered == set(Blocker) == {rule.code for rule in RULES}
