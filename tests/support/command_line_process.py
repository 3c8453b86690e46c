"""The command line as people and programs use it: from a pipe, and from a terminal."""

import json
import os
import pty
import select
import subprocess
import time
from typing import Any

from tests.support import program
from tests.support.daemon import PATIENCE_S, DaemonProcess
from tests.support.environment import without_settings


def environment(daemon: DaemonProcess) -> dict[str, str]:
    settings = {
        "UNDERSTUDY_BIND": f"127.0.0.1:{daemon.port}",
        "UNDERSTUDY_HOME": str(daemon.home),
    }
    return {**without_settings(os.environ), "TZ": "UTC", **settings}


class Cli:
    """Runs commands against one daemon."""

    def __init__(self, daemon: DaemonProcess) -> None:
        self.environment = environment(daemon)

    def __call__(
        self, *arguments: str, code: int = 0, stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        done = program.run(arguments, self.environment, stdin=stdin)
        assert done.returncode == code, (arguments, done.returncode, done.stdout, done.stderr)
        return done

    def json(self, *arguments: str, code: int = 0) -> Any:
        return json.loads(self(*arguments, "--json", code=code).stdout)


class Terminal:
    """A command that believes it talks to a person."""

    def __init__(self, arguments: list[str], env: dict[str, str]) -> None:
        self.screen = ""
        self._ours, theirs = pty.openpty()
        self.process = program.start(
            arguments, {**env, "TERM": "xterm", "COLUMNS": "100"}, [theirs, theirs, theirs]
        )
        os.close(theirs)

    def type(self, line: str) -> None:
        self.screen = ""
        os.write(self._ours, f"{line}\n".encode())

    def press(self, key: str) -> None:
        """One key, without Enter."""
        os.write(self._ours, key.encode())

    def wait_for(self, words: str, timeout: float = PATIENCE_S) -> None:
        deadline = time.monotonic() + timeout
        while words not in self.screen:
            assert time.monotonic() < deadline, f"no {words!r} in {self.screen!r}"
            self._read()

    def wait_for_prompt(self, timeout: float = PATIENCE_S) -> None:
        deadline = time.monotonic() + timeout
        while not self.screen.endswith("> "):
            assert time.monotonic() < deadline, f"no prompt in {self.screen!r}"
            self._read()

    def _read(self) -> None:
        readable, _, _ = select.select([self._ours], [], [], 0.1)
        if readable:
            self.screen += os.read(self._ours, 65536).decode(errors="replace")

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._ours)
