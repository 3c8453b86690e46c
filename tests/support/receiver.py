"""A webhook of a test's own: keeps what it was sent, answers what it was told to."""

import asyncio
import json
import threading
from collections import deque
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from tests.support.daemon import wait_for
from understudy.testing.loopback import HttpReply, HttpRequest, LoopbackServer


class Receiver:
    """Answers 200, or the next of the statuses it was given; can hold its answers back."""

    def __init__(self, *statuses: int, headers: Mapping[str, str] | None = None) -> None:
        self.statuses = deque(statuses)
        self.headers = dict(headers or {})
        self.body = b"thanks"
        self.requests: list[HttpRequest] = []
        self._held = threading.Event()
        self._server = LoopbackServer(self._respond)

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.stop()

    @property
    def url(self) -> str:
        """An address for a reply target, with a secret in its query."""
        return f"{self._server.url}/hook?token=s3cret-in-query"

    @property
    def told(self) -> list[dict[str, Any]]:
        """The bodies that came."""
        return [json.loads(request.body) for request in self.requests]

    def hold(self) -> None:
        """Take requests, and answer none until released."""
        self._held.set()

    def release(self) -> None:
        """Answer again."""
        self._held.clear()

    def wait_for(self, count: int, timeout: float = 90) -> list[HttpRequest]:
        """The requests, once there are so many."""
        return wait_for(
            lambda: self.requests if len(self.requests) >= count else None,
            timeout,
            what=f"{count} requests, there are {len(self.requests)}",
        )

    async def _respond(self, request: HttpRequest, reply: HttpReply) -> None:
        self.requests.append(request)
        status = self.statuses.popleft() if self.statuses else 200
        while self._held.is_set():  # noqa: ASYNC110 - set from another thread
            await asyncio.sleep(0.01)
        await reply.whole(self.body, status=status, headers=self.headers)
        reply.drop()
