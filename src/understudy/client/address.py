"""Where the daemon is: a URL that is checked, and how it is reached."""

import re
from typing import Any, Final

from understudy.client.errors import InvalidCall

CONNECT_TIMEOUT_S: Final = 5.0
# An inline submit answers when its run has ended, which may take minutes.
ANSWER_TIMEOUT_S: Final = 600.0
LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
# The usual ways to write the address of a daemon of this machine: no proxy and no certificate.
LOOPBACK_URL: Final = re.compile(
    r"http://(?P<host>127\.0\.0\.1|localhost|\[::1\]):(?P<port>[1-9]\d{0,4})(?P<path>(?:/[\w-]+)*)/*",
    re.ASCII,
)
MAX_PORT: Final = 65535
# What any HTTP library sends in a header as it is.
HEADER_VALUE: Final = re.compile(r"[!-~]([ -~]*[!-~])?", re.ASCII)


def on_loopback(url: str) -> re.Match[str] | None:
    """Host, port and path of a daemon of this machine; None for other addresses."""
    found = LOOPBACK_URL.fullmatch(url)
    return found if found and int(found["port"]) <= MAX_PORT else None


def checked_url(url: str) -> str:
    """The address of a daemon without a slash at its end."""
    if not on_loopback(url):
        import httpx2

        try:
            parsed = httpx2.URL(url)
        except httpx2.InvalidURL:
            parsed = httpx2.URL("")
        is_port = (parsed.port or 0) <= MAX_PORT
        if parsed.scheme not in ("http", "https") or not parsed.host or not is_port:
            raise InvalidCall(f"the daemon's URL must look like http://127.0.0.1:4600; got {url!r}")
    return url.rstrip("/")


def http_options(url: str, token: str | None) -> dict[str, Any]:
    """What `httpx2.Client` and `httpx2.AsyncClient` are made with."""
    import httpx2

    parsed = httpx2.URL(url)
    # The proxy of the environment is for other machines.
    is_elsewhere = parsed.host not in LOOPBACK
    return {
        "base_url": url,
        "headers": authorization(token),
        "timeout": httpx2.Timeout(ANSWER_TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
        "trust_env": is_elsewhere,
        # Without TLS there is no certificate to verify, and loading the authorities takes a while.
        "verify": is_elsewhere or parsed.scheme != "http",
    }


def authorization(token: str | None) -> dict[str, str]:
    """The header that says who calls; a token that no header can hold is refused unprinted."""
    if token and not HEADER_VALUE.fullmatch(token):
        raise InvalidCall(
            "the token has characters that no token has, such as a line break or an accent;"
            " give it as `understudy tokens create` printed it"
        )
    return {"Authorization": f"Bearer {token}"} if token else {}
