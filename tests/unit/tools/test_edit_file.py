"""Replacing exact text in a file."""

import asyncio
import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.support.tool_calls import call, context_in, refusal
from understudy.tools import edit
from understudy.tools.base import Approval, Effect
from understudy.tools.edit import EditFile, EditFileParameters
from understudy.tools.text_files import MAX_WRITE_BYTES


def write(folder: Path, content: str) -> Path:
    path = folder / "a.txt"
    path.write_bytes(content.encode())
    return path


def test_it_declares_that_a_repeat_is_another_edit() -> None:
    assert EditFile.effect is Effect.ONCE
    assert EditFile.approval is Approval.NEVER


def test_the_only_match_is_replaced(tmp_path: Path) -> None:
    path = write(tmp_path, "one\r\ntwo\r\nxin chào\n")
    answer = call(EditFile(), tmp_path, path="a.txt", old_text="two", new_text="zwei ✓")
    assert answer == "edited a.txt: 1 place changed (25 bytes)"
    assert path.read_bytes() == "one\r\nzwei ✓\r\nxin chào\n".encode()


def test_text_can_be_taken_out(tmp_path: Path) -> None:
    path = write(tmp_path, "one two")
    call(EditFile(), tmp_path, path="a.txt", old_text=" two", new_text="")
    assert path.read_text() == "one"


@pytest.mark.parametrize(("content", "count"), [("a b a", 2), ("aaaa", 4)])
def test_every_match_is_replaced_when_asked(tmp_path: Path, content: str, count: int) -> None:
    path = write(tmp_path, content)
    answer = call(EditFile(), tmp_path, path="a.txt", old_text="a", new_text="aa", replace_all=True)
    assert f"{count} places changed" in answer
    assert path.read_text() == content.replace("a", "aa")


@pytest.mark.parametrize(
    ("content", "old", "code", "said"),
    [
        ("one", "two", "no_match", "does not occur"),
        ("", "two", "no_match", "does not occur"),
        ("a\r\nb", "a\nb", "no_match", "lines end with \\r\\n"),
        ("if x:\n\treturn", "if x:\n    return", "no_match", "other blanks"),
        ("one", "One", "no_match", "does not occur"),
        ("a a a", "a", "several_matches", "3 places"),
        ("aaa", "aa", "several_matches", "2 places"),
        ("one", " ", "no_match", "does not occur in the file"),
    ],
)
def test_no_match_and_several_are_told_apart_and_change_nothing(
    tmp_path: Path, content: str, old: str, code: str, said: str
) -> None:
    path = write(tmp_path, content)
    refused = refusal(EditFile(), tmp_path, path="a.txt", old_text=old, new_text="x")
    assert refused.code == code
    assert said in refused.detail
    assert path.read_bytes() == content.encode()


@pytest.mark.parametrize("mode", [0o640, 0o755, 0o600])
def test_the_mode_of_the_file_stays(tmp_path: Path, mode: int) -> None:
    path = write(tmp_path, "one")
    path.chmod(mode)
    call(EditFile(), tmp_path, path="a.txt", old_text="one", new_text="two")
    assert path.stat().st_mode & 0o7777 == mode
    assert os.listdir(tmp_path) == ["a.txt"]  # noqa: PTH208


def test_the_same_text_changes_nothing(tmp_path: Path) -> None:
    write(tmp_path, "one")
    refused = refusal(EditFile(), tmp_path, path="a.txt", old_text="one", new_text="one")
    assert refused.code == "nothing_to_change"


def test_empty_old_text_is_not_accepted() -> None:
    with pytest.raises(ValidationError):
        EditFileParameters(path="a", old_text="", new_text="x")


@pytest.mark.parametrize("content", [b"a\0b one", b"\xff one"])
def test_a_file_that_is_no_text_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.txt").write_bytes(content)
    refused = refusal(EditFile(), tmp_path, path="a.txt", old_text="one", new_text="two")
    assert refused.code == "not_text"


def test_a_missing_file_is_said_and_not_made(tmp_path: Path) -> None:
    assert refusal(EditFile(), tmp_path, path="a", old_text="x", new_text="y").code == "not_found"
    assert not any(tmp_path.iterdir())


def test_a_file_too_large_to_edit_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "x" * (MAX_WRITE_BYTES + 1))
    refused = refusal(EditFile(), tmp_path, path="a.txt", old_text="x", new_text="y")
    assert refused.code == "file_too_large"


def test_an_edit_that_would_make_a_file_enormous_is_refused_before_it_is_made(
    tmp_path: Path,
) -> None:
    path = write(tmp_path, "x" * MAX_WRITE_BYTES)
    # Done first and measured after, this would take a terabyte.
    refused = refusal(
        EditFile(),
        tmp_path,
        path="a.txt",
        old_text="x",
        new_text="y" * MAX_WRITE_BYTES,
        replace_all=True,
    )
    assert refused.code == "file_too_large"
    assert path.read_text() == "x" * MAX_WRITE_BYTES


def test_edits_of_one_file_at_the_same_time_all_count(tmp_path: Path) -> None:
    path = write(tmp_path, "".join(f"<{number}>" for number in range(20)))
    tool = EditFile()

    async def all_at_once() -> None:
        await asyncio.gather(
            *(
                tool.call(
                    EditFileParameters(
                        path="a.txt", old_text=f"<{number}>", new_text=f"[{number}]"
                    ),
                    context_in(tmp_path),
                )
                for number in range(20)
            )
        )

    asyncio.run(all_at_once())
    assert path.read_text() == "".join(f"[{number}]" for number in range(20))


def test_a_file_that_changed_meanwhile_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, "one")
    places = edit._places

    def change_meanwhile(content: bytes, old: bytes, *, every: bool) -> int:
        path.write_text("one, by somebody else")
        return places(content, old, every=every)

    monkeypatch.setattr(edit, "_places", change_meanwhile)
    refused = refusal(EditFile(), tmp_path, path="a.txt", old_text="one", new_text="two")
    assert refused.code == "file_changed"
    assert path.read_text() == "one, by somebody else"
