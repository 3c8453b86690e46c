"""The HTTP client that model calls go through."""

from typing import Final, TypeVar
from urllib.parse import urlsplit

import httpx2

from understudy.core.urls import is_loopback

# Whole calls are bounded in time by the caller, so a single read is not.
TIMEOUT: Final = httpx2.Timeout(None, connect=10.0)
# How many calls run at once is decided above; here nothing must queue.
_LIMITS: Final = httpx2.Limits(max_connections=None, max_keepalive_connections=32)
_Client = TypeVar("_Client", bound=httpx2.AsyncClient)


def open_client(kind: type[_Client], base_url: str) -> _Client:
    """A client for one server that keeps its connections open."""
    parts = urlsplit(base_url)
    return kind(
        timeout=TIMEOUT,
        limits=_LIMITS,
        # Without TLS there is nothing to verify, and loading the authorities takes a while.
        verify=parts.scheme != "http",
        # A proxy from the environment never leads back to this machine.
        trust_env=not is_loopback(parts.hostname or ""),
    )
