"""Lets a server that answers in one JSON body pass for one that streams Anthropic's events."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import httpx2


class PlainOrStreamClient(httpx2.AsyncClient):
    """Turns a successful plain answer into the events that the reader of streams expects."""

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send the request on and look at what kind of answer comes back."""
        response = await super().send(request, **options)
        kind = response.headers.get("content-type", "")
        if response.status_code != 200 or not kind.startswith("application/json"):
            return response
        try:
            events = b"".join(_events(json.loads(await response.aread())))
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            # Not an answer at all: let the reader say so.
            return response
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=headers, content=events, request=request)


def _events(message: Mapping[str, Any]) -> Iterator[bytes]:
    yield _event("message_start", message=dict(message) | {"content": [], "stop_reason": None})
    for index, block in enumerate(message["content"]):
        yield _event("content_block_start", index=index, content_block=block)
        yield _event("content_block_stop", index=index)
    stop = {"stop_reason": message.get("stop_reason") or "end_turn", "stop_sequence": None}
    yield _event("message_delta", delta=stop, usage=message["usage"])
    yield _event("message_stop")


def _event(kind: str, **fields: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind} | fields)}\n\n".encode()
