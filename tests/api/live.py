"""The whole daemon in this process, behind a real socket, for tests of runs and streams."""

import asyncio
import json
import socket
import threading
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import uvicorn

from tests.support import prepared_home
from tests.support.daemon import wait_for
from tests.support.daemon_in_process import start_once
from understudy.api.app import create_app
from understudy.console.app import mount as mount_console
from understudy.daemon.connections import server_config
from understudy.daemon.wiring import Daemon
from understudy.mcp.endpoint import mount as mount_mcp
from understudy.settings import Flags, Settings, load_settings
from understudy.testing.fake_model import FakeModel
from understudy.ws.endpoint import mount

TERMINAL = frozenset({"completed", "failed", "interrupted", "cancelled"})
CONFIG = """
default_route = "fake"
[routes.fake]
provider = "openai"
model = "fake-1"
base_url = "{url}/v1"
api_key_env = "FAKE_KEY"
max_attempts = 2
[routes.other]
provider = "openai"
model = "fake-2"
base_url = "{url}/v1"
api_key_env = "FAKE_KEY"
"""


def settings_at(home: Path, *, config: str | None = None, **environment: str) -> Settings:
    """Settings for a home of a test, untouched by the machine's own environment."""
    home.mkdir(parents=True, exist_ok=True)
    if config is not None:
        (home / "config.toml").write_text(config)
    settings = load_settings(Flags(home=home, bind="127.0.0.1:4600"), environment)
    settings.workspace.mkdir(exist_ok=True)
    return settings


@dataclass(frozen=True, slots=True)
class SentEvent:
    """One event that a stream sent."""

    name: str
    data: Mapping[str, Any]
    id: str


@dataclass(slots=True)
class Live:
    """A daemon that runs, its fake model, and a client."""

    client: httpx2.Client
    model: FakeModel
    daemon: Daemon

    def session(self, session_id: str, **body: Any) -> dict[str, Any]:
        return self.ok("POST", "/v1/sessions", {"session_id": session_id, **body})

    def ok(self, method: str, path: str, body: object = None, **options: Any) -> Any:
        answer = self.client.request(method, path, json=body, **options)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()

    def submit(self, session_id: str, text: str, **body: Any) -> str:
        path = f"/v1/sessions/{session_id}/runs"
        run_id: str = self.ok("POST", path, {"content": text, **body})["run_id"]
        return run_id

    def finished(self, run_id: str) -> dict[str, Any]:
        def ended() -> dict[str, Any] | None:
            view: dict[str, Any] = self.ok("GET", f"/v1/runs/{run_id}")
            return view if view["status"] in TERMINAL else None

        return wait_for(ended, what=f"{run_id} to end")

    def run(self, session_id: str, text: str, **body: Any) -> dict[str, Any]:
        return self.finished(self.submit(session_id, text, **body))

    @contextmanager
    def stream(self, path: str, last_id: str | None = None) -> Iterator[Iterator[SentEvent]]:
        headers = {"Last-Event-ID": last_id} if last_id else {}
        with self.client.stream("GET", path, headers=headers, timeout=20) as answer:
            assert answer.status_code == 200, answer.read()
            yield events_in(answer.iter_lines())

    def told(self, run_id: str, last_id: str | None = None) -> list[SentEvent]:
        with self.stream(f"/v1/runs/{run_id}/stream", last_id) as events:
            return list(events)


def events_in(lines: Iterator[str]) -> Iterator[SentEvent]:
    """The events of a stream, as a browser would see them."""
    fields: dict[str, str] = {}
    for line in lines:
        if not line and "data" in fields:
            data = json.loads(fields["data"])
            yield SentEvent(name=fields["event"], data=data, id=fields.get("id", ""))
        if not line:
            fields = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value


def joined(events: list[SentEvent]) -> str:
    """What a reader has on the screen after these events."""
    text: dict[int, str] = {}
    for event in events:
        if event.name == "delta":
            step = event.data["step"]
            text[step] = text.get(step, "") + event.data["text"]
        elif event.name == "delta_reset":
            text.pop(event.data["step"], None)
    return "".join(text[step] for step in sorted(text))


@contextmanager
def live_daemon(home: Path, *, config: str = CONFIG, **environment: str) -> Iterator[Live]:
    """Start everything on a thread of its own, and stop it in good order."""
    with FakeModel() as model, socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        settings = settings_at(
            home, config=config.format(url=model.url), FAKE_KEY="key", **environment
        )
        if "UNDERSTUDY_DATABASE_URL" not in environment:
            prepared_home.fill(settings.home, start_once)
        daemon = Daemon(settings)
        daemon.migrate()
        ready, stop = threading.Event(), asyncio.Event()
        # Closing it ends what still runs, so that nothing is left to the garbage collector.
        runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        loop = runner.get_loop()
        thread = threading.Thread(
            target=_serve_until_stopped,
            args=(runner, _serve(daemon, listener, ready, stop)),
            daemon=True,
        )
        thread.start()
        assert ready.wait(30)
        try:
            with httpx2.Client(
                base_url=f"http://127.0.0.1:{port}", timeout=20, trust_env=False, verify=False
            ) as client:
                yield Live(client=client, model=model, daemon=daemon)
        finally:
            model.release()
            loop.call_soon_threadsafe(stop.set)
            thread.join(30)


def _serve_until_stopped(runner: asyncio.Runner, work: Coroutine[Any, Any, None]) -> None:
    with runner:
        runner.run(work)


async def _serve(
    daemon: Daemon, listener: socket.socket, ready: threading.Event, stop: asyncio.Event
) -> None:
    await daemon.start()
    app = create_app(daemon.services)
    mount(app, daemon.services)
    mount_mcp(app)
    mount_console(app)
    server = uvicorn.Server(server_config(app))
    serving = asyncio.create_task(server._serve([listener]))
    while not server.started:  # noqa: ASYNC110 - uvicorn has a flag, no event
        await asyncio.sleep(0.01)
    ready.set()
    await stop.wait()
    await daemon.drain()
    server.should_exit = True
    await serving
    await daemon.stop()
