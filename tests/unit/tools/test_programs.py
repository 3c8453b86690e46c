"""Running programs of the machine from a thread."""

import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from understudy.tools.processes import ChildProcesses
from understudy.tools.programs import MAX_OUTPUT_BYTES, ProgramResult, Programs

KEY = "sk-" + "proj-" + "0123456789"
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "OPENAI_API_KEY": KEY,
    "PIP_INDEX_URL": "https://example.invalid/simple",
    "LD_PRELOAD": "/nowhere/evil.so",
}
SHELL = shutil.which("sh") or "/bin/sh"


@pytest.fixture
def programs() -> Programs:
    return Programs(ENVIRONMENT, ChildProcesses())


def run(programs: Programs, folder: Path, script: str, timeout_s: float = 20) -> ProgramResult:
    return programs.run((SHELL, "-c", script), folder=folder, timeout_s=timeout_s)


def wait_for(is_so: Callable[[], bool], within_s: float = 10) -> bool:
    until = time.monotonic() + within_s
    while not is_so() and time.monotonic() < until:
        time.sleep(0.02)
    return is_so()


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_program_ends_with_its_code_and_all_that_it_printed(
    programs: Programs, tmp_path: Path
) -> None:
    ended = run(programs, tmp_path, "echo out; echo err >&2; exit 3")

    assert (ended.reason, ended.code, ended.is_well) == ("exit", 3, False)
    assert ended.output.split() == ["out", "err"]
    assert run(programs, tmp_path, "true").is_well


def test_a_program_sees_neither_secrets_nor_the_settings_of_others(
    programs: Programs, tmp_path: Path
) -> None:
    seen = run(programs, tmp_path, "env; pwd").output

    assert KEY not in seen
    assert "PIP_INDEX_URL" not in seen
    assert "LD_PRELOAD" not in seen
    assert f"HOME={tmp_path}" in seen
    assert seen.strip().endswith(str(tmp_path))


def test_a_program_that_takes_too_long_is_ended_with_all_it_started(
    programs: Programs, tmp_path: Path
) -> None:
    ended = run(programs, tmp_path, "sleep 300 & echo $! > pid; sleep 300", timeout_s=0.5)

    assert ended.reason == "timeout"
    assert wait_for(lambda: not is_alive(int((tmp_path / "pid").read_text())))


def test_what_a_program_prints_is_bounded(programs: Programs, tmp_path: Path) -> None:
    ended = run(programs, tmp_path, "head -c 1000000 /dev/zero | tr '\\0' x; echo; echo last")

    assert ended.is_well
    assert MAX_OUTPUT_BYTES <= len(ended.output) < MAX_OUTPUT_BYTES + 100
    assert ended.output.endswith("last\n")


def test_a_daemon_that_leaves_ends_what_runs_and_starts_nothing_more(
    programs: Programs, tmp_path: Path
) -> None:
    ends: list[ProgramResult] = []
    script = "echo $$ > pid; exec sleep 300"
    thread = threading.Thread(target=lambda: ends.append(run(programs, tmp_path, script, 300)))
    thread.start()
    assert wait_for((tmp_path / "pid").exists)

    programs.stop()
    thread.join(15)

    assert [ended.reason for ended in ends] == ["stopped"]
    assert wait_for(lambda: not is_alive(int((tmp_path / "pid").read_text())))
    assert run(programs, tmp_path, "touch more").reason == "stopped"
    assert not (tmp_path / "more").exists()


def test_a_folder_that_is_not_there_is_told(programs: Programs, tmp_path: Path) -> None:
    assert run(programs, tmp_path / "none", "true").reason == "not_started"


@pytest.mark.anyio
async def test_whoever_looks_for_orphans_leaves_a_program_alone(tmp_path: Path) -> None:
    children = ChildProcesses()
    process = children.start_from_thread(SHELL, "-c", "exec sleep 300", cwd=tmp_path)
    try:
        # As if the daemon adopted: what it did not start would be ended.
        children._adopts = True
        known = {child.pid for child in psutil.Process().children(recursive=True)}
        children._known.update(known - {process.pid})

        assert await children.end_orphans()
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate()
