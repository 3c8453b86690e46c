"""Under which keys learnings are found."""

from typing import Any

import pytest

from tests.support.learning_factories import SESSION, make_learning
from understudy.learnings.model import (
    Kind,
    LearningSource,
    LearningStatus,
    Sensitivity,
    Tier,
    Verification,
)
from understudy.learnings.visibility import index_scopes, prompt_key, talk_key

BOTH = ("session:s1", "prompt:session:s1")


@pytest.mark.parametrize(
    ("fields", "keys"),
    [
        ({}, BOTH),
        # Whether its time is over is seen when it is read.
        ({"expires_at_ms": 5}, BOTH),
        ({"kind": Kind.PROCEDURE}, BOTH[:1]),
        ({"status": LearningStatus.PROVISIONAL, "publish_tier": Tier.PROVISIONAL}, BOTH[:1]),
        ({"sensitivity": Sensitivity.SENSITIVE}, ()),
        ({"verification_status": Verification.FAILED}, ()),
        ({"status": LearningStatus.REVOKED}, ()),
        ({"status": LearningStatus.SUPERSEDED}, ()),
    ],
)
def test_only_what_may_be_found_is_indexed(fields: dict[str, Any], keys: tuple[str, ...]) -> None:
    assert index_scopes(make_learning(scope=SESSION, **fields)) == keys


def test_what_could_reach_a_prompt_is_found_by_the_session_it_was_said_in() -> None:
    said = LearningSource(session_id="talk")

    assert index_scopes(make_learning(scope=SESSION, source=said)) == (
        *BOTH,
        talk_key(SESSION, "talk"),
    )
    assert index_scopes(make_learning(scope=SESSION, source=said, kind=Kind.PROCEDURE)) == BOTH[:1]


def test_a_prompt_has_keys_of_its_own() -> None:
    assert prompt_key(SESSION) == BOTH[1]
