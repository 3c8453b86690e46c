"""Starting and stopping: one clear line when it cannot be, and nothing lost when it can."""

import resource
import signal
import socket
import stat
import time
from pathlib import Path

import psycopg
import pytest

from tests.e2e.conftest import DaemonWithModel, routes_to
from tests.support import program
from tests.support.daemon import DaemonProcess, wait_for
from tests.support.postgres import MakeDatabase
from tests.support.postgres_server import free_port
from understudy.testing.fake_model import FakeModel

pytestmark = pytest.mark.e2e


def refusal(daemon: DaemonProcess, *more: str) -> str:
    """Start a daemon that cannot serve; what it said on its way out."""
    done = program.run([*daemon.arguments(), *more], daemon.environment())
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("understudy:")]
    assert len(lines) == 1, done.stderr
    return lines[0]


def test_a_taken_port_is_named(tmp_path: Path) -> None:
    daemon = DaemonProcess(tmp_path / "home")
    with socket.socket() as other:
        other.bind(("127.0.0.1", daemon.port))
        other.listen()
        assert str(daemon.port) in refusal(daemon)


def test_a_home_belongs_to_one_daemon(tmp_path: Path) -> None:
    with DaemonProcess(tmp_path / "home") as first:
        second = DaemonProcess(first.home)
        assert "another daemon" in refusal(second)
        assert first.get("/v1/status")["ready"] is True


def test_a_bad_config_names_the_offending_key(tmp_path: Path) -> None:
    config = '[routes.x]\nprovider = "openai"\nmodel = "m"\ncolour = "red"\n'
    assert "routes.x.colour" in refusal(DaemonProcess(tmp_path / "home", config=config))


def test_an_unreachable_database_is_told_without_its_password(tmp_path: Path) -> None:
    url = f"postgresql://user:{'hun' + 'ter2'}@127.0.0.1:{free_port()}/none"
    said = refusal(DaemonProcess(tmp_path / "home", database_url=url))
    assert "database" in said
    assert "hunter2" not in said


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    daemon = DaemonProcess(tmp_path / "home")
    (daemon.home / "understudy.db").write_text("this is not a database, whatever it is called" * 99)
    assert "database" in refusal(daemon)


def test_an_open_bind_needs_a_token(tmp_path: Path) -> None:
    daemon = DaemonProcess(tmp_path / "home")
    assert "UNDERSTUDY_ADMIN_TOKEN" in refusal(daemon, "--bind", f"0.0.0.0:{free_port()}")


def test_the_home_is_private(tmp_path: Path) -> None:
    with DaemonProcess(tmp_path / "deep" / "home", by_command_line=True) as daemon:
        for name in ("understudy.db", "workspace", "daemon.lock"):
            mode = stat.S_IMODE((daemon.home / name).stat().st_mode)
            assert mode & 0o077 == 0, name


def test_a_stream_does_not_keep_the_daemon_from_stopping(live: DaemonWithModel) -> None:
    daemon, model = live.daemon, live.model
    daemon.post("/v1/sessions", {"session_id": "s1"})
    model.hold()
    run_id = daemon.submit("s1", "hello")
    model.wait_for_requests(1)
    with daemon.client() as client, client.stream("GET", f"/v1/runs/{run_id}/stream") as stream:
        assert stream.status_code == 200
        began = time.monotonic()
        daemon.signal(signal.SIGTERM)
        wait_for(lambda: daemon.request("GET", "/readyz").status_code == 503, what="draining")
        refused = daemon.request("POST", "/v1/sessions", json={})
        assert (refused.status_code, refused.json()["code"]) == (503, "daemon_draining")
        model.release()
        assert daemon.wait_for_exit() == 0
        assert time.monotonic() - began < 20
    daemon.start()
    assert daemon.wait_for_run(run_id)["status"] == "completed"


def test_a_second_signal_ends_it_at_once(live: DaemonWithModel) -> None:
    daemon, model = live.daemon, live.model
    daemon.post("/v1/sessions", {"session_id": "s1"})
    model.hold()
    run_id = daemon.submit("s1", "hello")
    model.wait_for_requests(1)
    daemon.signal(signal.SIGTERM)
    wait_for(lambda: daemon.request("GET", "/readyz").status_code == 503, what="draining")
    daemon.signal(signal.SIGTERM)
    assert daemon.wait_for_exit(timeout=12) != 0
    model.release()
    daemon.start()
    assert daemon.wait_for_run(run_id)["status"] == "completed"


@pytest.mark.postgres
def test_a_run_waits_for_a_database_that_is_away(
    tmp_path: Path, model: FakeModel, make_database: MakeDatabase
) -> None:
    """Every connection is cut while a model call is under way; what it answered is not lost."""
    url = make_database()
    with DaemonProcess(tmp_path / "home", database_url=url, config=routes_to(model)) as daemon:
        daemon.post("/v1/sessions", {"session_id": "s1"})
        run_id = daemon.submit("s1", 'plan: {"tools": [["list_files", {}]], "delay_s": 1}')
        model.wait_for_requests(1)
        with psycopg.connect(url, autocommit=True) as connection:
            # Waits until each has ended: a request during its end would be refused, as it should.
            connection.execute(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        assert daemon.wait_for_run(run_id)["status"] == "completed"
        assert len(model.requests) == 2


def test_a_full_disk_costs_requests_and_not_state(tmp_path: Path, model: FakeModel) -> None:
    with DaemonProcess(tmp_path / "home", config=routes_to(model)) as daemon:
        daemon.post("/v1/sessions", {"session_id": "s1"})
        model.hold()
        run_id = daemon.submit("s1", "hello")
        model.wait_for_requests(1)
        unlimited = resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE, (0, unlimited[1]))
        refused = daemon.request("POST", "/v1/sessions", json={"session_id": "s2"})
        assert refused.status_code == 503
        assert refused.json()["code"] == "database_unavailable"
        assert daemon.get("/v1/sessions/s1")["session_id"] == "s1"
        model.release()
        time.sleep(1)
        assert daemon.get(f"/v1/runs/{run_id}")["status"] == "running"
        resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE, unlimited)
        assert daemon.wait_for_run(run_id)["status"] == "completed"
        assert len(model.requests) == 1
        assert daemon.get(f"/v1/run-memories/{run_id}")["memory"]["status"] == "completed"
        assert daemon.request("GET", "/v1/sessions/s2").status_code == 404
