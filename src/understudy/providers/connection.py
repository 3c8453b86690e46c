"""The HTTP clients for model calls."""

from typing import Final, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx2

from understudy.core.urls import is_loopback

_CONNECT_S: Final = 10.0
# No read timeout: the caller bounds the whole call.
TIMEOUT: Final = httpx2.Timeout(None, connect=_CONNECT_S)
# No connection limit: the caller limits concurrency, and nothing must queue here.
_LIMITS: Final = httpx2.Limits(max_connections=None, max_keepalive_connections=32)
_Client = TypeVar("_Client", bound=httpx2.AsyncClient)


def open_session(base_url: str) -> aiohttp.ClientSession:
    """A client for one server, with keep-alive connections; bound to the running event loop."""
    return aiohttp.ClientSession(
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S),
        connector=aiohttp.TCPConnector(limit=0),
        # A cookie that one run was given must not be sent with the calls of another.
        cookie_jar=aiohttp.DummyCookieJar(),
        # `trust_env` would also read passwords from a netrc file.
        proxy=proxy_for(base_url),
    )


def proxy_for(base_url: str) -> str | None:
    """The proxy that the environment names for a server; none for servers on this machine."""
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    if is_loopback(host) or proxy_bypass(host):
        return None
    proxies = getproxies()
    return proxies.get(parts.scheme) or proxies.get("all")


def open_client(kind: type[_Client], base_url: str) -> _Client:
    """The same for a library that is built on httpx2."""
    parts = urlsplit(base_url)
    return kind(
        timeout=TIMEOUT,
        limits=_LIMITS,
        # Plain HTTP verifies nothing, and loading the CA certificates is slow.
        verify=parts.scheme != "http",
        # A proxy from the environment cannot reach this machine.
        trust_env=not is_loopback(parts.hostname or ""),
    )
