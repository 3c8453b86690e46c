"""Whatever path a model sends, nothing outside the workspace is read or changed."""

import asyncio
import os
import shutil
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from understudy.tools.base import ToolContext, ToolError
from understudy.tools.edit import EditFile, EditFileParameters
from understudy.tools.files import (
    ListFiles,
    ListFilesParameters,
    ReadFile,
    ReadFileParameters,
    WriteFile,
    WriteFileParameters,
)
from understudy.tools.paths import NAME_RULES, PATH_RULES, parse_path
from understudy.tools.search import SearchFiles, SearchFilesParameters

# How long a race is run, and how long at most.
USUAL_S = 0.8
LONGEST_S = 15.0
SECRET = "from outside the workspace"
INTRUDER = "written by the model"

# A path, and the code both reading and writing must be refused with.
REFUSED: tuple[tuple[str, str], ...] = (
    ("", "path_empty"),
    ("   ", "path_empty"),
    ("..", "path_parent"),
    ("../outside/secret.txt", "path_parent"),
    ("../../../../../../etc/passwd", "path_parent"),
    ("sub/../../outside/secret.txt", "path_parent"),
    ("sub/../inside.txt", "path_parent"),
    ("./../outside/secret.txt", "path_parent"),
    (".//..//outside//secret.txt", "path_parent"),
    ("sub/..", "path_parent"),
    ("/etc/passwd", "path_absolute"),
    ("//etc/passwd", "path_absolute"),
    (" /etc/passwd", "path_absolute"),
    ("/", "path_absolute"),
    ("/proc/self/environ", "path_absolute"),
    ("/proc/self/root/etc/passwd", "path_absolute"),
    ("/proc/self/cwd/x", "path_absolute"),
    ("/dev/stdin", "path_absolute"),
    ("{outside}/secret.txt", "path_absolute"),
    ("{workspace}/inside.txt", "path_absolute"),
    ("~", "path_home"),
    ("~/secret.txt", "path_home"),
    ("~root/.bashrc", "path_home"),
    (" ~/secret.txt", "path_home"),
    ("..\\outside\\secret.txt", "path_backslash"),
    ("sub\\..\\..\\outside", "path_backslash"),
    ("\\\\server\\share", "path_backslash"),
    ("\\etc\\passwd", "path_backslash"),
    ("C:/Windows/win.ini", "path_drive"),
    ("c:secret.txt", "path_drive"),
    ("C:\\Windows\\win.ini", "path_backslash"),
    ("file:///etc/passwd", "path_url"),
    ("http://169.254.169.254/latest", "path_url"),
    ("inside.txt\0", "path_control_character"),
    ("inside.txt\0.png", "path_control_character"),
    ("..\0/outside/secret.txt", "path_control_character"),
    ("in\nside.txt", "path_control_character"),
    ("in\rside.txt", "path_control_character"),
    ("\x1b[2Jx", "path_control_character"),
    ("in\x7fside", "path_control_character"),
    ("in\x85side", "path_control_character"),
    ("in\u200bside.txt", "path_control_character"),
    ("\u202etxt.edisni", "path_control_character"),
    (".\u200d./outside/secret.txt", "path_control_character"),
    ("\ufeffinside.txt", "path_control_character"),
    ("in\u2028side", "path_control_character"),
    ("\udcffinside.txt", "path_not_utf8"),
    ("caf\udce9.txt", "path_not_utf8"),
    ("．．/outside/secret.txt", "path_lookalike"),
    ("..／outside／secret.txt", "path_lookalike"),
    ("．．／outside／secret.txt", "path_lookalike"),
    ("..＼outside＼secret.txt", "path_lookalike"),
    ("‥/outside/secret.txt", "path_lookalike"),
    ("․․/outside/secret.txt", "path_lookalike"),
    ("…/outside", "path_lookalike"),
    ("..∕outside∕secret.txt", "path_lookalike"),
    ("..⁄outside⁄secret.txt", "path_lookalike"),
    ("a℀b", "path_lookalike"),
    ("﹒﹒/outside", "path_lookalike"),
    ("cafe\u0301.txt", "path_not_normalised"),
    ("\u212bngstrom.txt", "path_not_normalised"),
    ("inside.txt.", "path_loose_edges"),
    ("inside.txt ", "path_loose_edges"),
    (" inside.txt", "path_loose_edges"),
    ("... /outside", "path_loose_edges"),
    (".. /outside/secret.txt", "path_loose_edges"),
    (".../outside/secret.txt", "path_loose_edges"),
    ("sub /x", "path_loose_edges"),
    ("\u3000inside.txt", "path_loose_edges"),
    ("n" * 256, "path_name_too_long"),
    ("é" * 128, "path_name_too_long"),
    ("a/" * 600 + "a", "path_too_long"),
    ("a/" * 40 + "a", "path_too_deep"),
    (".", "is_a_directory"),
    ("./", "is_a_directory"),
    ("sub", "is_a_directory"),
    ("sub/", "is_a_directory"),
    ("link-to-file", "path_link"),
    ("link-to-absolute", "path_link"),
    ("link-to-link", "path_link"),
    ("link-to-nothing", "path_link"),
    ("link-to-itself", "path_link"),
    ("link-to-zero", "path_link"),
    ("link-to-inside", "path_link"),
    ("link-to-proc/environ", "path_link"),
    ("link-to-directory/secret.txt", "path_link"),
    ("link-to-directory/nested/new.txt", "path_link"),
    ("sub/link-up/outside/secret.txt", "path_link"),
    ("sub/./link-up//outside/secret.txt", "path_link"),
    ("hard-link", "path_hard_link"),
    ("fifo", "path_special"),
    ("socket", "path_special"),
    ("inside.txt/below", "not_a_directory"),
    ("fifo/below", "not_a_directory"),
)

# Where a directory is wanted, these are none of them hostile.
DIRECTORIES = (".", "./", "sub", "sub/")

# Odd names that mean nothing special here: they stay names inside the workspace.
LITERAL_NAMES = (
    "%2e%2e%2foutside%2fsecret.txt",
    "..%2foutside",
    "$HOME",
    "${HOME}",
    "`id`",
    "a;b",
    "-rf",
    "*",
    "..hidden",
    "LINK-TO-FILE",
    "proc/self/environ",
    "CON",
    "inside.txt::$DATA",
    "报告（终版）：草稿.md",
    "café.txt",
    "backup~",
)


@dataclass(frozen=True)
class Place:
    workspace: Path
    outside: Path

    @property
    def context(self) -> ToolContext:
        return ToolContext(
            session_id="s", run_id="r", agent_id="a", user_id="u", call_id="c",
 call_key="call-key",
            workspace=self.workspace,
        )  # fmt: skip

    def read(self, path: str) -> str:
        return asyncio.run(
            ReadFile().call(ReadFileParameters.model_construct(path=path), self.context)
        )

    def write(self, path: str, content: str = INTRUDER) -> str:
        parameters = WriteFileParameters.model_construct(path=path, content=content)
        return asyncio.run(WriteFile().call(parameters, self.context))

    def list(self, path: str, *, recursive: bool = False) -> str:
        parameters = ListFilesParameters.model_construct(path=path, recursive=recursive)
        return asyncio.run(ListFiles().call(parameters, self.context))

    def edit(self, path: str) -> str:
        parameters = EditFileParameters.model_construct(path=path, old_text="e", new_text=INTRUDER)
        return asyncio.run(EditFile().call(parameters, self.context))

    def search(self, path: str, *, glob: str | None = None) -> str:
        parameters = SearchFilesParameters.model_construct(path=path, pattern="e", glob=glob)
        return asyncio.run(SearchFiles().call(parameters, self.context))

    def expand(self, path: str) -> str:
        return path.replace("{outside}", str(self.outside)).replace(
            "{workspace}", str(self.workspace)
        )


@pytest.fixture
def place(tmp_path: Path) -> Place:
    outside, workspace = tmp_path / "outside", tmp_path / "workspace"
    (workspace / "sub").mkdir(parents=True)
    outside.mkdir()
    secret = outside / "secret.txt"
    secret.write_text(SECRET)
    (workspace / "inside.txt").write_text("inside")
    links = {
        "link-to-file": "../outside/secret.txt",
        "link-to-absolute": str(secret),
        "link-to-link": "link-to-file",
        "link-to-nothing": "../outside/new.txt",
        "link-to-itself": "link-to-itself",
        "link-to-directory": "../outside",
        "link-to-zero": "/dev/zero",
        "link-to-inside": "inside.txt",
        "link-to-proc": "/proc/self",
        "sub/link-up": "../..",
    }
    for name, target in links.items():
        (workspace / name).symlink_to(target)
    (workspace / "hard-link").hardlink_to(secret)
    os.mkfifo(workspace / "fifo")
    os.mknod(workspace / "socket", stat.S_IFSOCK | 0o600)
    return Place(workspace=workspace, outside=outside)


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
    }


@contextmanager
def unchanged(folder: Path) -> Iterator[None]:
    before = snapshot(folder)
    yield
    assert snapshot(folder) == before


def test_the_table_of_hostile_paths_is_large_and_reaches_every_rule() -> None:
    assert len(REFUSED) >= 60
    tried = {code for _, code in REFUSED}
    assert {rule.code for rule in (*PATH_RULES, *NAME_RULES)} <= tried


@pytest.mark.parametrize(("path", "code"), REFUSED)
def test_reading_a_hostile_path_is_refused(place: Place, path: str, code: str) -> None:
    with unchanged(place.outside), pytest.raises(ToolError) as refusal:
        place.read(place.expand(path))
    assert refusal.value.code == code
    assert SECRET not in refusal.value.detail


@pytest.mark.parametrize(("path", "code"), REFUSED)
def test_writing_to_a_hostile_path_is_refused(place: Place, path: str, code: str) -> None:
    with unchanged(place.outside), pytest.raises(ToolError) as refusal:
        place.write(place.expand(path))
    assert refusal.value.code == code


@pytest.mark.parametrize(("path", "code"), REFUSED)
def test_editing_a_hostile_path_is_refused(place: Place, path: str, code: str) -> None:
    with unchanged(place.outside), pytest.raises(ToolError) as refusal:
        place.edit(place.expand(path))
    assert refusal.value.code == code
    assert SECRET not in refusal.value.detail


@pytest.mark.parametrize(("path", "code"), REFUSED)
def test_a_refusal_is_short_printable_and_names_no_directory_of_the_machine(
    place: Place, path: str, code: str
) -> None:
    with pytest.raises(ToolError) as refusal:
        place.write(place.expand(path))
    assert refusal.value.code == code
    assert refusal.value.detail.isprintable()
    assert len(refusal.value.detail) < 400
    if "{" not in path:
        assert str(place.workspace) not in refusal.value.detail


@pytest.mark.parametrize("path", [path for path, _ in REFUSED if path not in DIRECTORIES])
def test_listing_a_hostile_path_is_refused(place: Place, path: str) -> None:
    with pytest.raises(ToolError):
        place.list(place.expand(path))


@pytest.mark.parametrize(("path", "code"), [row for row in REFUSED if row[0] not in DIRECTORIES])
def test_searching_a_hostile_path_is_refused(place: Place, path: str, code: str) -> None:
    with unchanged(place.outside), pytest.raises(ToolError) as refusal:
        place.search(place.expand(path))
    assert refusal.value.code == code
    assert SECRET not in refusal.value.detail


@pytest.mark.parametrize("path", DIRECTORIES)
def test_a_search_passes_over_every_way_out_of_the_workspace(place: Place, path: str) -> None:
    assert SECRET not in place.search(path)


@pytest.mark.parametrize(
    "glob",
    [
        "../**",
        "../outside/*",
        "**/../**",
        "/etc/*",
        "{outside}/*",
        "link-to-directory/*",
        "**",
        "~/*",
    ],
)
def test_no_glob_leads_out_of_the_workspace(place: Place, glob: str) -> None:
    with unchanged(place.outside):
        assert SECRET not in place.search(".", glob=place.expand(glob))


@pytest.mark.parametrize("path", LITERAL_NAMES)
def test_a_name_that_only_looks_special_stays_a_name_inside(place: Place, path: str) -> None:
    with unchanged(place.outside):
        place.write(path)
        assert place.read(path) == INTRUDER
    assert (place.workspace / path).read_text() == INTRUDER


def test_a_path_is_shown_without_doubled_slashes_and_dots() -> None:
    assert str(parse_path("./a//b/./c.txt")) == "a/b/c.txt"
    assert str(parse_path(".")) == "."


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a device")
def test_a_device_is_refused(place: Place) -> None:
    try:
        os.mknod(place.workspace / "zero", stat.S_IFCHR | 0o600, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("this container cannot make devices")
    for attempt in (place.read, place.write, place.edit, place.search):
        with pytest.raises(ToolError) as refusal:
            attempt("zero")
        assert refusal.value.code == "path_special"


def test_a_missing_workspace_is_said_without_naming_it(tmp_path: Path) -> None:
    place = Place(workspace=tmp_path / "gone", outside=tmp_path)
    with pytest.raises(ToolError) as refusal:
        place.read("a.txt")
    assert refusal.value.code == "workspace_missing"
    assert str(tmp_path) not in refusal.value.detail


def test_the_workspace_itself_may_be_a_link(place: Place, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(place.workspace)
    assert Place(workspace=tmp_path / "alias", outside=place.outside).read("inside.txt") == "inside"


def test_every_descriptor_is_closed_again(place: Place) -> None:
    before = len(os.listdir("/dev/fd"))  # noqa: PTH208
    for path, _ in REFUSED:
        for attempt in (place.read, place.write, place.list, place.edit, place.search):
            with suppress(ToolError):
                attempt(place.expand(path))
    assert len(os.listdir("/dev/fd")) <= before  # noqa: PTH208


@contextmanager
def swapping(step: Callable[[], None]) -> Iterator[None]:
    """Runs `step` again and again in a thread while the body runs."""
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            step()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def attempts(action: Callable[[], str], *, until: Callable[[list[str]], bool]) -> list[str]:
    """What `action` answered, or the code it was refused with, as often as fits in the time.

    On a busy machine it goes on for longer, until the answers are those that have to come.
    """
    answers: list[str] = []
    began = time.monotonic()
    while (passed := time.monotonic() - began) < LONGEST_S:
        if passed > USUAL_S and until(answers):
            break
        try:
            answers.append(action())
        except ToolError as refusal:
            answers.append(refusal.code)
    return answers


@pytest.mark.parametrize("code", ["path_link", "path_hard_link"])
def test_a_file_swapped_for_a_link_while_it_is_read_never_leaks(place: Place, code: str) -> None:
    target, link = place.workspace / "swapped", place.workspace / "swapped.link"
    plain, secret = place.workspace / "swapped.plain", place.outside / "secret.txt"
    make_link = link.symlink_to if code == "path_link" else link.hardlink_to

    def swap() -> None:
        make_link(secret)
        link.rename(target)
        plain.write_text("harmless")
        plain.rename(target)

    target.write_text("harmless")
    with unchanged(place.outside), swapping(swap):
        answers = attempts(
            lambda: place.read("swapped"), until=lambda found: {"harmless", code} <= set(found)
        )
    assert set(answers) == {"harmless", code}


def test_a_file_swapped_for_a_link_while_it_is_written_changes_nothing_outside(
    place: Place,
) -> None:
    target, link = place.workspace / "swapped", place.workspace / "swapped.link"

    def swap() -> None:
        link.symlink_to("../outside/secret.txt")
        link.rename(target)
        target.unlink(missing_ok=True)

    def is_written(found: list[str]) -> bool:
        return any("created" in answer or "replaced" in answer for answer in found)

    with unchanged(place.outside), swapping(swap):
        answers = attempts(lambda: place.write("swapped"), until=is_written)
    assert is_written(answers)


@pytest.mark.parametrize("tool", ["edit", "search"])
def test_a_file_swapped_for_a_link_meanwhile_is_neither_edited_nor_searched(
    place: Place, tool: str
) -> None:
    target, link = place.workspace / "swapped", place.workspace / "swapped.link"
    plain = place.workspace / "swapped.plain"

    def swap() -> None:
        link.symlink_to("../outside/secret.txt")
        link.rename(target)
        plain.write_text("e")
        plain.rename(target)

    target.write_text("e")
    with unchanged(place.outside), swapping(swap):
        answers = attempts(
            lambda: getattr(place, tool)("swapped"), until=lambda found: "path_link" in found
        )
    assert "path_link" in answers
    assert not any("outside" in answer for answer in answers)


def test_a_parent_swapped_for_a_link_never_leads_outside(place: Place) -> None:
    parent, parked = place.workspace / "parent", place.workspace / "parked"
    parent.mkdir()
    (parent / "secret.txt").write_text("harmless")

    def swap() -> None:
        shutil.rmtree(parked, ignore_errors=True)
        for move in (
            lambda: parent.rename(parked),
            lambda: parent.symlink_to("../outside"),
            parent.unlink,
            lambda: parked.rename(parent),
        ):
            with suppress(OSError):
                move()

    def is_read(found: list[str]) -> bool:
        return any(answer.startswith("harml") for answer in found)

    def both() -> str:
        with suppress(ToolError):
            place.write("parent/secret.txt", "harmless")
        with suppress(ToolError):
            place.edit("parent/secret.txt")
        with suppress(ToolError):
            assert SECRET not in place.search("parent")
        return place.read("parent/secret.txt")

    with unchanged(place.outside), swapping(swap):
        answers = attempts(both, until=is_read)
    assert is_read(answers)
    assert SECRET not in answers
