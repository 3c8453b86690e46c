"""`understudy sessions mcp-servers`, and the calls of the client behind it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.commands import answer, invoke
from tests.api.live import Live
from understudy.client import Client
from understudy.client.errors import InvalidError, NotFoundError
from understudy.wire.mcp import SessionMcpServer

FAR = {"url": "https://93.184.215.14/mcp"}
OWN = ("sessions", "mcp-servers")


@pytest.fixture
def configured(live: Live) -> Live:
    """A daemon with the session s1, which has no servers of its own."""
    live.session("s1")
    live.ok("DELETE", "/v1/sessions/s1/mcp-servers")
    return live


@pytest.fixture
def client(configured: Live) -> Iterator[Client]:
    with Client(str(configured.client.base_url)) as client:
        yield client


def test_servers_of_a_session_are_set_shown_and_cleared(configured: Live, tmp_path: Path) -> None:
    assert "no servers of its own" in invoke(configured, *OWN, "show", "s1").stdout

    shown = invoke(configured, *OWN, "set", "s1", json.dumps({"docs": FAR})).stdout

    assert FAR["url"] in shown
    assert invoke(configured, *OWN, "show", "s1").stdout == shown
    file = tmp_path / "servers.json"
    file.write_text(json.dumps({"mcp_servers": {"other": FAR}}))
    assert list(answer(configured, *OWN, "set", "s1", f"@{file}")["mcp_servers"]) == ["other"]
    assert answer(configured, *OWN, "show", "s1") == configured.ok(
        "GET", "/v1/sessions/s1/mcp-servers"
    )
    assert "no servers of its own" in invoke(configured, *OWN, "clear", "s1").stdout


@pytest.mark.parametrize(
    "typed", ["", "[]", "{", "@/nonexistent/file", '{"a": {}}', '{"a": {"url": 3}}', '{"A": {}}']
)
def test_what_describes_no_servers_is_a_usage_error(configured: Live, typed: str) -> None:
    invoke(configured, *OWN, "set", "s1", typed, exit_code=2)
    assert configured.ok("GET", "/v1/sessions/s1/mcp-servers")["mcp_servers"] == {}


def test_a_session_that_is_not_there_is_said(configured: Live) -> None:
    invoke(configured, *OWN, "show", "nobody", exit_code=3)
    invoke(configured, *OWN, "clear", "nobody", exit_code=3)


def test_the_client_sets_shows_and_clears_the_servers_of_a_session(client: Client) -> None:
    servers = client.mcp_servers
    program = SessionMcpServer(command="a-program", args=["-x"], timeout_s=5)

    view = servers.set_for_session("s1", {"near": program, "far": SessionMcpServer(url=FAR["url"])})

    assert view.session_id == "s1"
    assert {name: each.transport for name, each in view.mcp_servers.items()} == {
        "near": "stdio",
        "far": "http",
    }
    assert view.mcp_servers["near"].args == ["-x"]
    assert servers.of_session("s1") == view
    assert list(servers.set_for_session("s1", {"far": program}).mcp_servers) == ["far"]
    assert servers.clear_for_session("s1").mcp_servers == {}
    assert servers.of_session("s1").mcp_servers == {}


def test_the_client_raises_what_the_daemon_refuses(client: Client) -> None:
    inside = SessionMcpServer(url="http://127.0.0.1:4600/mcp")

    with pytest.raises(InvalidError, match="mcp"):
        client.mcp_servers.set_for_session("s1", {"inside": inside})
    with pytest.raises(NotFoundError):
        client.mcp_servers.clear_for_session("nobody")
