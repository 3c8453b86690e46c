"""The RPC over a WebSocket, as a client sees it, and a server for it on a port of its own."""

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from websockets.sync.client import ClientConnection, connect

from tests.support.daemon import wait_for
from understudy.daemon.connections import server_config

WAIT_S = 10


@dataclass(slots=True)
class Rpc:
    """A client that remembers the events which came before an answer."""

    socket: ClientConnection
    events: list[dict[str, Any]] = field(default_factory=list)
    _ids: Iterator[int] = field(default_factory=count)

    def ask(self, method: str, params: Any = None, **more: Any) -> dict[str, Any]:
        """The answer to a request, whatever it is."""
        frame_id = f"r{next(self._ids)}"
        frame = {"type": "req", "id": frame_id, "method": method, "params": params, **more}
        return self.say(json.dumps(frame))

    def ok(self, method: str, params: Any = None) -> dict[str, Any]:
        """The payload of a request that is done."""
        answer = self.ask(method, params)
        assert answer["ok"], answer
        payload: dict[str, Any] = answer["payload"]
        return payload

    def code(self, method: str, params: Any = None) -> str:
        """The code of a request that is refused."""
        answer = self.ask(method, params)
        assert not answer["ok"], answer
        code: str = answer["error"]["code"]
        return code

    def say(self, text: str | bytes) -> dict[str, Any]:
        """The answer to a frame as it is."""
        self.socket.send(text)
        return self.answer()

    def answer(self) -> dict[str, Any]:
        """The next answer."""
        while True:
            frame = self._next()
            if frame["type"] == "res":
                return frame
            self.events.append(frame)

    def event(self) -> dict[str, Any]:
        """The next event."""
        return self.events.pop(0) if self.events else self._next()

    def _next(self) -> dict[str, Any]:
        frame: dict[str, Any] = json.loads(self.socket.recv(WAIT_S))
        return frame


@contextmanager
def rpc(
    url: str, token: str | None = None, *, log_in: bool = True, **options: Any
) -> Iterator[Rpc]:
    """A connection; with a token it has said who it is."""
    with connect(f"{url}/ws", proxy=None, open_timeout=WAIT_S, **options) as opened:
        client = Rpc(opened)
        if log_in:
            client.ok("connect", {"token": token} if token else {})
        yield client


@dataclass(frozen=True, slots=True)
class Served:
    """A server that runs, where it is, and the loop that it runs on."""

    url: str
    server: uvicorn.Server
    loop: asyncio.AbstractEventLoop


@contextmanager
def served(
    app: ASGIApp,
    *,
    set_up: Callable[[uvicorn.Config], None] = lambda _: None,
    trusted_proxies: Sequence[str] = (),
) -> Iterator[Served]:
    """Serve an app on a port of its own, on a thread of its own."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        config = server_config(app, trusted_proxies)
        set_up(config)
        server, runner = uvicorn.Server(config), asyncio.Runner()
        loop = runner.get_loop()
        thread = threading.Thread(target=_run, args=(runner, server, listener), daemon=True)
        thread.start()
        wait_for(lambda: server.started, what="the server to start")
        try:
            yield Served(f"ws://127.0.0.1:{listener.getsockname()[1]}", server, loop)
        finally:
            server.should_exit = True
            thread.join(30)


def _run(runner: asyncio.Runner, server: uvicorn.Server, listener: socket.socket) -> None:
    with runner:
        runner.run(server._serve([listener]))
