"""Resolves a host to IP addresses and refuses those that agents may not reach."""

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Collection
from ipaddress import ip_address
from typing import Final
from urllib.parse import urljoin

from understudy.core.allowlist import parse_allowance
from understudy.core.urls import MAX_URL_CHARS, Target, UnclearUrl, read_url
from understudy.tools.addresses import METADATA, Address, blocked_by, explain
from understudy.tools.base import ToolError
from understudy.tools.paths import show

Resolve = Callable[[str, int], Awaitable[Collection[Address]]]

# Cloud metadata names, which resolve on the machine itself to any address.
METADATA_NAMES: Final = frozenset(
    {"metadata", "metadata.goog", "metadata.google.internal", "instance-data"}
)
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)


async def system_resolve(host: str, port: int) -> list[Address]:
    """Every address the system knows for a host."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [ip_address(sockaddr[0]) for *_, sockaddr in found]


class Destinations:
    """Checks destinations: public addresses, and those that the operator allowed."""

    def __init__(self, allowed: Collection[str], resolve: Resolve = system_resolve) -> None:
        self._allowed = tuple(parse_allowance(entry) for entry in sorted(allowed))
        self._resolve = resolve

    async def addresses(self, target: Target) -> tuple[Address, ...]:
        """The checked addresses of a target: connect to these, do not resolve the name again."""
        found = (target.address,) if target.address else await self._look_up(target)
        for address in found:
            # One blocked address among public ones is an attack, not an accident.
            reason = self._blocked_by(target, address)
            if reason is not None:
                raise ToolError(
                    f"{target.host} may not be reached: it is {explain(reason)}",
                    code="address_blocked",
                )
        return found

    def _blocked_by(self, target: Target, address: Address) -> str | None:
        if any(allowed.covers(target.host, address, target.port) for allowed in self._allowed):
            return None
        return METADATA if target.host in METADATA_NAMES else blocked_by(address)

    async def _look_up(self, target: Target) -> tuple[Address, ...]:
        try:
            found = tuple(dict.fromkeys(await self._resolve(target.host, target.port)))
        except (OSError, UnicodeError):
            found = ()
        if not found:
            raise ToolError(f"the host {target.host} is not known", code="host_unknown")
        return found


__all__ = ["MAX_URL_CHARS", "Target", "follow", "parse_url"]


def parse_url(text: str) -> Target:
    """Read a URL, or raise a `ToolError` that names the rule it breaks."""
    try:
        return read_url(text)
    except UnclearUrl as problem:
        raise ToolError(f"URL {show(text)} {problem}", code=problem.code) from None


def follow(base: Target, location: str) -> Target:
    """The target of a redirect; a reference without a host stays on the same server."""
    if _SCHEME.match(location):
        return parse_url(location)
    if location.startswith("//"):
        return parse_url(f"{base.scheme}:{location}")
    resource = location.partition("#")[0]
    if not resource.startswith("/"):
        # Without its slash a path would become part of the host name.
        resource = "/" + urljoin(base.resource, resource).lstrip("/")
    return parse_url(f"{base.scheme}://{base.authority}{resource}")
