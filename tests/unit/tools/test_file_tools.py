"""Reading, writing and listing files of the workspace."""

import asyncio
import errno
import os
import resource
from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError

from understudy.tools import files, text_files
from understudy.tools.base import Approval, Effect, Tool, ToolContext, ToolError
from understudy.tools.files import ListFiles, ReadFile, WriteFile


def call(tool: Tool, workspace: Path, **arguments: object) -> str:
    context = ToolContext(
        session_id="s",
        run_id="r",
        agent_id="a",
        user_id="u",
        call_id="c",
        call_key="call-key",
        workspace=workspace,
    )
    return asyncio.run(tool.call(tool.parameters(**arguments), context))


def refused(tool: Tool, workspace: Path, **arguments: object) -> str:
    with pytest.raises(ToolError) as refusal:
        call(tool, workspace, **arguments)
    return refusal.value.code


@pytest.mark.parametrize(
    ("tool", "effect"),
    [(ReadFile(), Effect.READ), (ListFiles(), Effect.READ), (WriteFile(), Effect.IDEMPOTENT)],
)
def test_each_tool_declares_its_effect_and_forbids_unknown_parameters(
    tool: Tool, effect: Effect
) -> None:
    assert tool.effect is effect
    assert tool.approval is Approval.NEVER
    assert issubclass(tool.parameters, BaseModel)
    with pytest.raises(ValidationError):
        tool.parameters.model_validate({"path": "a", "content": "", "append": True})


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    answer = call(WriteFile(), tmp_path, path="a/b/c.txt", content="xin chào\r\n你好\n")
    assert answer == "created a/b/c.txt (18 bytes)"
    assert call(ReadFile(), tmp_path, path="a/b/c.txt") == "xin chào\r\n你好\n"


def test_writing_twice_leaves_the_same_file_and_nothing_else(tmp_path: Path) -> None:
    for word in ("created", "replaced"):
        assert call(WriteFile(), tmp_path, path="a.txt", content="x").startswith(word)
    assert os.listdir(tmp_path) == ["a.txt"]  # noqa: PTH208


def test_replacing_a_file_keeps_its_mode(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text("old")
    script.chmod(0o750)
    call(WriteFile(), tmp_path, path="run.sh", content="new")
    assert script.stat().st_mode & 0o777 == 0o750


def test_content_over_the_limit_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    content = "é" * (text_files.MAX_WRITE_BYTES // 2 + 1)
    assert refused(WriteFile(), tmp_path, path="a.txt", content=content) == "file_too_large"
    assert not any(tmp_path.iterdir())


def test_content_that_is_no_text_is_refused(tmp_path: Path) -> None:
    parameters = files.WriteFileParameters.model_construct(path="a.txt", content="\udcff")
    context = ToolContext(
        session_id="s",
        run_id="r",
        agent_id="a",
        user_id="u",
        call_id="c",
        call_key="call-key",
        workspace=tmp_path,
    )
    with pytest.raises(ToolError, match="not valid Unicode"):
        asyncio.run(WriteFile().call(parameters, context))


@pytest.mark.parametrize(
    ("number", "code", "reason"),
    [
        (errno.ENOSPC, "disk_full", "the disk is full"),
        (errno.EDQUOT, "disk_full", "the disk quota is used up"),
        (errno.EIO, "io_error", "input/output error"),
    ],
)
def test_a_write_that_fails_says_why_and_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: str, reason: str
) -> None:
    (tmp_path / "a.txt").write_text("old")

    def fail(_: int) -> None:
        raise OSError(number, "from the test")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(ToolError) as refusal:
        call(WriteFile(), tmp_path, path="a.txt", content="new")
    assert (refusal.value.code, refusal.value.detail) == (code, f"'a.txt': {reason}")
    assert os.listdir(tmp_path) == ["a.txt"]  # noqa: PTH208
    assert (tmp_path / "a.txt").read_text() == "old"


def test_a_write_the_system_cuts_short_leaves_no_part_behind(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        code = refused(WriteFile(), tmp_path, path="a.txt", content="x" * 50_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert code == "file_too_large"
    assert not any(tmp_path.iterdir())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_without_permission_is_named_as_such(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    assert refused(WriteFile(), tmp_path, path="locked/a.txt", content="") == "permission_denied"


def test_a_long_file_is_cut_at_a_line_and_can_be_read_on(tmp_path: Path) -> None:
    lines = [f"line {number} " + "x" * 90 + "\n" for number in range(1, 6001)]
    (tmp_path / "long.txt").write_text("".join(lines))
    seen, offset = "", 1
    while True:
        part = call(ReadFile(), tmp_path, path="long.txt", offset=offset)
        text, mark, note = part.rpartition("[cut: ")
        assert len(part) <= files.MAX_READ_BYTES + 200
        seen += text if mark else part
        if not mark:
            break
        offset = int(note.rstrip("]").rpartition("=")[2])
    assert seen == "".join(lines)


def test_offset_and_limit_choose_lines(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1\n2\n3\n4")
    assert call(ReadFile(), tmp_path, path="a.txt", offset=2, limit=2) == (
        "2\n3\n[cut: lines 2 to 3 shown; read on with offset=4]"
    )
    assert call(ReadFile(), tmp_path, path="a.txt", offset=4, limit=5) == "4"


@pytest.mark.parametrize(("content", "offset"), [("1\n2\n", 3), ("1\n2", 3), ("1", 9), ("", 2)])
def test_an_offset_past_the_end_is_refused(tmp_path: Path, content: str, offset: int) -> None:
    (tmp_path / "a.txt").write_text(content)
    assert refused(ReadFile(), tmp_path, path="a.txt", offset=offset) == "offset_past_end"


def test_an_offset_far_into_a_huge_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAX_SKIPPED_BYTES", 100)
    (tmp_path / "a.txt").write_text("0123456789\n" * 20)
    assert refused(ReadFile(), tmp_path, path="a.txt", offset=15) == "file_too_large"


def test_a_line_longer_than_the_limit_is_cut_between_characters(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x" + "é" * files.MAX_READ_BYTES + "\nnext\n")
    answer = call(ReadFile(), tmp_path, path="a.txt")
    assert answer.endswith(f"é\n[cut: line 1 has more than {files.MAX_READ_BYTES} bytes]")
    assert call(ReadFile(), tmp_path, path="a.txt", offset=2) == "next\n"


@pytest.mark.parametrize("content", [b"\x89PNG\0\0", b"caf\xe9", b"ok\n\xff\xfe", b"\xc3"])
def test_what_is_not_text_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.bin").write_bytes(content)
    assert refused(ReadFile(), tmp_path, path="a.bin") == "not_text"


def test_an_empty_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    assert call(ReadFile(), tmp_path, path="a.txt") == "[the file is empty]"


def test_a_missing_file_is_not_found(tmp_path: Path) -> None:
    assert refused(ReadFile(), tmp_path, path="a/b.txt") == "not_found"
    assert refused(ListFiles(), tmp_path, path="a") == "not_found"


def test_a_listing_is_sorted_and_marks_what_is_not_a_file(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "deep.txt").touch()
    (tmp_path / "a.txt").touch()
    (tmp_path / "c").symlink_to("/etc")
    os.mkfifo(tmp_path / "d")
    assert call(ListFiles(), tmp_path) == "a.txt\nb/\nc (link)\nd (special)"
    assert call(ListFiles(), tmp_path, recursive=True) == (
        "a.txt\nb/\nb/deep.txt\nc (link)\nd (special)"
    )
    assert call(ListFiles(), tmp_path, path="b") == "deep.txt"


def test_an_empty_directory_says_so(tmp_path: Path) -> None:
    assert call(ListFiles(), tmp_path) == "[the directory is empty]"


def test_a_name_cannot_pass_for_two_entries(tmp_path: Path) -> None:
    (tmp_path / "a\nb/").parent.mkdir(exist_ok=True)
    (tmp_path / "a\nb").touch()
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff")).touch()
    listing = call(ListFiles(), tmp_path)
    assert listing.splitlines() == ["'a\\nb'", "'\\udcff'"]
    listing.encode()


def test_a_listing_is_bounded_in_entries_and_depth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "/".join("d" * 12)).mkdir(parents=True)
    deep = call(ListFiles(), tmp_path, recursive=True).splitlines()
    assert deep[-2:] == ["d/" * 8, "[directories below depth 8 are not opened]"]
    for number in range(30):
        (tmp_path / f"f{number:02}").touch()
    monkeypatch.setattr(files, "MAX_ENTRIES", 20)
    cut = call(ListFiles(), tmp_path).splitlines()
    assert cut[-1] == "[only the first 20 entries are shown]"
    assert len(cut) == 21
    monkeypatch.setattr(files, "MAX_SCANNED", 10)
    assert "[a directory has more than 10 entries]" in call(ListFiles(), tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may open anything")
def test_a_listing_goes_on_past_a_directory_it_cannot_open(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir(mode=0)
    (tmp_path / "b").touch()
    assert call(ListFiles(), tmp_path, recursive=True) == (
        "a/\nb\n[some directories cannot be opened]"
    )
