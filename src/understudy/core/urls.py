"""Strict parsing of URLs from a model or a server: an ambiguous URL is refused.

The check and the connection use this one parser, so both see the same host.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final
from urllib.parse import quote

from understudy.core.allowlist import is_host_name

MAX_URL_CHARS: Final = 4096
DEFAULT_PORTS: Final = {"http": 80, "https": 443}

_URL: Final = re.compile(r"(https?)://([^/?#]*)([^#]*)(?:#.*)?", re.IGNORECASE)
_AUTHORITY: Final = re.compile(
    r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::([0-9]{1,5}))?", re.IGNORECASE
)
# Characters allowed in a path or query; all others are percent-encoded.
_KEPT: Final = "%/:?[]@!$&'()*+,;=~"


class UnclearUrl(ValueError):
    """An ambiguous URL: parsers would disagree on its host."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


@dataclass(frozen=True, slots=True)
class UrlRule:
    """One reason to refuse a URL or its authority."""

    code: str
    reason: str
    broken_by: Callable[[str], bool]


def _has_unprinted(text: str) -> bool:
    return any(char.isspace() or unicodedata.category(char)[0] in "CZ" for char in text)


# Rules for the whole text, in the order they are tried.
URL_RULES: Final = (
    UrlRule(
        "url_too_long",
        f"is longer than {MAX_URL_CHARS} characters",
        lambda text: len(text) > MAX_URL_CHARS,
    ),
    UrlRule("url_unprinted", "has a blank, control or invisible character", _has_unprinted),
    UrlRule("url_backslash", "has a backslash", lambda text: "\\" in text),
    UrlRule(
        "url_scheme",
        "does not begin with http:// or https://",
        lambda text: _URL.fullmatch(text) is None,
    ),
)

# Rules for the authority: the part between `//` and the next `/`.
AUTHORITY_RULES: Final = (
    UrlRule("url_userinfo", "has a user name or password in it", lambda text: "@" in text),
    UrlRule("url_host_encoded", "has a percent-encoded host", lambda text: "%" in text),
    UrlRule(
        "url_host_not_ascii",
        "has a host that is not ASCII; write it in its xn-- form",
        lambda text: not text.isascii(),
    ),
    UrlRule(
        "url_host", "has no valid host and port", lambda text: _AUTHORITY.fullmatch(text) is None
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A parsed URL: where a request goes, and its path and query."""

    scheme: str
    host: str
    port: int
    resource: str
    # The host as an address; None for a name.
    address: IPv4Address | IPv6Address | None

    @property
    def authority(self) -> str:
        """Host and port as the `Host` header has them."""
        host = f"[{self.host}]" if isinstance(self.address, IPv6Address) else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.resource}"


def read_url(text: str) -> Target:
    """Read a URL, or raise `UnclearUrl` with the rule it breaks."""
    _apply(URL_RULES, text)
    scheme, authority, rest = _split(_URL, text)
    _apply(AUTHORITY_RULES, authority)
    literal, name, port_text = _split(_AUTHORITY, authority)
    host, address = _host(literal, name)
    port = int(port_text) if port_text else DEFAULT_PORTS[scheme.lower()]
    if not 0 < port <= 65535:
        raise UnclearUrl("url_port", "has a port that is not between 1 and 65535")
    resource = quote(rest, safe=_KEPT)
    return Target(
        scheme=scheme.lower(),
        host=host,
        port=port,
        resource=resource if resource.startswith("/") else f"/{resource}",
        address=address,
    )


def _split(pattern: re.Pattern[str], text: str) -> tuple[str, str, str]:
    match = pattern.fullmatch(text)
    first, second, third = match.groups(default="") if match else ("", "", "")
    return first, second, third


def _host(literal: str, name: str) -> tuple[str, IPv4Address | IPv6Address | None]:
    if not literal:
        name = name.lower().removesuffix(".")
        if is_host_name(name):
            return name, None
    # Only the one plain spelling of an address is read; 0x7f.1, 017700000001 and 127.1 are not.
    try:
        address = ip_address(literal or name)
    except ValueError:
        raise UnclearUrl("url_host", "has no valid host and port") from None
    return str(address), address


def _apply(rules: tuple[UrlRule, ...], text: str) -> None:
    for rule in rules:
        if rule.broken_by(text):
            raise UnclearUrl(rule.code, rule.reason)


def is_loopback(host: str) -> bool:
    """Whether a host is `localhost` or a loopback address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
