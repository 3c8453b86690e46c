"""What a person is told of a learning policy."""

from typing import Any

import pytest

from understudy.cli.policy_documents import learning_policy_pairs
from understudy.review.policy import LearningPolicy, PromotionSettings, RetrievalSettings
from understudy.wire.policies import PolicyView

STRICT: dict[str, Any] = {
    "require_executed_evidence": True,
    "min_successes": 3,
    "min_sessions": 2,
    "require_replay": True,
    "canary_share_percent": 20,
    "demote_when_worse": False,
}

REPLAY = "and a replay without a regression"


def shown(**fields: Any) -> dict[str, object]:
    policy = LearningPolicy(promotion=PromotionSettings(**fields))
    return dict(learning_policy_pairs(PolicyView(policy=policy, revision=1, updated_at_ms=0)))


@pytest.mark.parametrize(
    ("fields", "promotion", "canary", "active"),
    [
        (
            {},
            "needs no executed evidence, 1 verified run",
            "hidden",
            "taken back when they do worse than they did",
        ),
        (
            STRICT,
            f"needs executed evidence, 3 verified runs in 2 sessions, {REPLAY}",
            "offered to 20 in 100 sessions",
            "stay, however they do",
        ),
    ],
)
def test_what_promotion_asks_for_is_told_in_words(
    fields: dict[str, Any], promotion: str, canary: str, active: str
) -> None:
    pairs = shown(**fields)
    assert (pairs["promotion"], pairs["canary"], pairs["active skills"]) == (
        promotion,
        canary,
        active,
    )


@pytest.mark.parametrize(
    ("fields", "floor", "standing"),
    [
        ({"relevance_floor": 0.4}, "40% of the input", "at most 12, with 600 tokens together"),
        (
            {"relevance_floor": 0, "max_standing_entries": 3, "max_standing_tokens": 90},
            "off: every match is told",
            "at most 3, with 90 tokens together",
        ),
    ],
)
def test_what_prompts_are_told_of_learnings_is_told_in_words(
    fields: dict[str, Any], floor: str, standing: str
) -> None:
    policy = LearningPolicy(retrieval=RetrievalSettings(**fields))
    view = PolicyView(policy=policy, revision=1, updated_at_ms=0)
    pairs = dict(learning_policy_pairs(view))
    assert (pairs["relevance floor"], pairs["standing learnings"]) == (floor, standing)
