"""What people are told about the capture of a run."""

import pytest

from understudy.cli.memory import CAPTURE_STATES, capture_line
from understudy.memory.record import CaptureState, RunCapture

OFF, PENDING, COMPLETED, SKIPPED, FAILED, GIVEN_UP = CaptureState


@pytest.mark.parametrize(
    ("capture", "line"),
    [
        (RunCapture(state=OFF), "off when the run ended"),
        (RunCapture(state=PENDING), "pending"),
        (RunCapture(state=COMPLETED, found=2, attempts=1), "completed, 2 found"),
        (
            RunCapture(state=COMPLETED, attempts=1, reason="nothing_found"),
            "completed, 0 found: no label, and no model found a statement; offline only labels count",
        ),
        (
            RunCapture(state=COMPLETED, found=3, attempts=1, reason="known_already,secret"),
            "completed, 3 found: known already, refused as a secret",
        ),
        (
            RunCapture(state=SKIPPED, reason="run_not_completed"),
            "skipped: the run did not complete",
        ),
        (
            RunCapture(state=FAILED, attempts=1, reason="model_timeout"),
            "failed after 1 attempt, to be retried: model_timeout",
        ),
        (
            RunCapture(state=GIVEN_UP, attempts=9, reason="model_answer_unusable"),
            "given up after 9 attempts: model_answer_unusable",
        ),
    ],
)
def test_the_line_says_what_was_found_or_why_nothing_was(capture: RunCapture, line: str) -> None:
    assert capture_line(capture) == line


def test_every_state_has_words() -> None:
    assert set(CAPTURE_STATES) == {str(state) for state in CaptureState}
