"""`understudy mcp`: the MCP server on stdio, as a client starts it."""

import asyncio
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

from tests.api.live import Live, live_daemon
from tests.support.environment import without_settings
from tests.support.postgres_server import free_port

COMMAND = str(Path(sys.executable).with_name("understudy"))


def server(url: str, token: str) -> StdioServerParameters:
    environment = {**without_settings(os.environ), "UNDERSTUDY_TOKEN": token}
    return StdioServerParameters(command=COMMAND, args=["mcp", "--url", url], env=environment)


def text(result: Any) -> str:
    return str(result.content[0].text)


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    with live_daemon(tmp_path / "home") as daemon:
        yield daemon


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_reads_over_stdio_what_it_reads_over_http(live: Live, mode: str) -> None:
    body = {"content": "The staging port is 8443", "kind": "fact"}
    learning_id = live.ok("POST", "/v1/learnings", body)["learning_id"]
    made = live.ok("POST", "/v1/tokens", {"user_id": "ann", "role": "client"})

    async def reads() -> None:
        async with Client(server(str(live.client.base_url), made["token"]), mode=mode) as client:
            tools = await client.list_tools()
            templates = await client.list_resource_templates()
            found = await client.call_tool("memory_search", {"query": "staging port"})
            read = await client.read_resource(f"learning://{learning_id}")
            listed = await client.list_resources()
            wrong = await client.call_tool("memory_search", {"limit": 0})

        assert len(tools.tools) == 9
        assert len(templates.resource_templates) == 2
        assert found.structured_content["results"][0]["source_id"] == learning_id
        assert getattr(read.contents[0], "text", "") == body["content"]
        assert f"learning://{learning_id}" in {it.uri for it in listed.resources}
        assert "/limit must be at least 1" in text(wrong)

    asyncio.run(reads())


def test_a_daemon_that_is_away_is_told_and_the_server_goes_on() -> None:
    async def reads() -> None:
        async with Client(server(f"http://127.0.0.1:{free_port()}", "x"), mode="legacy") as client:
            for _ in range(2):
                assert "understudy serve" in text(await client.call_tool("skills_list", {}))

    asyncio.run(reads())


def test_a_token_that_is_refused_is_told(live: Live) -> None:
    live.ok("POST", "/v1/tokens", {"user_id": "ann", "role": "admin"})

    async def reads() -> None:
        async with Client(server(str(live.client.base_url), "und_x"), mode="legacy") as client:
            assert "refuses" in text(await client.call_tool("skills_list", {}))
            with pytest.raises(MCPError, match="refuses"):
                await client.list_tools()

    asyncio.run(reads())
