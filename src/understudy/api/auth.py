"""Who is calling, and whether a browser was tricked into calling for them."""

import ipaddress
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request

from understudy.api.operations import SAFE_METHODS
from understudy.api.parts import AppParts
from understudy.core.errors import Rejected, Unauthenticated
from understudy.core.principal import Principal

ACT_FOR: Final = "X-Understudy-User-Id"
SAME_SITE: Final = frozenset({"same-origin", "none"})


def identify(request: Request, parts: AppParts) -> Principal:
    """The caller, by token; without one only the machine's own user, never a web page."""
    token = bearer_token(request.headers.get("authorization"))
    if token is None and parts.settings.is_loopback:
        refuse_web_pages(request)
    return parts.tokens.authenticate(token, act_for=request.headers.get(ACT_FOR))


def bearer_token(header: str | None) -> str | None:
    """The token of an `Authorization` header; anything but a bearer token is refused."""
    if header is None:
        return None
    scheme, _, token = header.strip().partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthenticated(
            "unauthorized", domain="auth", detail="Authorization must be: Bearer <token>"
        )
    return token.strip()


def refuse_web_pages(request: Request) -> None:
    """Refuse what a page of another site could make a browser send.

    A name that resolves to this machine but is not its own (DNS rebinding) shows in `Host`; a
    request from another page shows in `Sec-Fetch-Site` or `Origin`.
    """
    host = request.headers.get("host", "")
    if host and not is_loopback_name(_host_name(host)):
        raise Rejected(
            "host_not_allowed", domain="auth", detail="use a token to call by this host name"
        )
    if request.method in SAFE_METHODS:
        return
    origin = request.headers.get("origin")
    site = request.headers.get("sec-fetch-site", "none")
    if site not in SAME_SITE or (origin is not None and _origin_host(origin) != host):
        raise Rejected(
            "cross_site_request", domain="auth", detail="a page of another site may not call this"
        )


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
    """Whether a host name can only mean this machine."""
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
