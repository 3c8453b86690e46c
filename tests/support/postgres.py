"""A real PostgreSQL for tests: one server per test run, one database per test that wants one.

The server starts when the first test asks for it, is shared by all pytest-xdist workers, and ends
with the test run (see `postgres_server`). With `UNDERSTUDY_TEST_POSTGRES_URL` set, the server
behind that URL is used instead; its account must be allowed to create databases.
"""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit, urlunsplit

import psutil
import psycopg
from psycopg import sql

from tests.support import postgres_server

EXTERNAL_URL = "UNDERSTUDY_TEST_POSTGRES_URL"
RUN_DIRECTORY = "UNDERSTUDY_TEST_RUN_DIRECTORY"
RUN_OWNER = "UNDERSTUDY_TEST_RUN_OWNER"
START_TIMEOUT_S = 90
STOP_TIMEOUT_S = 30


class MakeDatabase(Protocol):
    """Makes an empty database, or a copy of another one, and answers its URL."""

    def __call__(self, template: str | None = None) -> str: ...


def begin_test_run() -> None:
    """Tell this process and the workers it starts where the server of this run would live."""
    directory = _temporary_root() / f"understudy-tests-{uuid.uuid4().hex[:12]}"
    os.environ[RUN_DIRECTORY] = str(directory)
    os.environ[RUN_OWNER] = str(os.getpid())


def end_test_run() -> None:
    """Stop the server of this run, if a test started one, and remove its files."""
    directory = Path(os.environ.pop(RUN_DIRECTORY))
    with suppress(FileNotFoundError, psutil.NoSuchProcess):
        supervisor = psutil.Process(int((directory / postgres_server.PID_FILE).read_text()))
        supervisor.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + STOP_TIMEOUT_S
        while postgres_server.is_alive(supervisor) and time.monotonic() < deadline:
            time.sleep(0.02)
        supervisor.kill()
    shutil.rmtree(directory, ignore_errors=True)


def run_directory() -> Path | None:
    """A directory that lasts as long as the test run; there is none outside of one."""
    named = os.environ.get(RUN_DIRECTORY)
    if named is None:
        return None
    directory = Path(named)
    directory.mkdir(mode=0o711, exist_ok=True)
    return directory


def server_url() -> str:
    """The URL of a database whose account may create others; starts the server if need be."""
    if external := os.environ.get(EXTERNAL_URL):
        return external
    directory = run_directory()
    assert directory is not None, "the test run has not begun"
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (directory / postgres_server.PID_FILE).exists():
            _start_supervisor(directory)
        return _wait_for_url(directory)


@contextmanager
def databases(admin_url: str) -> Iterator[MakeDatabase]:
    """A maker of databases, which are dropped at the end even when somebody is still connected."""
    made: list[str] = []

    def make(template: str | None = None) -> str:
        name = f"test_{uuid.uuid4().hex}"
        source = urlsplit(template).path.lstrip("/") if template else "template0"
        _execute(admin_url, "CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy", name, source)
        made.append(name)
        return with_database(admin_url, name)

    try:
        yield make
    finally:
        for name in made:
            _execute(admin_url, "DROP DATABASE IF EXISTS {} WITH (FORCE)", name)


def with_database(url: str, name: str) -> str:
    """The same server, another database."""
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def _execute(url: str, statement: str, *names: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL(statement).format(*(sql.Identifier(name) for name in names)))


def _temporary_root() -> Path:
    """A temporary directory that the server's account can enter."""
    usual = Path(tempfile.gettempdir())
    if os.geteuid() != 0:
        return usual
    candidates = (usual, Path("/tmp"), Path("/var/tmp"))
    return next(
        (path for path in candidates if path.is_dir() and postgres_server.is_open_to_others(path)),
        usual,
    )


def _start_supervisor(directory: Path) -> None:
    with (directory / "server.log").open("wb") as log:
        subprocess.run(
            [sys.executable, postgres_server.__file__, str(directory), os.environ[RUN_OWNER]],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            check=True,
        )


def _wait_for_url(directory: Path) -> str:
    state_file = directory / postgres_server.STATE_FILE
    deadline = time.monotonic() + START_TIMEOUT_S
    while not state_file.exists():
        if time.monotonic() > deadline:
            raise RuntimeError(f"PostgreSQL did not start in time:\n{_log(directory)}")
        time.sleep(0.05)
    state = json.loads(state_file.read_text())
    if "error" in state:
        raise RuntimeError(f"PostgreSQL did not start: {state['error']}\n{_log(directory)}")
    url: str = state["url"]
    return url


def _log(directory: Path) -> str:
    with suppress(FileNotFoundError):
        return (directory / "server.log").read_text()[-4000:]
    return ""
