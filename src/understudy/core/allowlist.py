"""The network allowlist: private hosts, addresses and networks that agents may reach."""

import re
from dataclasses import dataclass
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Final

_LABEL: Final = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_PORT: Final = re.compile(r"(?P<host>\[[^\]]*\]|[^:\[\]]+):(?P<port>[0-9]{1,5})")
_ENDS_IN_NUMBER: Final = re.compile(r"(?:^|\.)(?:[0-9]+|0x[0-9a-f]*)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """One host or network that agents may connect to; on every port if `port` is None."""

    host: str | None = None
    network: IPv4Network | IPv6Network | None = None
    port: int | None = None

    def covers(self, host: str, address: IPv4Address | IPv6Address, port: int) -> bool:
        """Whether a connection to `address`, resolved from `host`, is allowed."""
        if self.port not in (None, port):
            return False
        return host == self.host if self.network is None else address in self.network


def parse_allowance(text: str) -> Allowance:
    """Read `host`, `host:port`, an address with or without port, or a network in CIDR form.

    Raises `ValueError` with what is wrong.
    """
    entry = text.strip().lower()
    if "/" in entry:
        return Allowance(network=_network(entry))
    split = _PORT.fullmatch(entry)
    host, port = (split["host"], _port(split["port"])) if split else (entry, None)
    literal = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    try:
        return Allowance(network=ip_network(ip_address(literal)), port=port)
    except ValueError:
        return Allowance(host=_host_name(host), port=port)


def is_host_name(text: str) -> bool:
    """Whether this is a lower-case ASCII host name, and not a spelling of an IP address."""
    return (
        len(text) <= 253
        and _HOST.fullmatch(text) is not None
        # Systems read `127.1`, `0x7f.1` and `2130706433` as addresses.
        and _ENDS_IN_NUMBER.search(text) is None
    )


def _network(text: str) -> IPv4Network | IPv6Network:
    if "://" in text:
        raise ValueError("is a URL; name only the host")
    try:
        return ip_network(text)
    except ValueError as problem:
        raise ValueError(f"is not a network: {problem}") from None


def _port(text: str) -> int:
    if not 0 < int(text) <= 65535:
        raise ValueError("has a port that is not between 1 and 65535")
    return int(text)


def _host_name(text: str) -> str:
    if not is_host_name(text):
        raise ValueError(
            "is neither a host, host:port, address nor network, like "
            "wiki.internal, localhost:8080, 10.0.0.5 or 10.0.0.0/8"
        )
    return text
