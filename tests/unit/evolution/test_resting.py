"""What is not suggested again yet."""

import pytest

from understudy.evolution.usage_review import COOLDOWN_MS, Resting
from understudy.evolution.usage_rules import SuggestionState

NOW = 1_700_000_000_000


def state(**fields: object) -> SuggestionState:
    values: dict[str, object] = {
        "rule": "unused",
        "subject": "skl_1",
        "at_ms": NOW,
        "is_open": False,
        "decided_at_ms": None,
    }
    return SuggestionState(**(values | fields))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "later_ms", "rests"),
    [
        ({"is_open": True}, 9 * COOLDOWN_MS, True),
        ({"decided_at_ms": NOW + 5}, COOLDOWN_MS + 4, True),
        ({"decided_at_ms": NOW + 5}, COOLDOWN_MS + 5, False),
        # The candidate is gone.
        ({}, COOLDOWN_MS - 1, True),
        ({}, COOLDOWN_MS, False),
    ],
)
def test_the_same_rests_until_some_time_after_a_decision(
    fields: dict[str, object], later_ms: int, rests: bool
) -> None:
    resting = Resting([state(**fields)], now_ms=NOW + later_ms)

    assert resting.has("unused", "skl_1") is rests
    assert not resting.has("unused", "skl_2")
    assert not resting.has("low_success", "skl_1")
