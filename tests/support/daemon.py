"""The real daemon as a process, for tests that restart it, kill it and talk to it over HTTP."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx2

from tests.support import prepared_home, program
from tests.support.environment import without_settings
from tests.support.forked_process import ForkServer
from tests.support.postgres_server import free_port

T = TypeVar("T")
# How long is waited for what must happen: long enough for a machine that others keep busy.
PATIENCE_S = 90
TERMINAL = frozenset({"completed", "failed", "interrupted", "cancelled"})


class DaemonFailed(AssertionError):
    """The daemon did not start, or did not stop; the message ends with its log."""


class DaemonProcess:
    """One daemon over one home; it can be started again after it was stopped or killed."""

    def __init__(
        self,
        home: Path,
        database_url: str | None = None,
        env: Mapping[str, str] | None = None,
        config: str | None = None,
        *,
        by_command_line: bool = False,
        fresh: bool = False,
        server: ForkServer | None = None,
    ) -> None:
        """`by_command_line` and `fresh` are for tests of the start itself, and take longer: the
        first imports everything anew, the second begins with an empty home. `server` is what to
        fork instead of the program as it is."""
        self.home = home
        self.port = free_port()
        self.token: str | None = None
        self._database_url = database_url
        self._env = dict(env or {})
        self._log_file = home.parent / f"{home.name}.log"
        self._by_command_line = by_command_line
        self._is_fresh = fresh or by_command_line
        self._server = server
        self._process: program.Process | None = None
        home.mkdir(parents=True, exist_ok=True)
        if config is not None:
            (home / "config.toml").write_text(config, encoding="utf-8")

    def __enter__(self) -> Self:
        return self if self.is_running() else self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    @property
    def url(self) -> str:
        """Where it listens; stays the same over restarts."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The process id of the daemon that was started last."""
        if self._process is None:
            raise DaemonFailed("the daemon was never started")
        return self._process.pid

    def is_running(self) -> bool:
        """Whether the process is alive."""
        return self._process is not None and self._process.poll() is None

    def start(self, timeout: float = PATIENCE_S, *, wait: bool = True) -> Self:
        """Start it and wait until it answers that it is ready."""
        if self.is_running():
            raise DaemonFailed("the daemon is already running")
        if not self._is_fresh and self._database_url is None:
            prepared_home.fill(self.home, _start_once)
        with self._log_file.open("ab") as log, Path(os.devnull).open("rb") as nothing:
            self._process = program.start(
                self.arguments(),
                self.environment(),
                [nothing.fileno(), log.fileno(), log.fileno()],
                by_command_line=self._by_command_line,
                server=self._server,
            )
        if wait:
            self.wait_until_ready(timeout)
        return self

    def arguments(self) -> list[str]:
        """What stands after the program in the command line."""
        arguments = ["serve", "--home", str(self.home), "--bind", f"127.0.0.1:{self.port}"]
        if self._database_url is not None:
            arguments += ["--database-url", self._database_url]
        return arguments

    def environment(self) -> dict[str, str]:
        """The environment it gets: ours without settings and keys, plus what the test asked for."""
        clean = without_settings(os.environ)
        # A home of its own, or it would offer the developer's own skills.
        own = {"HOME": str(self.home), "TZ": "UTC", "PYTHONUNBUFFERED": "1"}
        return {**clean, **own, **self._env}

    def wait_until_ready(self, timeout: float = PATIENCE_S) -> None:
        """Wait for a 200 from `/readyz`; fails at once when the process ends."""
        deadline = time.monotonic() + timeout
        while self.is_running():
            with suppress(httpx2.TransportError):
                if self.request("GET", "/readyz", timeout=2).status_code == 200:
                    return
            if time.monotonic() > deadline:
                self.kill()
                raise DaemonFailed(f"not ready after {timeout} s\n{self.log()[-4000:]}")
            time.sleep(0.05)
        code = self.wait_for_exit(timeout=1)
        raise DaemonFailed(f"the daemon ended with code {code}\n{self.log()[-4000:]}")

    def wait_for_exit(self, timeout: float = PATIENCE_S) -> int:
        """Wait until the process has ended by itself, and answer its exit code."""
        if self._process is None:
            raise DaemonFailed("the daemon was never started")
        try:
            return self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise DaemonFailed(f"still running after {timeout} s\n{self.log()[-4000:]}") from None

    def stop(self, timeout: float = PATIENCE_S) -> int:
        """Ask it to drain and end, and answer its exit code."""
        if self.is_running():
            self.signal(signal.SIGTERM)
        return self.wait_for_exit(timeout)

    def kill(self) -> None:
        """End it and whatever it started, without warning; a no-op when it was never started."""
        if self._process is None:
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the daemon itself."""
        os.kill(self.pid, number)

    def log(self) -> str:
        """Everything it wrote to stdout and stderr, over all its starts."""
        with suppress(FileNotFoundError):
            return self._log_file.read_text(encoding="utf-8", errors="replace")
        return ""

    def client(self, token: str | None = None, *, timeout: float = PATIENCE_S) -> httpx2.Client:
        """An HTTP client for it; close it when done."""
        bearer = token or self.token
        return httpx2.Client(
            base_url=self.url,
            timeout=timeout,
            trust_env=False,
            # Loading the authorities, which nobody asks here, takes longer than a request.
            verify=False,
            headers={"Authorization": f"Bearer {bearer}"} if bearer else {},
        )

    def request(
        self,
        method: str,
        path: str,
        *,
        json: object = None,
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        token: str | None = None,
        timeout: float = PATIENCE_S,
    ) -> httpx2.Response:
        """One call, whatever its outcome."""
        with self.client(token, timeout=timeout) as client:
            return client.request(method, path, json=json, params=params, headers=headers)

    def get(self, path: str, **options: Any) -> Any:
        """The JSON at a path; fails unless the answer is a success."""
        return self._json("GET", path, **options)

    def post(self, path: str, json: object = None, **options: Any) -> Any:
        """The JSON that a POST answers; fails unless the answer is a success."""
        return self._json("POST", path, json=json, **options)

    def submit(self, session: str, text: str, **payload: Any) -> str:
        """Queue a run with a text and answer its id."""
        body = {"content": text, **payload}
        run_id: str = self.post(f"/v1/sessions/{session}/runs", body)["run_id"]
        return run_id

    def wait_for_run(self, run_id: str, timeout: float = PATIENCE_S) -> dict[str, Any]:
        """The run, once nothing can happen to it any more."""

        def finished() -> dict[str, Any] | None:
            view: dict[str, Any] = self.get(f"/v1/runs/{run_id}")
            return view if view["status"] in TERMINAL else None

        return wait_for(finished, timeout, what=f"{run_id} to end")

    def run(
        self, session: str, text: str, timeout: float = PATIENCE_S, **payload: Any
    ) -> dict[str, Any]:
        """Submit a text and answer the finished run."""
        return self.wait_for_run(self.submit(session, text, **payload), timeout)

    def _json(self, method: str, path: str, **options: Any) -> Any:
        answer = self.request(method, path, **options)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None


def wait_for(
    predicate: Callable[[], T | None], timeout: float = PATIENCE_S, *, what: str = ""
) -> T:
    """Ask until the answer is true, and hand it back; a failure to connect counts as a no."""
    deadline = time.monotonic() + timeout
    pause = 0.005
    while True:
        with suppress(httpx2.TransportError):
            if answer := predicate():
                return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {timeout} s for {what or predicate.__name__}")
        time.sleep(pause)
        pause = min(0.05, pause * 1.5)


def _start_once(home: Path) -> None:
    with DaemonProcess(home, fresh=True) as daemon:
        assert daemon.stop() == 0, daemon.log()[-4000:]


def capture_off(daemon: DaemonProcess) -> None:
    """Turn capture off, which rewrites the records of ended runs, for tests that look at them."""
    policy = {"capture": {"semantic_candidates": {"enabled": False}}}
    daemon.post("/v1/runtime/learning-policy", {"policy": policy})
