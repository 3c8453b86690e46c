"""A process that was forked is what its command line would have started."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.support import program
from tests.support.daemon import wait_for
from tests.support.environment import without_settings
from tests.support.forked_process import ForkedProcess, is_read_at_the_start

pytestmark = pytest.mark.e2e
ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**without_settings(os.environ), "TZ": "UTC"}
# Imports what the fork server imports, and tells what that left behind and looked at.
IMPORTS = """
import json, os, sys, threading

seen = set()
look_up = os._Environ.__getitem__

def look_up_and_tell(self, name):
    caller = sys._getframe(1)
    while caller.f_code.co_filename == os.__file__ or "frozen" in caller.f_code.co_filename:
        caller = caller.f_back
    seen.add((name, caller.f_globals["__name__"]))
    return look_up(self, name)

os._Environ.__getitem__ = look_up_and_tell
from tests.support import fork_server
fork_server.prepare()
fds = len(os.listdir("/proc/self/fd")) - 1  # without the one that lists them
print(json.dumps({"seen": sorted(seen), "threads": threading.active_count(), "fds": fds}))
"""
# They copy the environment, or look for what the tests never change.
HARMLESS = {"platform", "psutil._common", "sysconfig", "wsgiref.handlers"}
LEAVES_A_DAEMON = """
import sys, time
from pathlib import Path
from tests.support.daemon import DaemonProcess

daemon = DaemonProcess(Path(sys.argv[1])).start()
print(daemon.pid, flush=True)
time.sleep(600)
"""


@pytest.fixture(params=["forked", "by command line"])
def by_command_line(request: pytest.FixtureRequest) -> bool:
    return request.param == "by command line"


@contextmanager
def waiting_program(by_command_line: bool, **environment: str) -> Iterator[program.Process]:
    """A process that waits for words on stdin."""
    theirs, ours = os.pipe()
    with Path(os.devnull).open("wb") as nothing:
        streams = [theirs, nothing.fileno(), nothing.fileno()]
        wanted = ENVIRONMENT | environment
        process = program.start(["chat"], wanted, streams, by_command_line=by_command_line)
    os.close(theirs)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def is_reading(process: program.Process) -> bool:
    """Whether it has come to where it waits for words."""
    return "pipe" in Path(f"/proc/{process.pid}/wchan").read_text()


def outcome(*arguments: str, by_command_line: bool, tmp_path: Path) -> tuple[int, str, str]:
    """Its exit code, and what it wrote."""
    said, told = tmp_path / "said", tmp_path / "told"
    with Path(os.devnull).open("rb") as nothing, said.open("wb") as out, told.open("wb") as err:
        streams = [nothing.fileno(), out.fileno(), err.fileno()]
        wanted = ENVIRONMENT | {"UNDERSTUDY_HOME": str(tmp_path), "UNDERSTUDY_LOG_LEVEL": "error"}
        process = program.start(arguments, wanted, streams, by_command_line=by_command_line)
        code = process.wait(60)
    return code, said.read_text(), told.read_text()


@pytest.mark.parametrize(
    "arguments",
    [
        ("--version",),
        ("config", "show"),
        ("sessions", "--nonsense"),
        ("status", "--url", "http://["),
    ],
    ids=" ".join,
)
def test_both_ways_of_starting_come_to_the_same(arguments: tuple[str, ...], tmp_path: Path) -> None:
    forked, started = (
        outcome(*arguments, by_command_line=by_command_line, tmp_path=tmp_path)
        for by_command_line in (False, True)
    )
    assert forked == started
    assert any(forked[1:])


def test_it_has_a_session_of_its_own_and_only_its_streams(by_command_line: bool) -> None:
    with waiting_program(by_command_line) as process:
        assert isinstance(process, subprocess.Popen) is by_command_line
        assert wait_for(lambda: is_reading(process), 30)

        assert os.getsid(process.pid) == process.pid
        assert psutil.Process(process.pid).num_fds() == 3
        assert psutil.Process(process.pid).cwd() == str(Path.cwd())
        assert psutil.Process(process.pid).num_threads() == 1


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, -15), (signal.SIGKILL, -9), (signal.SIGINT, 130)]
)
def test_a_signal_ends_it_as_it_ends_any_process(
    by_command_line: bool, number: signal.Signals, code: int
) -> None:
    with waiting_program(by_command_line) as process:
        assert wait_for(lambda: is_reading(process), 30)
        assert process.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.01)

        process.send_signal(number)

        assert process.wait(30) == code
        assert process.poll() == process.returncode == code
        assert not psutil.pid_exists(process.pid)


def test_what_changes_python_itself_needs_a_start_by_command_line() -> None:
    with waiting_program(False, PYTHONDEVMODE="1") as process:
        assert not isinstance(process, ForkedProcess)


def test_nothing_is_left_of_a_worker_that_was_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LEAVES_A_DAEMON, str(tmp_path / "home")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        daemon = psutil.Process(int(worker.stdout.readline()))
        (server,) = psutil.Process(worker.pid).children()
        assert daemon.ppid() == server.pid
        worker.kill()

    psutil.wait_procs([daemon, server], 30)
    assert not daemon.is_running()
    assert not server.is_running()


def test_imports_start_nothing_and_look_only_at_what_is_known() -> None:
    command = [sys.executable, "-c", IMPORTS]
    done = subprocess.run(
        command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)

    assert (found["threads"], found["fds"]) == (1, 3)
    seen = {name for name, module in found["seen"] if module not in HARMLESS}
    assert [name for name in seen if not is_read_at_the_start(name)] == []
