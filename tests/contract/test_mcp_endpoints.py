"""Servers over HTTP: credentials in headers, bounded answers, and no way into private networks."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import Any

import pytest

from tests.support.mcp_servers import loader, polite_over_http
from understudy.mcp_client.connection import McpConnection
from understudy.mcp_client.errors import CallFailed, ServerDown
from understudy.mcp_client.model import HttpServer, McpServer, ServerState
from understudy.mcp_client.tool import result_text
from understudy.tools.addresses import Address

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
KEY = "key-" + "0123456789"
Answer = Callable[[dict[str, Any]], tuple[str, bytes]]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with polite_over_http(key=KEY) as found:
        yield found


def endpoint(url: str, key: str | None = None, *, public_only: bool = False) -> McpServer:
    headers = {} if key is None else {"X-Key": key}
    return McpServer(
        name="far",
        target=HttpServer(url=url, headers=headers, public_only=public_only),
        timeout_s=2.0,
    )


@asynccontextmanager
async def connected(server: McpServer, *allowed: str, **more: Any) -> AsyncIterator[McpConnection]:
    connection = McpConnection(server, loader(*allowed, **more))
    try:
        yield connection
    finally:
        await connection.shut()
        assert not connection.is_open


async def test_a_server_over_http_is_called_with_its_credential(url: str) -> None:
    async with connected(endpoint(url, KEY)) as connection:
        assert "echo" in {tool.name for tool in await connection.ready()}
        result = await connection.call("echo", {"text": "over the wire"})

    assert result_text(result) == "over the wire"
    assert connection.state is ServerState.STOPPED


async def test_a_wrong_credential_costs_the_server(url: str) -> None:
    async with connected(endpoint(url, "another")) as connection:
        with pytest.raises(ServerDown) as down:
            await connection.ready()

    assert connection.state is ServerState.FAILED
    assert "another" not in down.value.detail


async def test_nobody_at_the_address_costs_the_server() -> None:
    async with connected(endpoint("http://127.0.0.1:9/mcp")) as connection:
        with pytest.raises(ServerDown):
            await connection.ready()


async def test_a_slow_call_costs_the_call_and_the_server_stays(url: str) -> None:
    async with connected(endpoint(url, KEY)) as connection:
        with pytest.raises(CallFailed, match="no answer after 2 s"):
            await connection.call("wait", {"seconds": 60})

        assert result_text(await connection.call("echo", {"text": "x"})) == "x"


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "[::1]", "localhost", "[::ffff:127.0.0.1]", "inside.example"]
)
async def test_a_server_of_a_session_may_not_be_in_a_private_place(url: str, host: str) -> None:
    async def resolve(name: str, _: int) -> list[Address]:
        # One harmless address does not excuse the other.
        inner = "127.0.0.1" if name == "localhost" else "10.0.0.7"
        return [ip_address("93.184.215.14"), ip_address(inner)]

    server = endpoint(url.replace("127.0.0.1", host), KEY, public_only=True)
    async with connected(server, resolve=resolve) as connection:
        with pytest.raises(ServerDown, match="may not be reached"):
            await connection.ready()


async def test_a_private_place_that_the_operator_allowed_may_be_called(url: str) -> None:
    server = endpoint(url, KEY, public_only=True)
    async with connected(server, "127.0.0.1") as connection:
        assert result_text(await connection.call("echo", {"text": "let in"})) == "let in"


@asynccontextmanager
async def answering(answer: Answer, heads: list[bytes] | None = None) -> AsyncIterator[str]:
    """A server of one's own making: content type and body for each request."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            if heads is not None:
                heads.append(head)
            length = next(
                (int(line.split(b":")[1]) for line in head.split(b"\r\n") if b"ength:" in line), 0
            )
            request = json.loads(await reader.readexactly(length) or b"{}")
            kind, body = answer(request)
            writer.write(
                b"HTTP/1.1 200 OK\r\nConnection: close\r\n" + kind.encode() + b"\r\n\r\n" + body
            )
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    finally:
        server.close()


def greeting(request: dict[str, Any]) -> dict[str, Any]:
    match request.get("method"):
        case "initialize":
            return {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "serverInfo": {"name": "x", "version": "1"},
            }
        case _:
            return {"tools": [{"name": "act", "inputSchema": {"type": "object"}}]}


def plain(request: dict[str, Any], result: dict[str, Any]) -> tuple[str, bytes]:
    if request.get("method") == "server/discover":
        reply: dict[str, Any] = {"error": {"code": -32601, "message": "no"}}
    else:
        reply = {"result": result}
    body = json.dumps({"jsonrpc": "2.0", "id": request.get("id"), **reply}).encode()
    return "Content-Type: application/json", body


async def call_and_see(answer: Answer) -> str:
    async with answering(answer) as url, connected(endpoint(url)) as connection:
        await connection.ready()
        with pytest.raises((CallFailed, ServerDown)) as failed:
            await connection.call("act", {})
        return failed.value.detail


async def test_a_name_is_looked_up_by_us_and_called_where_it_was_found() -> None:
    heads: list[bytes] = []

    async def resolve(host: str, _: int) -> list[Address]:
        assert host == "tools.example"
        return [ip_address("127.0.0.1")]

    async with answering(lambda request: plain(request, greeting(request)), heads) as url:
        named = url.replace("127.0.0.1", "tools.example")
        server = endpoint(named, public_only=True)
        async with connected(server, "tools.example", resolve=resolve) as connection:
            await connection.ready()

    assert heads
    assert all(b"host: tools.example:" in head.lower() for head in heads)


async def test_an_endless_answer_is_not_read_to_its_end() -> None:
    def answer(request: dict[str, Any]) -> tuple[str, bytes]:
        if request.get("method") == "tools/call":
            return "Content-Type: application/json", b" " * (5 * 1024 * 1024)
        return plain(request, greeting(request))

    assert "too long" in await call_and_see(answer)


async def test_an_answer_that_hides_its_size_is_refused() -> None:
    def answer(request: dict[str, Any]) -> tuple[str, bytes]:
        if request.get("method") == "tools/call":
            return "Content-Type: application/json\r\nContent-Encoding: gzip", b"\x1f\x8b" * 99
        return plain(request, greeting(request))

    await call_and_see(answer)


async def test_an_event_without_end_is_not_read_to_its_end() -> None:
    def answer(request: dict[str, Any]) -> tuple[str, bytes]:
        if request.get("method") == "tools/call":
            return "Content-Type: text/event-stream", b"data: " + b"x" * (6 * 1024 * 1024)
        return plain(request, greeting(request))

    await call_and_see(answer)


async def test_a_redirect_elsewhere_is_not_followed() -> None:
    seen: list[str] = []

    async def elsewhere(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append("somebody came")
        writer.close()

    trap = await asyncio.start_server(elsewhere, "127.0.0.1", 0)
    port = trap.sockets[0].getsockname()[1]

    async def send_away(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        place = f"Location: http://127.0.0.1:{port}/mcp"
        writer.write(
            f"HTTP/1.1 307 X\r\nConnection: close\r\nContent-Length: 0\r\n{place}\r\n\r\n".encode()
        )
        writer.close()

    server = await asyncio.start_server(send_away, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    async with connected(endpoint(url, KEY)) as connection:
        with pytest.raises(ServerDown):
            await connection.ready()
    server.close()
    trap.close()

    assert seen == []
