"""Diffs: what changed between two bundles, in bounded time and room."""

import difflib
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.core.line_diff import Effort, changes
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.diff import MAX_DIFF_CHARS, FileChange, FileDiff, compare


def bundle(**files: bytes) -> Bundle:
    return Bundle({"SKILL.md": b"---\nname: x\n---\n", **files})


def only(old: dict[str, bytes], new: dict[str, bytes]) -> FileDiff:
    (found,) = compare(bundle(**old), bundle(**new)).files
    return found


def test_equal_bundles_do_not_differ() -> None:
    assert compare(bundle(a=b"1"), bundle(a=b"1")).files == ()


def test_added_removed_and_changed_files_are_told_apart() -> None:
    found = compare(bundle(a=b"1", b=b"2", c=b"3"), bundle(b=b"2", c=b"4", d=b"5")).files

    assert [(one.path, one.change, one.old_size, one.new_size) for one in found] == [
        ("a", FileChange.REMOVED, 1, None),
        ("c", FileChange.CHANGED, 1, 1),
        ("d", FileChange.ADDED, None, 1),
    ]


def test_text_is_shown_as_a_unified_diff() -> None:
    old = "\n".join(f"line {number}" for number in range(1, 31))
    new = old.replace("line 5\n", "line five\n").replace("line 25\n", "")

    expected = difflib.unified_diff(
        old.split("\n"), new.split("\n"), "a/t.md", "b/t.md", lineterm=""
    )

    assert only({"t.md": old.encode()}, {"t.md": new.encode()}).diff == "\n".join(expected)


def test_a_new_file_is_shown_whole() -> None:
    shown = "--- /dev/null\n+++ b/t.md\n@@ -0,0 +1,2 @@\n+a\n+b"

    assert only({}, {"t.md": b"a\nb\n"}).diff == shown
    assert only({}, {"t.md": b"a\nb"}).diff == shown + "\n\\ No newline at end of file"


def test_a_last_line_that_is_ended_now_has_changed() -> None:
    found = only({"t.md": b"a\nb"}, {"t.md": b"a\nb\n"})

    assert found.diff is not None
    assert found.diff.split("\n")[3:] == [" a", "-b", "\\ No newline at end of file", "+b"]


def test_an_emptied_file_has_no_lines() -> None:
    assert only({"t.md": b"a\n"}, {"t.md": b""}).diff == "--- a/t.md\n+++ b/t.md\n@@ -1 +0,0 @@\n-a"


def test_what_is_no_text_is_not_shown() -> None:
    found = only({"image": b"\0\1"}, {"image": b"\0\2"})

    assert (found.diff, found.cut) == (None, False)


def test_a_long_diff_is_cut() -> None:
    text = "\n".join("word " * 20 + str(number) for number in range(9_000)).encode()
    found = only({}, {"t.txt": text})

    assert found.cut
    assert found.diff is not None
    assert len(found.diff) < MAX_DIFF_CHARS + 1_000


@pytest.mark.parametrize("kinds", [2, 50, 5_000])
def test_texts_that_have_little_in_common_take_no_long_time(kinds: int) -> None:
    old = "\n".join(str(number * 7919 % kinds) for number in range(20_000))
    new = "\n".join(str(number * 104729 % (kinds + 1)) for number in range(20_000))
    begun = time.process_time()

    found = only({"t.txt": old.encode()}, {"t.txt": new.encode()})

    assert found.cut
    assert time.process_time() - begun < 4


def applied(old: list[str], new: list[str], effort: Effort) -> list[str]:
    made: list[str] = []
    at = 0
    for change in changes(old, new, effort):
        made += old[at : change.old_from] + new[change.new_from : change.new_to]
        at = change.old_to
    return made + old[at:]


LINES = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=12)


@settings(max_examples=100)
@given(old=LINES, new=LINES, steps=st.sampled_from([0, 5, 20, 10_000]))
def test_the_changes_lead_from_one_text_to_the_other(
    old: list[str], new: list[str], steps: int
) -> None:
    assert applied(old, new, Effort(steps)) == new


@settings(max_examples=60)
@given(old=LINES, new=LINES)
def test_no_more_lines_change_than_need_to(old: list[str], new: list[str]) -> None:
    lengths = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for x, one in enumerate(old):
        for y, other in enumerate(new):
            longer = max(lengths[x][y + 1], lengths[x + 1][y])
            lengths[x + 1][y + 1] = lengths[x][y] + 1 if one == other else longer
    found = changes(old, new, Effort(10_000))
    changed = sum(one.old_to - one.old_from + one.new_to - one.new_from for one in found)

    assert changed == len(old) + len(new) - 2 * lengths[-1][-1]
