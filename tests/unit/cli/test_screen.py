"""Text for people."""

import pytest

from understudy.cli import screen

NOW = 1_800_000_000_000


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "just now"),
        (-5, "just now"),
        (12, "12s ago"),
        (61, "1m ago"),
        (3 * 3600 + 5, "3h ago"),
        (2 * 86_400, "2d ago"),
        (400 * 86_400, "2025-12-11"),
    ],
)
def test_a_moment_is_told_in_one_unit(seconds: int, words: str) -> None:
    assert screen.ago(NOW - seconds * 1000, NOW) == words


def test_no_moment_is_a_dash() -> None:
    assert screen.ago(None) == "–"
    assert screen.lasted(None, 5) == "–"


def test_a_duration_is_short() -> None:
    assert screen.lasted(1000, 1400) == "0.4s"
    assert screen.lasted(1000, 201_000) == "3m 20s"


def test_text_cannot_drive_the_terminal() -> None:
    hostile = "a\x1b]0;title\x07b\x9b31mc\u202egnp\rd\x00"

    assert not screen.UNPRINTABLE.search(screen.printable(hostile))
    assert screen.printable("line\n\ttab\r\nend äé漢") == "line\n\ttab\nend äé漢"


def test_a_table_that_is_piped_is_not_cut(capsys: pytest.CaptureFixture[str]) -> None:
    long = "x" * 300
    screen.table(("id", "about"), [("run_1", long), ("run_22", "[red]no markup[/red]")], empty="")

    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "ID      ABOUT"
    assert lines[1] == f"run_1   {long}"
    assert lines[2] == "run_22  [red]no markup[/red]"


def test_an_empty_table_says_how_to_fill_it(capsys: pytest.CaptureFixture[str]) -> None:
    screen.table(("id",), [], empty="No runs yet. Make one.")

    assert capsys.readouterr().out == "No runs yet. Make one.\n"


def test_a_cell_stays_on_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    screen.table(("id", "about"), [("a", "one\ntwo\x1b[2J")], empty="")

    assert capsys.readouterr().out.splitlines()[1] == "a   one two\N{REPLACEMENT CHARACTER}[2J"


def test_fields_leave_out_what_is_empty(capsys: pytest.CaptureFixture[str]) -> None:
    screen.fields([("run", "r1"), ("error", None), ("output", "one\ntwo"), ("done", True)])

    assert capsys.readouterr().out == "run     r1\noutput  one\n        two\ndone    yes\n"


def test_a_summary_names_what_happened_and_not_where() -> None:
    event = {"type": "queued", "position": 2, "run_id": "r", "session_id": "s"}

    assert screen.summary(event) == "queued position=2"
    assert len(screen.summary({"text": "x" * 500})) == 160
