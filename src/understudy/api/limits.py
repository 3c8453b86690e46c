"""Limits on the size and arrival time of request bodies, whatever `Content-Length` says."""

import asyncio
from contextlib import suppress
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from understudy.core.errors import LimitExceeded, coded_error

MAX_BODY_BYTES: Final = 1024 * 1024
# For operations that take files.
LARGE_BODY_BYTES: Final = 24 * 1024 * 1024
# A client that is still sending does not read, so some more is drained and dropped.
LINGER_BYTES: Final = 2 * LARGE_BODY_BYTES
LINGER_S: Final = 5.0
# The deadline of a body: a grace period, plus a second per so many bytes.
BODY_GRACE_S: Final = 20.0
BODY_BYTES_PER_S: Final = 32 * 1024


class BodyLimit:
    """Middleware that enforces the size limit and deadline of request bodies."""

    def __init__(self, app: ASGIApp, *, max_bytes: int = LARGE_BODY_BYTES) -> None:
        self._app = app
        self._max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            receive = bounded(scope, timed(receive), self._max_bytes)
        await self._app(scope, receive, send)


def timed(receive: Receive) -> Receive:
    """The body as it arrives; raises if it is too slow. What follows the body is not timed."""
    seen, ends_at, is_over = 0, 0.0, False

    async def in_time() -> Message:
        nonlocal seen, ends_at, is_over
        if is_over:
            return await receive()
        ends_at = ends_at or asyncio.get_running_loop().time() + BODY_GRACE_S
        try:
            async with asyncio.timeout_at(ends_at + seen / BODY_BYTES_PER_S):
                message = await receive()
        except TimeoutError:
            raise coded_error("api/body_too_slow", grace_s=round(BODY_GRACE_S)) from None
        seen += len(message.get("body", b""))
        is_over = message["type"] != "http.request" or not message.get("more_body", False)
        return message

    return in_time


def bounded(scope: Scope, receive: Receive, max_bytes: int) -> Receive:
    """The body as it arrives; raises once it exceeds the limit."""
    announced = _announced(scope)
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        if announced > max_bytes:
            await _refuse(receive, max_bytes, more=True)
        message = await receive()
        if message["type"] == "http.request":
            seen += len(message.get("body", b""))
            if seen > max_bytes:
                await _refuse(receive, max_bytes, more=message.get("more_body", False))
        return message

    return counted


async def _refuse(receive: Receive, max_bytes: int, *, more: bool) -> None:
    # An outer limit may be reached while draining; this one is reported.
    with suppress(TimeoutError, LimitExceeded):
        async with asyncio.timeout(LINGER_S):
            await _discard(receive, LINGER_BYTES if more else 0)
    raise coded_error("api/payload_too_large", limit_bytes=max_bytes)


async def _discard(receive: Receive, max_bytes: int) -> None:
    read = 0
    while read < max_bytes:
        message = await receive()
        read += len(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body"):
            return


def _announced(scope: Scope) -> int:
    """The announced `Content-Length`; 0 without a valid one."""
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value[:20])
    return 0
