"""What changed between two texts of a file."""

import time

from tests.support.cpu_effort import takes_under
from understudy.core.line_diff import Effort, changes
from understudy.evolution.text_diff import (
    CUT,
    MAX_LINES,
    PAGE_STEPS,
    text_diff,
    text_diff_within,
)


def test_changed_lines_are_shown_with_what_is_around_them() -> None:
    assert text_diff("a\nb\nc\n", "a\nB\nc\n", "SOUL.md").splitlines() == [
        "--- a/SOUL.md",
        "+++ b/SOUL.md",
        "@@ -1,3 +1,3 @@",
        " a",
        "-b",
        "+B",
        " c",
    ]


def test_nothing_is_shown_where_nothing_changed() -> None:
    assert text_diff("a\n", "a\n", "SOUL.md") == ""
    assert text_diff(None, "", "SOUL.md") == ""


def test_a_file_that_was_not_there_is_all_new() -> None:
    assert text_diff(None, "a", "USER.md") == "--- /dev/null\n+++ b/USER.md\n@@ -0,0 +1 @@\n+a"


def test_long_texts_are_cut_and_take_no_time() -> None:
    old, new = "".join(f"old {at}\n" for at in range(9_000)), "new\n" * 9_000
    shown = text_diff(old, new, "SOUL.md")
    assert shown.endswith(CUT)
    assert len(shown.splitlines()) <= MAX_LINES + 3
    assert takes_under(2, lambda: text_diff(old, new, "SOUL.md"))


# Much of it stands in both, and nothing in the same order.
HARD = ("a\nb\n" * 2_000, "b\na\nc\n" * 1_300)


def test_several_that_share_an_effort_look_as_they_do_alone() -> None:
    effort = Effort(PAGE_STEPS)
    pairs = [("a\nb\n", "a\nc\n"), (None, "new\n"), ("same\n", "same\n")]

    for old, new in pairs:
        assert text_diff_within(effort, old, new, "SOUL.md") == text_diff(old, new, "SOUL.md")
    assert effort.left > 0


def test_what_is_beyond_the_effort_is_left_out() -> None:
    effort = Effort(PAGE_STEPS)
    began = time.process_time()
    made = [text_diff_within(effort, *HARD, "SOUL.md") for _ in range(200)]

    assert made == [None] * 200
    assert text_diff_within(effort, "a\n", "b\n", "SOUL.md") is None
    assert time.process_time() - began < 2


def test_long_texts_are_part_of_the_effort_however_alike_they_are() -> None:
    effort, long = Effort(PAGE_STEPS), "x" * 16_000 + "\n"
    made = [text_diff_within(effort, long, long + "y\n", "SOUL.md") for _ in range(1_000)]

    assert made[0] is not None
    assert made[-1] is None


def test_lines_that_only_one_text_has_take_no_looking() -> None:
    effort = Effort(10)

    assert len(changes(["old"] * 5_000, ["new"] * 5_000, effort)) == 1
    assert effort.left > 0
