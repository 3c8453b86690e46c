"""A tool call as it is read before a decision."""

from understudy.cli.requests import MAX_LINES, call_lines, diff_lines, inline, shortened


def test_arguments_stand_one_below_the_other_and_keep_their_lines() -> None:
    assert call_lines({"path": "a.txt", "content": "one\ntwo", "limit": None, "deep": True}) == [
        "path     a.txt",
        "content  one",
        "         two",
        "deep     true",
    ]
    assert call_lines({}) == ["(no arguments)"]


def test_nothing_hides_in_what_is_shown() -> None:
    hidden = "ls \u200b\u202e\x1b[8m; rm -rf x\r\x00\ud800"

    (line,) = call_lines({"command": hidden})

    assert line == r"command  ls \u200b\u202e\x1b[8m; rm -rf x\r\x00\ud800"
    assert r"\u202e" in inline({"command": hidden})


def test_a_text_cannot_pass_for_another_argument() -> None:
    lines = call_lines({"content": "x\npath  /etc/passwd", "path": "a"})

    assert [line for line in lines if line.startswith("path")] == ["path     a"]


def test_long_values_that_are_no_text_are_spread_out() -> None:
    lines = call_lines({"rows": [{"number": number} for number in range(20)]})

    assert len(lines) > 20
    assert lines[0] == "rows  ["


def test_a_long_call_is_cut_and_says_how_much_is_missing() -> None:
    many = [f"line {number}" for number in range(100)]
    shown = shortened(many, more="v shows all")
    assert len(shown) == MAX_LINES + 1
    assert shown[-1].startswith("[NOT SHOWN: ")
    assert "v shows all" in shown[-1]

    wide = shortened(["x" * 10_000], more="v")
    assert wide[-1] == "[NOT SHOWN: 6000 more characters; v]"
    assert shortened(["short"], more="v") == ["short"]


def test_empty_lines_that_are_cut_off_are_told_too() -> None:
    shown = shortened([""] * 100, more="v")

    assert shown[-1].startswith("[NOT SHOWN")


def test_an_edit_is_shown_line_by_line() -> None:
    before = {"path": "a", "content": "-- one\ntwo\nthree"}
    after = {"path": "a", "content": "-- 1\ntwo\nthree"}

    assert diff_lines(before, after) == [
        " path     a",
        "-content  -- one",
        "+content  -- 1",
        "          two",
    ]
    assert diff_lines(before, before) == []


def test_a_removed_line_that_looks_like_a_heading_is_shown() -> None:
    assert "--- a  x" in diff_lines({"-- a": "x"}, {"b": "x"})
