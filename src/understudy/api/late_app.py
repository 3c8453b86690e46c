"""The app of a daemon, built at the first request that needs it; probes do not."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from understudy.api.answer_headers import add_headers, request_id_of
from understudy.telemetry.metrics import Metrics

PROBES: Final[Mapping[str, bytes]] = {"/healthz": b"ok\n", "/readyz": b"ready\n"}
PLAIN_TEXT: Final = b"text/plain; charset=utf-8"


class LateApp:
    """Answers the probes of a ready daemon itself; any other request builds the app.

    Routes, request bodies and pages are a third of a daemon's imports and a fifth of its memory,
    and an idle daemon needs none of them. A request that comes while the app is built waits for it.
    """

    def __init__(
        self, build: Callable[[], ASGIApp], *, is_ready: Callable[[], bool], metrics: Metrics
    ) -> None:
        self._build = build
        self._is_ready = is_ready
        self._metrics = metrics
        self._app: ASGIApp | None = None
        self._turn = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._app is None and self._is_answered_here(scope):
            await self._answer_probe(scope, send)
            return
        app = self._app or await self._built()
        await app(scope, receive, send)

    def _is_answered_here(self, scope: Scope) -> bool:
        # Why a daemon is not ready is told by the app.
        is_read = scope["type"] == "http" and scope["method"] == "GET"
        return is_read and scope["path"] in PROBES and self._is_ready()

    async def _answer_probe(self, scope: Scope, send: Send) -> None:
        body = PROBES[scope["path"]]
        headers = [(b"content-length", b"%d" % len(body)), (b"content-type", PLAIN_TEXT)]
        start = {"type": "http.response.start", "status": 200, "headers": headers}
        add_headers(start, request_id_of(scope))
        self._metrics.http_answered(scope["method"], status=200)
        await send(start)
        await send({"type": "http.response.body", "body": body})

    async def _built(self) -> ASGIApp:
        async with self._turn:
            if self._app is None:
                self._app = await asyncio.to_thread(self._build)
            return self._app
