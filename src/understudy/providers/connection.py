"""The HTTP client for model calls."""

from typing import Final, TypeVar
from urllib.parse import urlsplit

import httpx2

from understudy.core.urls import is_loopback

# No read timeout: the caller bounds the whole call.
TIMEOUT: Final = httpx2.Timeout(None, connect=10.0)
# No connection limit: the caller limits concurrency, and nothing must queue here.
_LIMITS: Final = httpx2.Limits(max_connections=None, max_keepalive_connections=32)
_Client = TypeVar("_Client", bound=httpx2.AsyncClient)


def open_client(kind: type[_Client], base_url: str) -> _Client:
    """A client for one server, with keep-alive connections."""
    parts = urlsplit(base_url)
    return kind(
        timeout=TIMEOUT,
        limits=_LIMITS,
        # Plain HTTP verifies nothing, and loading the CA certificates is slow.
        verify=parts.scheme != "http",
        # A proxy from the environment cannot reach this machine.
        trust_env=not is_loopback(parts.hostname or ""),
    )
