"""What the end of a background task means, and what can be done about one."""

from dataclasses import replace

import pytest

from tests.support.factories import make_background_task, make_run
from understudy.background_tasks.model import (
    BACKGROUND_TASK,
    BackgroundStatus,
    EndReason,
    OutputPiece,
    StopWish,
    TaskEnd,
    outcome,
)
from understudy.background_tasks.service import sliced

TASK = make_background_task(make_run())
PIECES = (OutputPiece(start=0, text="abc"), OutputPiece(start=3, text="def"))


@pytest.mark.parametrize("reason", EndReason)
def test_only_an_exit_code_of_zero_is_a_success(reason: EndReason) -> None:
    ends = {code: TaskEnd(reason=reason, exit_code=code).status for code in (0, 1, None)}
    stopped = reason in (EndReason.STOPPED, EndReason.SESSION_ENDED)
    other = BackgroundStatus.CANCELLED if stopped else BackgroundStatus.FAILED
    assert ends[1] == ends[None] == other
    completes = reason is EndReason.EXITED
    assert ends[0] == (BackgroundStatus.COMPLETED if completes else other)


def test_a_task_that_has_ended_stays_so() -> None:
    assert BACKGROUND_TASK.terminal == frozenset(BackgroundStatus) - {BackgroundStatus.IN_PROGRESS}
    for reason in EndReason:
        assert BACKGROUND_TASK.allows(BackgroundStatus.IN_PROGRESS, TaskEnd(reason=reason).status)


def test_only_a_task_that_runs_on_can_be_stopped() -> None:
    assert TASK.actions == ("stop",)
    wish = StopWish(reason=EndReason.STOPPED, by="alice", at_ms=2)
    assert replace(TASK, stop_requested=wish).actions == ()
    assert replace(TASK, status=BackgroundStatus.FAILED).actions == ()


def test_how_a_task_stands_is_told_on_one_line() -> None:
    failed = replace(TASK, status=BackgroundStatus.FAILED)
    exited = replace(failed, terminal_reason=EndReason.EXITED, exit_code=3)
    assert [outcome(each) for each in (TASK, exited)] == ["in_progress", "failed: exit code 3"]
    lost = replace(failed, terminal_reason=EndReason.DAEMON_RESTARTED)
    assert outcome(lost) == "failed: daemon_restarted"


@pytest.mark.parametrize(
    ("pieces", "offset", "limit", "text", "next_offset", "skipped"),
    [
        (PIECES, 0, 10, "abcdef", 6, 0),
        (PIECES, 2, 2, "cd", 4, 0),
        (PIECES[1:], 1, 10, "def", 6, 2),
        ((PIECES[0], OutputPiece(start=5, text="f")), 0, 10, "abc", 3, 0),
        ((OutputPiece(start=5, text="f"),), 3, 10, "f", 6, 2),
        ((), 6, 10, "", 6, 0),
        ((), 99, 10, "", 6, 0),
    ],
)
def test_a_part_of_the_output_goes_as_far_as_there_is_no_gap(
    pieces: tuple[OutputPiece, ...],
    offset: int,
    limit: int,
    text: str,
    next_offset: int,
    skipped: int,
) -> None:
    ended = replace(TASK, status=BackgroundStatus.COMPLETED, output_chars=6)
    found = sliced(ended, pieces, offset, limit)
    assert (found.text, found.next_offset, found.skipped_chars) == (text, next_offset, skipped)
    assert found.is_end == (next_offset == 6)
