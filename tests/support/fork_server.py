"""A process that has imported the program once, and forks whenever a test starts the program.

Nearly all that a start costs is imports. What is forked becomes the program as far as the program
can tell: its own session, environment, directory, streams, signals and arguments; then it runs the
console script's entry. From outside it still shows the command line and the environment of this
process, so a test of those starts the program by its command line (`tests/support/program.py`).
"""

import atexit
import gc
import importlib
import io
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any

from tests.support.forked_process import FOLLOWED, NUMBER_BYTES
from understudy.api.app import ROUTERS
from understudy.api.gate import GatedRoute
from understudy.cli import main as program
from understudy.daemon.wiring import SAMPLE, make_tables
from understudy.evolution.answers import intent_of
from understudy.redaction.scrub import scrub
from understudy.retrieval.memory_request import asks_for_memory
from understudy.tools.process_tree import PR_SET_PDEATHSIG, prctl

# What the program imports only when a command needs it.
LATER = (
    "anyio._backends._asyncio",
    "dbos._sys_db_postgres",
    "dbos._sys_db_sqlite",
    "psutil",
    "psycopg",
    "sqlalchemy.dialects.postgresql.psycopg",
    "understudy.client",
    "understudy.console.app",
    "understudy.daemon.serve",
    "understudy.mcp_client.link",
    "understudy.providers.openai",
    "understudy.ws.endpoint",
    "uvicorn.protocols.http.h11_impl",
)
# The three standard streams, and where the process and its end are told.
FDS_OF_A_REQUEST = 4


@dataclass(frozen=True)
class Request:
    """A start that somebody asked for."""

    arguments: list[str]
    environment: dict[str, str]
    directory: str
    streams: list[int]
    report: int

    def close(self) -> None:
        """Let go of the streams, which belong to the process that was forked."""
        for stream in self.streams:
            os.close(stream)


def prepare() -> None:
    """Import and make what each process would by its first request and its first run."""
    for name in LATER:
        importlib.import_module(name)
    make_tables()
    # Each of these reads and compiles its patterns when it is first asked.
    scrub(SAMPLE)
    asks_for_memory(SAMPLE)
    intent_of(SAMPLE)
    for router in ROUTERS:
        for route in router.routes:
            # A route is built when it is first asked for what it needs to answer.
            assert isinstance(route, GatedRoute)
            route.app  # noqa: B018


def receive(control: socket.socket) -> Request | None:
    """The next request, or None when whoever asks is gone."""
    header, fds, _, _ = socket.recv_fds(control, NUMBER_BYTES, FDS_OF_A_REQUEST)
    if not header:
        return None
    length, body = int.from_bytes(header, "big"), b""
    while len(body) < length and (part := control.recv(length - len(body))):
        body += part
    wanted: dict[str, Any] = json.loads(body)
    return Request(**wanted, streams=fds[:3], report=fds[3])


class ForkServer:
    """Forks a process for each request, and tells when and how it ended."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._reports: dict[int, int] = {}

    def serve(self) -> Request | None:
        """What to become, in a process that was forked; None when there is nobody left to ask."""
        ended, wakeup = socket.socketpair()
        with closing(self._control), closing(ended), closing(wakeup):
            wakeup.setblocking(False)
            signal.set_wakeup_fd(wakeup.fileno())
            signal.signal(signal.SIGCHLD, lambda *_: None)
            while True:
                readable, _, _ = select.select([self._control, ended], [], [])
                if ended in readable:
                    ended.recv(4096)
                    self._tell_who_ended()
                if self._control in readable:
                    request = receive(self._control)
                    if request is None:
                        self._end_all()
                        return None
                    if self._fork_for(request):
                        return request

    def _fork_for(self, request: Request) -> bool:
        """Whether this is the process that was forked."""
        pid = os.fork()
        if pid:
            self._reports[pid] = request.report
            request.close()
        return pid == 0

    def _tell_who_ended(self) -> None:
        for pid in list(self._reports):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                report = self._reports.pop(pid)
                with suppress(BrokenPipeError):
                    tell(report, os.waitstatus_to_exitcode(status))
                os.close(report)

    def _end_all(self) -> None:
        for pid in self._reports:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def tell(report: int, number: int) -> None:
    """Tell who asked for a process its pid, or later how it ended."""
    os.write(report, number.to_bytes(NUMBER_BYTES, "big", signed=True))


def become(request: Request) -> None:
    """Make this process what it would be, had it been started by its command line."""
    os.setsid()
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for default in (signal.SIGTERM, signal.SIGCHLD):
        signal.signal(default, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(request.environment)
    time.tzset()
    os.chdir(request.directory)
    for number, stream in enumerate(request.streams):
        os.dup2(stream, number)
    assert isinstance(sys.stdout, io.TextIOWrapper)
    sys.stdout.reconfigure(line_buffering=os.isatty(1) or FOLLOWED in os.environ)
    sys.modules["__main__"] = program
    sys.argv = [program.__file__, *request.arguments]
    sys.path[0] = request.directory
    tell(request.report, os.getpid())
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))


class QuickEnd:
    """Ends a forked process as soon as all that is registered for its end is done.

    Python would go on to take its modules apart, and copy for it the memory that it shares.
    """

    def __init__(self) -> None:
        self._code: int | None = None
        # What is registered first is called last.
        atexit.register(self._end)

    def run(self, main: Callable[[], None]) -> None:
        """Run a program; only an orderly end is a quick one."""
        try:
            main()
        except SystemExit as end:
            self._code = end.code if isinstance(end.code, int) else int(end.code is not None)
            raise

    def _end(self) -> None:
        if self._code is None:
            return
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(self._code & 0xFF)


def main() -> None:
    """Serve on the socket whose number is the argument."""
    quick_end = QuickEnd()
    prepare()
    gc.collect()
    # Collecting would touch, and so copy, memory that all processes share.
    gc.freeze()
    request = ForkServer(socket.socket(fileno=int(sys.argv[1]))).serve()
    if request is not None:
        become(request)
        # Outside of any `with`, so that it ends as the program alone would.
        quick_end.run(program.main)


if __name__ == "__main__":
    main()
