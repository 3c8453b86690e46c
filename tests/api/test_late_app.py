"""The app that is built at its first request: probes before, and requests while it is built."""

import asyncio
import subprocess
import sys
from threading import Event

import pytest
from starlette.testclient import TestClient
from starlette.types import ASGIApp

from understudy.api.app import create_app
from understudy.api.late_app import LateApp
from understudy.daemon.wiring import Daemon

PROBES = ("/healthz", "/readyz")
OF_THE_APP = (
    "psycopg.pq",
    "fastapi",
    "jinja2",
    "understudy.api.app",
    "understudy.console.app",
    "rich",
)


class Built:
    """Builds the app of a daemon, and counts how often."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self.times = 0
        self.may = Event()
        self.may.set()

    def __call__(self) -> ASGIApp:
        assert self.may.wait(30)
        self.times += 1
        return create_app(self._daemon.services)


@pytest.fixture
def built(daemon: Daemon) -> Built:
    return Built(daemon)


@pytest.fixture
def late(daemon: Daemon, built: Built) -> LateApp:
    return LateApp(
        built,
        is_ready=lambda: daemon.resources.readiness() is None,
        metrics=daemon.services.metrics,
    )


@pytest.fixture
def client(late: LateApp) -> TestClient:
    # Not entered: a server of a daemon sends no lifespan, either.
    return TestClient(late, base_url="http://127.0.0.1:4600")


def test_a_probe_is_answered_as_the_app_answers_it_and_builds_nothing(
    client: TestClient, built: Built
) -> None:
    before = [client.get(path, headers={"X-Request-Id": "mine"}) for path in PROBES]
    assert built.times == 0
    assert client.get("/v1/sessions").status_code == 200
    after = [client.get(path, headers={"X-Request-Id": "mine"}) for path in PROBES]

    assert [(it.status_code, it.text, dict(it.headers)) for it in before] == [
        (it.status_code, it.text, dict(it.headers)) for it in after
    ]
    assert 'understudy_http_requests_total{method="GET",status_class="2xx"} 5.0' in (
        client.get("/metrics").text
    )
    assert built.times == 1


def test_a_daemon_that_is_not_ready_says_why(
    daemon: Daemon, client: TestClient, built: Built
) -> None:
    daemon.resources.state = "draining"
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["code"]) == (503, "daemon_draining")
    assert client.get("/healthz").text == "ok\n"
    assert built.times == 1


def test_requests_that_come_while_the_app_is_built_wait_for_the_same_one(
    late: LateApp, built: Built
) -> None:
    async def status(path: str) -> int:
        statuses: list[int] = []

        async def receive() -> dict[str, object]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: dict[str, object]) -> None:
            if message["type"] == "http.response.start":
                statuses.append(int(str(message["status"])))

        scope = {
            "type": "http", "method": "GET", "path": path, "raw_path": path.encode(),
            "query_string": b"", "headers": [(b"host", b"127.0.0.1:4600")], "root_path": "",
            "scheme": "http", "server": ("127.0.0.1", 4600), "client": ("127.0.0.1", 1),
        }  # fmt: skip
        await late(scope, receive, send)  # type: ignore[arg-type]
        return statuses[0]

    async def several() -> list[int]:
        built.may.clear()
        waiting = [asyncio.create_task(status(path)) for path in ("/v1/runs", "/v1/sessions")]
        await asyncio.sleep(0)
        # The loop is free meanwhile.
        probed = await status("/healthz")
        built.may.set()
        return [probed, *await asyncio.gather(*waiting)]

    assert asyncio.run(several()) == [200, 200, 200]
    assert built.times == 1


def test_what_only_requests_need_is_not_imported_at_start() -> None:
    asked = (
        "from understudy.cli.local import import_logging_without_rich as first; first();"
        "from understudy.core.lazy import defer_module; defer_module('psycopg', 'errors');"
        "import sys, understudy.daemon.serve;"
        f"print([name for name in {OF_THE_APP!r} if sys.modules.get(name)])"
    )
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "[]"
