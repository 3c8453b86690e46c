"""The program as a process: forked where that makes no difference, else by its command line."""

import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from tempfile import TemporaryFile

from tests.support import forked_process
from tests.support.forked_process import ForkedProcess, ForkServer

COMMAND = [sys.executable, "-m", "understudy.cli.main"]

Process = subprocess.Popen[bytes] | ForkedProcess


def start(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    streams: Sequence[int],
    *,
    by_command_line: bool = False,
    server: ForkServer | None = None,
) -> Process:
    """Start it in a session of its own; the streams are stdin, stdout and stderr."""
    if server is not None:
        return server.fork(arguments, environment, streams)
    if not by_command_line and forked_process.is_possible(environment):
        return forked_process.start(arguments, environment, streams)
    stdin, stdout, stderr = streams
    return subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        env=environment,
        start_new_session=True,
        # Who is started in the background ignores Ctrl-C, and so would all that it starts.
        preexec_fn=_hear_interrupts,
    )


def run(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    *,
    stdin: str = "",
    timeout: float = 110,
) -> subprocess.CompletedProcess[str]:
    """What it did and said, once it has ended."""
    with TemporaryFile("w+") as given, TemporaryFile("w+") as said, TemporaryFile("w+") as told:
        given.write(stdin)
        given.seek(0)
        streams = [file.fileno() for file in (given, said, told)]
        process = start(arguments, environment, streams)
        try:
            code = process.wait(timeout)
        finally:
            process.kill()
        said.seek(0)
        told.seek(0)
        return subprocess.CompletedProcess([*arguments], code, said.read(), told.read())


def _hear_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
