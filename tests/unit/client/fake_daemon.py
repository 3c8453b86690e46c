"""A client whose daemon is a function."""

from collections.abc import Callable, Sequence
from typing import Any

import httpx2

from understudy.client import Client, Retries

Handler = Callable[[httpx2.Request], httpx2.Response]


def client_of(
    handler: Handler, *, delays: tuple[float, ...] = (0.1, 0.2)
) -> tuple[Client, list[float]]:
    """The client, and the pauses it made."""
    pauses: list[float] = []
    retries = Retries(delays_s=delays, sleep=pauses.append)
    transport = httpx2.MockTransport(handler)
    return Client("http://daemon.test", "secret", retries=retries, transport=transport), pauses


def answers(*steps: httpx2.Response | Exception) -> tuple[Handler, list[httpx2.Request]]:
    """A daemon that answers with these, one after the other, and what it was asked."""
    seen: list[httpx2.Request] = []

    def handle(request: httpx2.Request) -> httpx2.Response:
        step = steps[len(seen)]
        seen.append(request)
        if isinstance(step, Exception):
            raise step
        return step

    return handle, seen


def run_document(run_id: str = "run_1", status: str = "completed", **more: Any) -> dict[str, Any]:
    """A run as the API answers it."""
    return {
        "run_id": run_id,
        "session_id": "s1",
        "agent_id": "default",
        "user_id": "local",
        "kind": "input",
        "status": status,
        "submitted_at_ms": 1,
        "updated_at_ms": 2,
        "request": {"source_plugin": "daemon", "source_kind": "api", "actor_id": "api-user"},
        **more,
    }


def sse(*events: tuple[str, str, str]) -> bytes:
    """Events of (id, name, data) as bytes."""
    return "".join(f"id: {i}\nevent: {name}\ndata: {data}\n\n" for i, name, data in events).encode()


def pages(*documents: Sequence[Any]) -> list[httpx2.Response]:
    """Each sequence as a page that names the next one."""
    last = len(documents) - 1
    return [
        httpx2.Response(200, json={"items": [*items], "next_cursor": f"c{n}" if n < last else None})
        for n, items in enumerate(documents)
    ]
