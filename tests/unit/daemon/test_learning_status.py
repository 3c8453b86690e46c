"""What of learning deserves a look."""

from typing import Any

import pytest

from understudy.daemon.learning_status import MANY_WAITING, STUCK_MS, learning_warnings


def status(**changes: Any) -> dict[str, Any]:
    return {
        "mode": "shadow",
        "policy_damaged": False,
        "candidates": {"pending": 1, "escalated": 1, "published": 900, "rejected": 900},
        "review_queue": 0,
        "capture_queue": 0,
        "review_late_ms": 0,
        "capture_late_ms": 0,
        **changes,
    }


def test_good_order_needs_no_words() -> None:
    assert learning_warnings(status()) == []
    assert learning_warnings(status(review_late_ms=STUCK_MS - 1, review_queue=4)) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"policy_damaged": True, "mode": "manual_only"},
            ("error", "learning_policy_damaged", "manual_only"),
        ),
        (
            {"review_late_ms": STUCK_MS, "review_queue": 3},
            ("warning", "learning_review_stuck", "3 reviews wait, the first for 10 minutes"),
        ),
        (
            {
                "capture_failing": {"runs": 2, "reason": "model_timeout"},
                "capture_given_up": {"runs": 1, "reason": "model_answer_unusable"},
            },
            (
                "warning",
                "learning_capture_failing",
                "fails for 2 runs (model_timeout) and was given up for 1 run (model_answer_unusable)",
            ),
        ),
        (
            {"capture_late_ms": 2 * STUCK_MS, "capture_queue": 7},
            ("warning", "learning_capture_stuck", "7 captures wait, the first for 20 minutes"),
        ),
        (
            {"candidates": {"pending": MANY_WAITING - 1, "escalated": 1}},
            ("info", "learning_candidates_waiting", f"{MANY_WAITING} candidates wait"),
        ),
    ],
)
def test_each_trouble_is_told_once(changes: dict[str, Any], expected: tuple[str, str, str]) -> None:
    (found,) = learning_warnings(status(**changes))

    severity, code, said = expected
    assert (found["severity"], found["code"]) == (severity, code)
    assert said in found["message"]
    assert found["action"]
