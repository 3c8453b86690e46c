"""Finding text in the files of the workspace."""

import os
import time
from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.support.tool_calls import call, refusal
from understudy.tools import search
from understudy.tools.base import Approval, Effect
from understudy.tools.search import SearchFiles, SearchFilesParameters


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    files = {
        "readme.md": "# Title\nthe needle is here\n",
        "src/main.py": "x = 1\nNeedle = 2\n# needle\n",
        "src/deep/er/util.py": "def needle():\n    pass\n",
        "src/notes.txt": "nothing",
        ".git/config": "needle",
        "node_modules/a.js": "needle",
    }
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return tmp_path


def lines(workspace: Path, **arguments: object) -> list[str]:
    return call(SearchFiles(), workspace, **arguments).splitlines()


def test_it_reads_and_asks_nobody() -> None:
    assert SearchFiles.effect is Effect.READ
    assert SearchFiles.approval is Approval.NEVER


def test_matches_come_with_path_and_line_in_the_order_of_names(workspace: Path) -> None:
    assert lines(workspace, pattern="needle") == [
        "readme.md:2: the needle is here",
        "src/deep/er/util.py:1: def needle():",
        "src/main.py:3: # needle",
    ]


@pytest.mark.parametrize(
    ("arguments", "paths"),
    [
        ({"path": "src"}, ["src/deep/er/util.py:1", "src/main.py:3"]),
        ({"path": "src/main.py"}, ["src/main.py:3"]),
        ({"path": ".git"}, [".git/config:1"]),
        ({"glob": "*.md"}, ["readme.md:2"]),
        ({"glob": "*.py"}, ["src/deep/er/util.py:1", "src/main.py:3"]),
        ({"glob": "src/*.py"}, ["src/main.py:3"]),
        ({"glob": "src/**/*.py"}, ["src/deep/er/util.py:1", "src/main.py:3"]),
        ({"glob": "**/util.??"}, ["src/deep/er/util.py:1"]),
        ({"glob": "readme[.]md"}, []),
        ({"ignore_case": True, "path": "src/main.py"}, ["src/main.py:2", "src/main.py:3"]),
    ],
)
def test_where_is_looked_can_be_narrowed(
    workspace: Path, arguments: dict[str, object], paths: list[str]
) -> None:
    found = lines(workspace, pattern="needle", **arguments)
    assert [": ".join(line.split(": ")[:1]) for line in found if line[0] != "["] == paths


def test_nothing_found_is_said(workspace: Path) -> None:
    assert lines(workspace, pattern="straw") == ["[no match in 4 files]"]


@pytest.mark.parametrize(
    ("pattern", "count"),
    [(r"^def \w+\(", 1), (r"needle$", 1), (r"n[e]{2}dle", 3), (r"(?i)NEEDLE", 4), (r"e\s*\n", 0)],
)
def test_a_regular_expression_is_read_by_line(workspace: Path, pattern: str, count: int) -> None:
    found = lines(workspace, pattern=pattern, regex=True)
    assert len([line for line in found if line[0] != "["]) == count


def test_without_regex_the_pattern_means_itself(workspace: Path) -> None:
    assert lines(workspace, pattern="needle():") == ["src/deep/er/util.py:1: def needle():"]
    assert lines(workspace, pattern="n.edle") == ["[no match in 4 files]"]


@pytest.mark.parametrize("pattern", ["(", "[a", "(?=x)", r"\1", "a{1001}", "x**", "(" * 900])
def test_a_wrong_expression_is_explained(workspace: Path, pattern: str) -> None:
    refused = refusal(SearchFiles(), workspace, pattern=pattern, regex=True)
    assert refused.code == "bad_pattern"
    assert "(?m)" not in refused.detail


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(.*a){20}b", "((a?){30}){30}b"])
def test_no_expression_takes_longer_than_the_text_is_long(tmp_path: Path, pattern: str) -> None:
    (tmp_path / "a.txt").write_text("a" * 50_000 + "!")
    began = time.process_time()
    answer = call(SearchFiles(), tmp_path, pattern=pattern, regex=True)
    assert "no match" in answer
    assert time.process_time() - began < 10


@pytest.mark.parametrize(
    "bad", [{"pattern": ""}, {"pattern": "x" * 1001}, {"pattern": "x", "glob": "y" * 201}]
)
def test_arguments_are_bounded(bad: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        SearchFilesParameters.model_validate(bad)


def test_binary_large_and_linked_files_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "MAX_FILE_BYTES", 1000)
    (tmp_path / "binary").write_bytes(b"needle\0needle")
    (tmp_path / "large.txt").write_text("needle\n" + "x" * 1000)
    (tmp_path / "one").write_text("needle")
    (tmp_path / "two").hardlink_to(tmp_path / "one")
    (tmp_path / "link").symlink_to("plain.txt")
    (tmp_path / "plain.txt").write_text("needle")
    os.mkfifo(tmp_path / "fifo")
    assert lines(tmp_path, pattern="needle") == [
        "plain.txt:1: needle",
        "[files of more than 1000 bytes are passed over]",
        "[some files cannot be read]",
    ]


@pytest.mark.parametrize(
    ("limit", "value", "said"),
    [
        ("MAX_MATCHES", 3, "only the first 3 matches"),
        ("MAX_FILES", 3, "3 files were read"),
        ("MAX_TOTAL_BYTES", 30, "30 bytes were read"),
        ("MAX_ENTRIES", 3, "more than 3 entries"),
        ("MAX_SECONDS", -1.0, "s are over"),
    ],
)
def test_every_limit_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: float, said: str
) -> None:
    for number in range(8):
        (tmp_path / f"{number}.txt").write_text("needle\nneedle\n")
    monkeypatch.setattr(search, limit, value)
    found = lines(tmp_path, pattern="needle")
    assert said in found[-1]
    assert len(found) <= 7


def test_directories_too_deep_to_be_named_are_not_opened(tmp_path: Path) -> None:
    folder = tmp_path
    for _ in range(40):
        folder = folder / "d"
        folder.mkdir()
        (folder / "f.txt").write_text("needle")
    found = lines(tmp_path, pattern="needle")
    assert len(found) == 32
    assert found[-1] == "[directories below depth 32 are not opened]"


def test_lines_are_counted_across_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "WINDOW_BYTES", 10)
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\nfour\n" + "long " * 5 + "\nneedle\n")
    assert lines(tmp_path, pattern="needle") == ["a.txt:6: needle"]


def test_a_long_line_is_cut_and_odd_names_stay_on_their_line(tmp_path: Path) -> None:
    (tmp_path / "odd\nname").write_bytes(b"needle " + b"\xff" * 1000)
    (found,) = lines(tmp_path, pattern="needle")
    assert found.startswith("'odd\\nname':1: needle")
    assert len(found) < 400


def test_a_missing_path_is_said(tmp_path: Path) -> None:
    assert refusal(SearchFiles(), tmp_path, pattern="x", path="gone").code == "not_found"
