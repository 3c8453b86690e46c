"""The program as a process that costs no imports: forked from a server that each test worker has.

Such a process is as real as one that was started by its command line: it has a pid, takes signals,
can be killed, and ends with the code that the program ends with.
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.environment import without_settings

ROOT = Path(__file__).parents[2]
SERVER = "tests.support.fork_server"
# A length, a pid and an exit code are each sent as a number of so many bytes.
NUMBER_BYTES = 4
# Python and its libraries look at these once, at their start; the server is past that.
READ_AT_THE_START = (
    "AIOHTTP_", "ANDROID_", "COVERAGE_", "DBOS_", "FORCE_COLOR", "FROZENLIST_", "LANG", "LC_", "LD_",
    "MULTIDICT_", "NO_COLOR", "OTEL_", "PROMETHEUS_", "PROPCACHE_", "PSYCOPG_", "PYDANTIC_", "PYTHON",
    "PY_", "SSLKEYLOGFILE", "TYPER_", "WEBSOCKETS_", "YARL_",
)  # fmt: skip
# The server sees to this one itself.
FOLLOWED = "PYTHONUNBUFFERED"


class ForkServerEnded(RuntimeError):
    """There is nobody to fork; the message is what the server said last."""


class ForkedProcess:
    """What was forked, with the part of `subprocess.Popen` that tests use."""

    def __init__(self, arguments: Sequence[str], report: socket.socket) -> None:
        self.returncode: int | None = None
        self._arguments = arguments
        self._report = report
        self._lock = threading.Lock()
        told = report.recv(NUMBER_BYTES)
        if not told:
            report.close()
            raise ForkServerEnded
        self.pid = _number(told)

    def poll(self) -> int | None:
        """The exit code, or minus the signal that ended it; None as long as it runs."""
        with self._lock:
            if self.returncode is None and self._is_told_within(0):
                told = self._report.recv(NUMBER_BYTES)
                # Without the server there is nobody to tell, and nothing that it forked.
                self.returncode = _number(told) if told else -signal.SIGKILL
                self._report.close()
            return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The same, once it has ended."""
        if self.poll() is None:
            self._is_told_within(timeout)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired(self._arguments, timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        """Signal it, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it without warning."""
        self.send_signal(signal.SIGKILL)

    def _is_told_within(self, timeout: float | None) -> bool:
        readable = select.poll()
        readable.register(self._report, select.POLLIN)
        return bool(readable.poll(None if timeout is None else timeout * 1000))


class ForkServer:
    """A process that has imported the program and forks whenever it is asked to; `settings` are
    variables that Python looks at when that process starts, as where to import from."""

    def __init__(self, **settings: str) -> None:
        self.environment = {**without_settings(os.environ), "TZ": "UTC", **settings}
        self._lock = threading.Lock()
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", SERVER, str(theirs.fileno())],
                cwd=ROOT,
                env=self.environment,
                # Python remembers whether a stream can seek. It never tries to in what began as a
                # pipe, so a fork may have a file or a terminal there instead.
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )

    def fork(
        self, arguments: Sequence[str], environment: Mapping[str, str], streams: Sequence[int]
    ) -> ForkedProcess:
        """Start the program; the streams are stdin, stdout and stderr."""
        wanted = {
            "arguments": list(arguments),
            "environment": dict(environment),
            "directory": str(Path.cwd()),
        }
        body = json.dumps(wanted).encode()
        ours, theirs = socket.socketpair()
        with theirs, self._lock:
            header = len(body).to_bytes(NUMBER_BYTES, "big")
            socket.send_fds(self._control, [header], [*streams, theirs.fileno()])
            self._control.sendall(body)
        try:
            return ForkedProcess(arguments, ours)
        except ForkServerEnded:
            raise ForkServerEnded(self._last_words()) from None

    def end(self) -> None:
        """End it, and with it whatever it forked."""
        self._control.close()
        self._last_words()

    def _last_words(self) -> str:
        said, _ = self._process.communicate()
        return said.decode(errors="replace")


_server: ForkServer | None = None
_starting = threading.Lock()


def start(
    arguments: Sequence[str], environment: Mapping[str, str], streams: Sequence[int]
) -> ForkedProcess:
    """Start the program with these arguments; the streams are stdin, stdout and stderr."""
    return _the_server().fork(arguments, environment, streams)


def is_possible(environment: Mapping[str, str]) -> bool:
    """Whether Python itself would start no differently with this environment."""
    return _read_at_the_start(environment) == _read_at_the_start(_the_server().environment)


def end_server() -> None:
    """End the server, if a test needed one."""
    global _server
    if _server is not None:
        _server.end()
        _server = None


def _the_server() -> ForkServer:
    global _server
    with _starting:
        if _server is None:
            _server = ForkServer()
        return _server


def is_read_at_the_start(name: str) -> bool:
    """Whether a variable changes how Python starts, or what a library is once it is imported."""
    return name.upper().startswith(READ_AT_THE_START) and name != FOLLOWED


def _read_at_the_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if is_read_at_the_start(name)}


def _number(told: bytes) -> int:
    return int.from_bytes(told, "big", signed=True)
