"""The tool that fetches a page from the public web only."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from functools import cached_property
from ipaddress import IPv6Address
from typing import Any, Final, Protocol

import httpx2
from pydantic import BaseModel, Field

from understudy.core.text import preview
from understudy.tools.addresses import Address
from understudy.tools.base import (
    Approval,
    Effect,
    Parameters,
    Tool,
    ToolContext,
    ToolError,
    in_thread,
)
from understudy.tools.destinations import (
    MAX_URL_CHARS,
    Destinations,
    Resolve,
    Target,
    follow,
    parse_url,
    system_resolve,
)
from understudy.tools.response_bodies import (
    ACCEPTED_CODINGS,
    MAX_BODY_BYTES,
    check_is_text,
    read_body,
    text_of,
)

MAX_SECONDS: Final = 30.0
MAX_REDIRECTS: Final = 5
MAX_TRIED_ADDRESSES: Final = 3
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_TIMEOUT: Final = httpx2.Timeout(MAX_SECONDS, connect=10.0)
_HEADERS: Final = {
    "User-Agent": "understudy",
    "Accept": "text/html, text/*, application/json, application/xml;q=0.9, */*;q=0.1",
    "Accept-Encoding": ACCEPTED_CODINGS,
    "Connection": "close",
}

# Opens a connection to a server; without a context there is no TLS.
Transport = Callable[[ssl.SSLContext | None], httpx2.AsyncBaseTransport]


class RedirectCheck(Protocol):
    """Decides whether a redirect is followed; raises a `ToolError` if not."""

    def __call__(
        self,
        tool: Tool,
        arguments: Mapping[str, Any],
        context: ToolContext,
        *,
        began_as: Mapping[str, Any] | None,
    ) -> Awaitable[None]:
        """`began_as` is the original call, if the redirect stays on its site."""
        ...


class FetchUrlParameters(Parameters):
    """The parameters of `fetch_url`."""

    url: str = Field(
        min_length=1, max_length=MAX_URL_CHARS, description="An http:// or https:// address."
    )


def open_transport(context: ssl.SSLContext | None) -> httpx2.AsyncBaseTransport:
    """A connection for one request: no proxy, no cookies, no reuse."""
    return httpx2.AsyncHTTPTransport(verify=context or False, trust_env=False)


async def everywhere(
    tool: Tool,
    arguments: Mapping[str, Any],
    context: ToolContext,
    *,
    began_as: Mapping[str, Any] | None,
) -> None:
    """Follow every redirect."""


class FetchUrl:
    """Fetches one URL and returns its text.

    A host is resolved once per hop, every address of it is checked, and the connection goes to a
    checked address: DNS rebinding changes nothing.
    """

    name = "fetch_url"
    description = (
        "Get a page or file from the web as text; HTML comes without its markup. Up to "
        f"{MAX_REDIRECTS} redirects are followed, where the rules allow it. Addresses of this machine and of private "
        "networks cannot be reached."
    )
    effect = Effect.READ
    approval = Approval.ALWAYS
    parameters: type[BaseModel] = FetchUrlParameters

    def __init__(
        self,
        allowed: Collection[str] = frozenset(),
        *,
        resolve: Resolve = system_resolve,
        transport: Transport = open_transport,
        may_go_on: RedirectCheck = everywhere,
    ) -> None:
        self._destinations = Destinations(allowed, resolve)
        self._transport = transport
        self._may_go_on = may_go_on

    @cached_property
    def _context(self) -> ssl.SSLContext:
        return httpx2.create_ssl_context()

    async def call(self, arguments: FetchUrlParameters, context: ToolContext) -> str:
        """The final URL, its status and media type, and the text."""
        try:
            async with asyncio.timeout(MAX_SECONDS):
                return await self._fetch(parse_url(arguments.url), context)
        except TimeoutError:
            raise ToolError(
                f"no whole answer within {MAX_SECONDS:.0f} s", code="timed_out"
            ) from None

    async def _fetch(self, target: Target, context: ToolContext) -> str:
        first = target
        for _ in range(MAX_REDIRECTS + 1):
            async with self._opened(target) as response:
                location = response.headers.get("location")
                if response.status_code not in _REDIRECTS or location is None:
                    return await _answer(target, response)
            target = follow(target, location)
            await self._may_go_on(
                self,
                {"url": str(target)},
                context,
                began_as={"url": str(first)} if _is_same_site(first, target) else None,
            )
        raise ToolError(f"more than {MAX_REDIRECTS} redirects", code="too_many_redirects")

    @asynccontextmanager
    async def _opened(self, target: Target) -> AsyncIterator[httpx2.Response]:
        addresses = await self._destinations.addresses(target)
        is_tls = target.scheme == "https"
        context = await in_thread(lambda: self._context) if is_tls else None
        async with self._transport(context) as transport:
            try:
                response = await _first_answer(transport, target, addresses)
                try:
                    yield response
                finally:
                    await response.aclose()
            except httpx2.TransportError as problem:
                reason = preview(str(problem)) or type(problem).__name__
                raise ToolError(f"{target.host}: {reason}", code="fetch_failed") from None


def _is_same_site(first: Target, target: Target) -> bool:
    """Whether a redirect stays on its host: the same scheme and port, or an upgrade to TLS."""
    way, goes_by = (first.scheme, first.port), (target.scheme, target.port)
    is_upgrade = (way, goes_by) == (("http", 80), ("https", 443))
    return first.host == target.host and (way == goes_by or is_upgrade)


async def _first_answer(
    transport: httpx2.AsyncBaseTransport, target: Target, addresses: tuple[Address, ...]
) -> httpx2.Response:
    *others, last = addresses[:MAX_TRIED_ADDRESSES]
    for address in others:
        try:
            return await transport.handle_async_request(_request(target, address))
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            continue
    return await transport.handle_async_request(_request(target, last))


def _request(target: Target, address: Address) -> httpx2.Request:
    """A request that connects to the address, with the host name in `Host` and SNI."""
    place = f"[{address}]" if isinstance(address, IPv6Address) else str(address)
    return httpx2.Request(
        "GET",
        f"{target.scheme}://{place}:{target.port}/",
        headers={"Host": target.authority, **_HEADERS},
        extensions={
            "sni_hostname": target.host,
            "target": target.resource.encode(),
            "timeout": _TIMEOUT.as_dict(),
        },
    )


async def _answer(target: Target, response: httpx2.Response) -> str:
    kind = response.headers.get("content-type", "")
    check_is_text(kind)
    assert isinstance(response.stream, httpx2.AsyncByteStream)  # noqa: S101 - an async transport
    body, is_cut = await read_body(response.stream, response.headers.get("content-encoding", ""))
    text = await in_thread(text_of, body, kind)
    lines = [
        f"URL: {target}",
        f"Status: {response.status_code}",
        f"Content-Type: {preview(kind, 100) if kind.isprintable() and kind else 'not said'}",
        "",
        text or "[no text]",
    ]
    if is_cut:
        lines.append(f"[cut: only the first {MAX_BODY_BYTES} bytes were read]")
    return "\n".join(lines)
