"""One POST to a target: resolved, checked, and sent to the checked IP address."""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from ipaddress import ip_address
from typing import Final

import httpx2

from understudy.deliveries.model import TargetAnswer
from understudy.runs.submission import refused_because
from understudy.tools.addresses import Address

TIMEOUT_S: Final = 10.0
PORTS: Final = {"http": 80, "https": 443}
MAX_PORT: Final = 65_535
MAX_RETRY_AFTER_CHARS: Final = 64

Resolve = Callable[[str, int], Awaitable[Sequence[Address]]]


class RefusedTarget(Exception):
    """A target that must never be sent anything; the message says why."""


async def resolve(host: str, port: int) -> Sequence[Address]:
    """The IP addresses of a host name, in the system's order."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    # Strip the IPv6 zone id after `%`.
    names = dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in found)
    return [ip_address(name) for name in names]


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSender:
    """Posts to webhooks; every failure becomes an answer."""

    resolve: Resolve = resolve
    timeout_s: float = TIMEOUT_S

    async def post(
        self, address: str, headers: Mapping[str, str], body: bytes, *, method: str = "POST"
    ) -> TargetAnswer:
        """Send a body and return status or error; the response body is dropped."""
        try:
            async with asyncio.timeout(self.timeout_s):
                return await self._post(httpx2.URL(address), headers, body, method)
        except RefusedTarget as refused:
            return TargetAnswer(error=str(refused), is_final=True)
        except (httpx2.InvalidURL, UnicodeError):
            return TargetAnswer(error="the address is not a URL", is_final=True)
        except TimeoutError:
            return TargetAnswer(error=f"no answer within {self.timeout_s:g} s")
        except socket.gaierror:
            return TargetAnswer(error="the host cannot be found")
        except (httpx2.TransportError, OSError) as problem:
            # Only the exception's type: the library's message may contain the URL.
            return TargetAnswer(error=f"the target cannot be reached ({type(problem).__name__})")

    async def _post(
        self, url: httpx2.URL, headers: Mapping[str, str], body: bytes, method: str
    ) -> TargetAnswer:
        addresses = await self._checked(url)
        for address in addresses[:-1]:
            try:
                return await _send(url, address, headers, body, method)
            except httpx2.ConnectError:
                continue
        return await _send(url, addresses[-1], headers, body, method)

    async def _checked(self, url: httpx2.URL) -> Sequence[Address]:
        port = url.port or PORTS.get(url.scheme, 0)
        if url.scheme not in PORTS or not url.host or url.userinfo or port > MAX_PORT:
            raise RefusedTarget("the address is not an http(s) URL with a host and no user")
        host = url.raw_host.decode("ascii").strip("[]")
        addresses = await self.resolve(host, port)
        if not addresses:
            raise socket.gaierror
        # One forbidden address is enough: a name must not mix allowed and forbidden addresses.
        for address in addresses:
            reason = refused_because(address)
            if reason is not None:
                raise RefusedTarget(f"the host leads to {reason}")
        return addresses


async def _send(
    url: httpx2.URL, address: Address, headers: Mapping[str, str], body: bytes, method: str
) -> TargetAnswer:
    pinned = url.copy_with(host=str(address), fragment=None)
    sent = {**headers, "Host": url.netloc.decode("ascii")}
    name = url.raw_host.decode("ascii").strip("[]")
    # TLS verifies the certificate against the host name, although the URL has the IP address.
    extensions = {"sni_hostname": name} if name != str(address) else {}
    async with (
        # One client per request: a pooled connection for one name must not serve another.
        httpx2.AsyncClient(
            verify=await _trust(url.scheme),
            trust_env=False,
            follow_redirects=False,
            # The caller's timeout covers the whole request.
            timeout=None,
        ) as client,
        client.stream(method, pinned, content=body, headers=sent, extensions=extensions) as answer,
    ):
        retry_after = answer.headers.get("Retry-After", "")
        return TargetAnswer(
            status_code=answer.status_code, retry_after_s=retry_after_s(retry_after)
        )


def retry_after_s(value: str, *, now: datetime | None = None) -> float:
    """Seconds of a `Retry-After` header, given as a number or a date; 0 for anything else."""
    text = value.strip()[:MAX_RETRY_AFTER_CHARS]
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return 0.0
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())


async def _trust(scheme: str) -> ssl.SSLContext | bool:
    # Loading the CA certificates is slow, and only TLS needs them.
    return await asyncio.to_thread(_authorities) if scheme == "https" else False


@cache
def _authorities() -> ssl.SSLContext:
    return httpx2.create_ssl_context()
