"""Protection of browsers: DNS rebinding and cross-site requests are refused."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from understudy.core.errors import coded_error
from understudy.core.urls import is_loopback

SAME_SITE: Final = frozenset({"same-origin", "none"})


def refuse_foreign_host(headers: Mapping[str, str]) -> None:
    """Refuse a `Host` that resolves to this machine but is not its own name (DNS rebinding)."""
    host = headers.get("host", "")
    if host and not is_loopback_name(_host_name(host)):
        raise coded_error("auth/host_not_allowed")


def refuse_other_sites(headers: Mapping[str, str]) -> None:
    """Refuse a request from a page of another site (CSRF)."""
    origin = headers.get("origin")
    site = headers.get("sec-fetch-site", "none")
    if site not in SAME_SITE or (
        origin is not None and _origin_host(origin) != headers.get("host", "")
    ):
        raise coded_error("auth/cross_site_request")


def _host_name(host: str) -> str:
    """The name in a `Host` header; empty when the header is malformed."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _origin_host(origin: str) -> str | None:
    """The host and port of an `Origin` header; None when the header is malformed."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


def is_loopback_name(name: str) -> bool:
    """Whether a host name can only mean the loopback interface."""
    return name.endswith(".localhost") or is_loopback(name)
