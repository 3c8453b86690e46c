"""What a person is told of what a procedure must show before it becomes a skill."""

from typing import Any

import pytest

from understudy.cli.policy_documents import learning_policy_pairs
from understudy.review.policy import LearningPolicy, PromotionSettings
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
