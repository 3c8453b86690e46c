"""Text for people."""

import io
import re
from dataclasses import dataclass
from typing import Final

import pytest

from understudy.cli import screen

NOW = 1_800_000_000_000
RUN_ID = "run_01a1e18be774720c8d4023dc986be3ea"
SESSION_ID = "ses_01a1e189df1a770d9eb0ab990e6976f1"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def shown_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, width: int, columns: tuple[str, ...], *rows: tuple[str, ...]
) -> list[str]:
    terminal = Terminal()
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr("sys.stdout", terminal)
    screen.table(columns, rows, empty="")
    return re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue()).splitlines()


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


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        *((-5, "in 0s"), (0.4, "in 1s"), (12, "in 12s"), (59.5, "in 1m"), (60, "in 1m")),
        *((61, "in 2m"), (59 * 60, "in 59m"), (3599, "in 1h"), (7200, "in 2h"), (86_399, "in 1d")),
        *((7 * 86_400 - 1, "in 7d"), (7 * 86_400, "in 7d"), (400 * 86_400, "in 400d")),
    ],
)
def test_a_moment_to_come_is_told_in_one_unit_that_is_begun(seconds: float, words: str) -> None:
    assert screen.ahead(NOW + int(seconds * 1000), NOW) == words
    assert screen.ahead(None) is None


def test_what_cannot_be_seen_is_written_out() -> None:
    assert screen.visible("a\u200bb\x1b\r\u00a0\ud800\n\té漢") == (
        "a\\u200bb\\x1b\\r\\xa0\\ud800\n\té漢"
    )


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


LONG: Final = "a long question " * 20


@pytest.mark.parametrize("width", [80, 100])
def test_on_a_terminal_ids_are_short_and_the_last_column_wraps_for_a_few_lines(
    monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    columns = ("run", "status", "submitted", "took", "input")
    row = (RUN_ID, "completed", "52s ago", "2.3s", LONG)

    heading, *lines = shown_on_a_terminal(monkeypatch, width, columns, row)

    assert heading.split() == ["RUN", "STATUS", "SUBMITTED", "TOOK", "INPUT"]
    begin = f"{RUN_ID[:15]}  completed  52s ago    2.3s  "
    assert lines[0].startswith(f"{begin}a long question")
    assert len(lines) == screen.MOST_LINES
    assert all(line.startswith(" " * len(begin)) for line in lines[1:])
    assert lines[-1].endswith("…")
    assert max(map(len, lines)) <= width


def test_columns_give_way_from_the_right_until_the_text_has_room(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = ("run", "status", "submitted", "took", "session", "input")
    row = (RUN_ID, "waiting for approval", "52s ago", "2.3s", SESSION_ID, LONG)

    heading, first, *_ = shown_on_a_terminal(monkeypatch, 80, columns, row)

    assert heading.split() == ["RUN", "STATUS", "INPUT"]
    assert first.startswith(f"{RUN_ID[:15]}  waiting for approval  a long question")
    assert "--wide shows submitted, took, session, too" in capsys.readouterr().err


def test_the_first_column_stays_on_the_narrowest_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown_on_a_terminal(monkeypatch, 20, ("run", "took", "input"), (RUN_ID, "2.3s", LONG))

    assert lines[1].startswith(f"{RUN_ID[:15]}  a long")


def test_a_wide_table_is_whole_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    reset = screen.wide.set(True)
    try:
        _, line = shown_on_a_terminal(monkeypatch, 80, ("run", "input"), (RUN_ID, LONG))
    finally:
        screen.wide.reset(reset)

    assert line == f"{RUN_ID}  {LONG.strip()}"


def test_characters_of_two_cells_keep_the_columns_in_line(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown_on_a_terminal(monkeypatch, 80, ("name", "about"), ("漢字", "x"), ("four", "y"))

    assert lines[1:] == ["漢字  x", "four  y"]


def test_one_of_a_thing_is_not_many() -> None:
    assert [screen.count(n, "event") for n in (0, 1, 2)] == ["0 events", "1 event", "2 events"]


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


@dataclass(frozen=True)
class Part:
    name: str
    at_ms: int = 0


@dataclass(frozen=True)
class Whole:
    whole_id: str
    created_at_ms: int
    part: Part
    metadata: dict[str, object]


LAYOUT: Final[screen.Layout] = {
    "id": "whole_id",
    "made": "created_at_ms",
    "part": "part.name",
    "seen": "part.at_ms",
    "metadata": "metadata",
    "both": lambda whole: f"{whole.whole_id} {whole.part.name}",
}


def test_a_layout_takes_fields_by_their_path_and_moments_as_how_long_ago_they_were() -> None:
    whole = Whole("w1", 0, Part("p"), {"a": [1, "ü"]})

    assert screen.rows_of([whole], LAYOUT) == [("w1", "–", "p", "–", '{"a": [1, "ü"]}', "w1 p")]


def test_a_record_leaves_out_what_is_empty(capsys: pytest.CaptureFixture[str]) -> None:
    screen.record(
        Whole("w1", 0, Part(""), {}), {"id": "whole_id", "x": "part.name", "m": "metadata"}
    )

    assert capsys.readouterr().out == "id  w1\n"


def test_records_are_a_table_under_the_labels(capsys: pytest.CaptureFixture[str]) -> None:
    layout: screen.Layout = {"id": "whole_id", "part": "part.name"}

    screen.records([Whole("w1", 0, Part("p"), {})], layout, empty="None.")
    screen.records([], layout, empty="None.")

    assert capsys.readouterr().out == "ID  PART\nw1  p\nNone.\n"
