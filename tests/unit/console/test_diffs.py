"""Differences of texts as pages show them."""

from understudy.console.diffs import (
    MAX_COMPARED_LINES,
    MAX_WORDS,
    DiffRow,
    difference,
    patch_rows,
)


def sides(row: DiffRow) -> tuple[str, str]:
    """Both sides of a row, with changed parts in brackets."""
    old, new = (
        "".join(f"[{part.text}]" if part.is_changed else part.text for part in parts)
        for parts in (row.old, row.new)
    )
    return old, new


def test_equal_texts_have_no_rows() -> None:
    assert difference("a\nb\n", "a\nb\n") == []


def test_the_words_that_changed_are_marked() -> None:
    (row,) = difference("The office is in Oslo.", "The office is in Bergen.")

    assert row.kind == "changed"
    assert sides(row) == ("The office is in [Oslo].", "The office is in [Bergen].")


def test_lines_have_the_numbers_of_their_side() -> None:
    rows = difference("a\nb\nc", "a\nx\ny\nb\nc")

    numbered = [(row.kind, row.old_number, row.new_number) for row in rows]
    assert numbered == [
        ("same", 1, 1),
        ("added", 0, 2),
        ("added", 0, 3),
        ("same", 2, 4),
        ("same", 3, 5),
    ]


def test_equal_lines_far_from_a_change_are_a_gap() -> None:
    old = "\n".join(map(str, range(40)))

    kinds = [row.kind for row in difference(old, old.replace("\n20\n", "\ntwenty\n"))]

    assert kinds == ["gap", *["same"] * 3, "changed", *["same"] * 3]


def test_a_line_of_many_words_is_marked_whole() -> None:
    long = "word " * MAX_WORDS

    (row,) = difference(long + "a", long + "b")

    assert sides(row) == (f"[{long}a]", f"[{long}b]")


def test_changed_lines_after_so_many_are_marked_whole() -> None:
    numbers = range(MAX_COMPARED_LINES + 1)
    old, new = ("".join(f"line {at} {word}\n{at}\n" for at in numbers) for word in ("old", "new"))
    lines = (f"-line {at} old\n+line {at} new\n {at}\n" for at in numbers)

    for rows in (difference(old, new), patch_rows("@@ -1 +1 @@\n" + "".join(lines))):
        changed = [sides(row)[1] for row in rows if row.kind == "changed"]
        assert changed[-2:] == ["line 99 [new]", "[line 100 new]"]


def test_a_unified_diff_has_the_rows_of_its_lines() -> None:
    patch = "--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n one\n-two words\n+two new words\n+three\n@@ -9 +10 @@\n-nine"

    rows = patch_rows(patch)

    assert [(row.kind, row.old_number, row.new_number) for row in rows] == [
        ("same", 1, 1),
        ("changed", 2, 2),
        ("added", 0, 3),
        ("gap", 0, 0),
        ("removed", 9, 0),
    ]
    assert "".join(part.text for part in rows[1].new if part.is_changed).strip() == "new"


def test_a_diff_that_begins_later_begins_with_a_gap() -> None:
    assert [row.kind for row in patch_rows("@@ -4,1 +4,1 @@\n same")] == ["gap", "same"]


def test_a_text_that_is_no_diff_has_no_rows() -> None:
    assert patch_rows("- not\n+ a\n patch") == []
