"""Differences of texts as pages show them."""

from understudy.console.diffs import MAX_WORDS, DiffRow, difference


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
