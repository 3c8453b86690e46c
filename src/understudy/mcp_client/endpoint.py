"""A server over streamable HTTP: bounded answers, no redirects, no access to private networks."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final
from urllib.parse import urlsplit

import httpx2
from mcp.client.streamable_http import streamable_http_client

from understudy.core.urls import is_loopback
from understudy.mcp_client.model import HttpServer
from understudy.mcp_client.rate_limits import MAX_MESSAGE_BYTES, FloodError, IntakeLimit
from understudy.tools.addresses import Address
from understudy.tools.base import ToolError
from understudy.tools.destinations import Destinations, Target, parse_url

CONNECT_S: Final = 10.0
# Beyond the server's own timeout.
READ_SLACK_S: Final = 30.0
MAX_REQUESTS_PER_S: Final = 100
MAX_TRIED_ADDRESSES: Final = 3
EVENT_STREAM: Final = "text/event-stream"


@asynccontextmanager
async def call_endpoint(
    endpoint: HttpServer,
    *,
    timeout_s: float,
    on_gone: Callable[[str], None],
    destinations: Destinations,
) -> AsyncIterator[object]:
    """Open the message streams of a connection to the endpoint."""
    guard = _Guard(on_gone)
    parts = urlsplit(endpoint.url)
    # Plain HTTP verifies nothing, and loading the CA certificates is slow.
    verify = parts.scheme != "http"
    inner = httpx2.AsyncHTTPTransport(verify=verify, trust_env=False)
    async with (
        httpx2.AsyncClient(
            # No compression: a small body could expand to any size.
            headers={**endpoint.headers, "Accept-Encoding": "identity"},
            timeout=httpx2.Timeout(CONNECT_S, read=timeout_s + READ_SLACK_S),
            event_hooks={"request": [guard.before], "response": [guard.after]},
            verify=verify,
            transport=PinnedTransport(inner, destinations) if endpoint.public_only else None,
            # A proxy would resolve the name itself, and cannot reach this machine.
            trust_env=not endpoint.public_only and not is_loopback(parts.hostname or ""),
        ) as client,
        streamable_http_client(
            endpoint.url, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES
        ) as streams,
    ):
        yield streams


class _Guard:
    """Rate limits on the traffic of a server; a flood closes the connection."""

    def __init__(self, on_gone: Callable[[str], None]) -> None:
        self._on_gone = on_gone
        self._requests = IntakeLimit(MAX_REQUESTS_PER_S)
        self._intake = IntakeLimit()

    async def before(self, _: httpx2.Request) -> None:
        """Count a request: a stream that ends at once would be reopened endlessly."""
        self._count(self._requests, b"\n")

    async def after(self, response: httpx2.Response) -> None:
        """Limit the size of a response body before it is read."""
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise httpx2.RemoteProtocolError("an encoding that was not asked for")
        is_stream = response.headers.get("content-type", "").lower().startswith(EVENT_STREAM)
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _Bounded(response.stream, self.count, is_stream=is_stream)

    def count(self, piece: bytes) -> None:
        """Count a chunk of a response."""
        self._count(self._intake, piece)

    def _count(self, intake: IntakeLimit, piece: bytes) -> None:
        try:
            intake.take(piece)
        except FloodError as flood:
            self._on_gone(str(flood))
            raise


class _Bounded(httpx2.AsyncByteStream):
    """A body limited to the size of one message; an event stream is limited per event only."""

    def __init__(
        self, inner: httpx2.AsyncByteStream, count: Callable[[bytes], None], *, is_stream: bool
    ) -> None:
        self._inner = inner
        self._count = count
        self._is_stream = is_stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._inner:
            self._count(piece)
            size += len(piece)
            if size > MAX_MESSAGE_BYTES and not self._is_stream:
                raise httpx2.StreamError("the answer is too long")
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()


class PinnedTransport(httpx2.AsyncBaseTransport):
    """Resolves hosts itself and connects to the address that was checked (no DNS rebinding)."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, destinations: Destinations) -> None:
        self._inner = inner
        self._destinations = destinations

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            target = parse_url(str(request.url))
            addresses = await self._destinations.addresses(target)
        except ToolError as problem:
            raise httpx2.ConnectError(problem.detail, request=request) from None
        *others, last = addresses[:MAX_TRIED_ADDRESSES]
        for address in others:
            with suppress(httpx2.ConnectError, httpx2.ConnectTimeout):
                return await self._inner.handle_async_request(_at(address, target, request))
        return await self._inner.handle_async_request(_at(last, target, request))

    async def aclose(self) -> None:
        await self._inner.aclose()


def _at(address: Address, target: Target, request: httpx2.Request) -> httpx2.Request:
    """The request with the IP address in its URL; `Host` and SNI keep the host name."""
    headers = httpx2.Headers(request.headers)
    headers["Host"] = target.authority
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=str(address)),
        headers=headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": target.host},
    )
