"""What a proxy in front says of its client counts only where an operator named the proxy."""

from urllib.parse import urlsplit

import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from tests.support.rpc import served


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers the client and the scheme of a request."""
    request = Request(scope)
    client = request.client.host if request.client else ""
    await PlainTextResponse(f"{client} {request.url.scheme}")(scope, receive, send)


@pytest.mark.parametrize(
    ("trusted", "seen"),
    [
        ((), "127.0.0.1 http"),
        (("10.0.0.2/32",), "127.0.0.1 http"),
        (("127.0.0.1/32",), "192.0.2.7 https"),
    ],
    ids=["nobody", "another", "this one"],
)
def test_forwarded_headers_count_from_trusted_proxies_alone(
    trusted: tuple[str, ...], seen: str
) -> None:
    headers = {"X-Forwarded-For": "192.0.2.7", "X-Forwarded-Proto": "https"}
    with served(echo, trusted_proxies=trusted) as server:
        answer = httpx2.get(f"http://{urlsplit(server.url).netloc}/", headers=headers)

    assert answer.text == seen
