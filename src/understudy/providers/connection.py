"""The HTTP clients for model calls."""

from collections.abc import Callable
from typing import Final, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx2

from understudy.core.urls import is_loopback
from understudy.providers.base import ProviderError

_CONNECT_S: Final = 10.0
_MAX_HEADER_BYTES: Final = 64 * 1024
# No read timeout: the caller bounds the whole call.
TIMEOUT: Final = httpx2.Timeout(None, connect=_CONNECT_S)
# No connection limit: the caller limits concurrency, and nothing must queue here.
_LIMITS: Final = httpx2.Limits(max_connections=None, max_keepalive_connections=32)
_Client = TypeVar("_Client", bound=httpx2.AsyncClient)


def session_opener(base_url: str) -> Callable[[], aiohttp.ClientSession]:
    """Opens a client for one server, with keep-alive connections, on the running event loop."""
    is_plain = urlsplit(base_url).scheme == "http"
    proxy = proxy_for(base_url)
    # The certificates that httpx2 trusts, so that every provider trusts the same; loading is slow.
    trusted = True if is_plain and not proxy else httpx2.create_ssl_context()

    def open_session() -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            # `connect` includes names, TLS and a proxy's answer, of which `sock_connect` has a part.
            timeout=aiohttp.ClientTimeout(total=None, connect=_CONNECT_S),
            connector=aiohttp.TCPConnector(limit=0, ssl=trusted),
            # A cookie that one run was given must not be sent with the calls of another.
            cookie_jar=aiohttp.DummyCookieJar(),
            # `trust_env` would also read passwords from a netrc file.
            proxy=proxy,
            max_line_size=_MAX_HEADER_BYTES,
            max_field_size=_MAX_HEADER_BYTES,
        )

    return open_session


def proxy_for(base_url: str) -> str | None:
    """The proxy that the environment names for a server; none for servers on this machine."""
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    # An exception may name the port, too.
    if is_loopback(host) or proxy_bypass(f"{host}:{parts.port}" if parts.port else host):
        return None
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy:
        return None
    # As curl and httpx2 read it.
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    kind = urlsplit(proxy).scheme
    if kind not in ("http", "https"):
        detail = f"the environment names a proxy of the kind {kind}; only http and https are known"
        raise ProviderError("route_not_ready", detail=detail, retryable=False)
    return proxy


def open_client(kind: type[_Client], base_url: str) -> _Client:
    """A client for one server, with keep-alive connections, for a library that is built on httpx2."""
    parts = urlsplit(base_url)
    return kind(
        timeout=TIMEOUT,
        limits=_LIMITS,
        # Plain HTTP verifies nothing, and loading the CA certificates is slow.
        verify=parts.scheme != "http",
        # A proxy from the environment cannot reach this machine.
        trust_env=not is_loopback(parts.hostname or ""),
    )
