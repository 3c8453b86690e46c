"""Resources and prompts of a server, as helper tools that a session's scope shows or hides."""

import json
from typing import Any

import pytest

from tests.contract.test_mcp_programs import connected
from tests.support.factories import make_session
from tests.support.mcp_servers import make_context, polite, rude
from understudy.agent.gate import is_hidden
from understudy.mcp_client.connection import McpConnection
from understudy.mcp_client.helpers import HELPERS, MAX_LISTED
from understudy.mcp_client.tool import McpTool
from understudy.mcp_client.visibility import McpVisibility
from understudy.tools.base import Approval, Effect, ToolError

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.one_database]

SECRET = "tok-" + "a-secret-of-the-server"


async def told(connection: McpConnection, helper: str, **arguments: Any) -> str:
    listed = {each.name: each for each in await connection.ready()}[helper]
    tool = McpTool(connection, listed, secrets=(SECRET,))
    return await tool.call(tool.parameters.model_validate(arguments), make_context())


async def test_what_a_server_has_to_read_is_listed_and_read() -> None:
    async with connected(polite({"SHELF": "1", "TOKEN_OF_IT": SECRET})) as connection:
        tools = {tool.name: tool for tool in await connection.ready()}
        assert HELPERS.keys() <= tools.keys()
        assert tools["read_resource"].description.startswith("[MCP server polite] Read a resource")

        resources = json.loads(await told(connection, "list_resources"))
        [handbook] = resources["resources"]
        assert (handbook["uri"], handbook["name"]) == ("shelf://handbook", "handbook")
        assert [it["uri"] for it in resources["templates"]] == ["shelf://{page}/lines"]
        text = await told(connection, "read_resource", uri="shelf://handbook")
        assert text.startswith("[shelf://handbook]\nShip on Fridays.")
        # Hidden characters and the server's credentials do not reach the model.
        assert "\u202e" not in text
        assert SECRET not in text
        assert "lines of 7" in await told(connection, "read_resource", uri="shelf://7/lines")

        [greet] = json.loads(await told(connection, "list_prompts"))["prompts"]
        assert greet["arguments"] == [{"name": "who", "required": True}]
        said = await told(connection, "get_prompt", name="greet", arguments={"who": "Ann"})
        assert said == "[user]\nSay hello to Ann."


async def test_resources_are_listed_of_a_server_that_knows_no_templates() -> None:
    async with connected(rude("no-templates")) as connection:
        listed = json.loads(await told(connection, "list_resources"))
    assert [it["uri"] for it in listed["resources"]] == ["shelf://handbook"]
    assert listed["templates"] == []


async def test_what_is_not_there_is_an_error_for_the_model() -> None:
    async with connected(polite({"SHELF": "1"})) as connection:
        for name, arguments in (
            ("read_resource", {"uri": "shelf://none"}),
            ("get_prompt", {"name": "none"}),
        ):
            with pytest.raises(ToolError):
                await told(connection, name, **arguments)
        with pytest.raises(ValueError, match="uri: is required"):
            await told(connection, "read_resource")


async def test_a_list_that_is_cut_says_how_much_was_left_out() -> None:
    books = MAX_LISTED + 6
    async with connected(polite({"SHELF": "1", "MORE_BOOKS": str(books)})) as connection:
        listed = json.loads(await told(connection, "list_resources"))
    assert len(listed["resources"]) == MAX_LISTED
    assert listed["left_out"]["resources"] == books + 1 - MAX_LISTED


async def test_a_server_without_any_has_no_helpers_and_calls_no_hidden_ones() -> None:
    async with connected(polite()) as connection:
        assert not HELPERS.keys() & {tool.name for tool in await connection.ready()}


async def test_helpers_are_hidden_and_approved_like_the_tools_of_their_server() -> None:
    async with connected(polite({"SHELF": "1"})) as connection:
        listed = {each.name: each for each in await connection.ready()}["read_resource"]
        tool = McpTool(connection, listed)
    # What a server says about itself counts only where the config trusts it.
    assert (tool.approval, tool.effect) == (Approval.ALWAYS, Effect.ONCE)
    assert tool.name == "polite/read_resource"
    shown = make_session(capability_scope={"mcp_tool_allow": ["polite/read_resource"]})
    hidden = make_session(capability_scope={"mcp_tool_deny": ["read_resource"]})
    elsewhere = make_session(capability_scope={"mcp_server_allow": ["other"]})
    assert McpVisibility(shown).tool_hidden_by("polite", "read_resource") is None
    assert McpVisibility(shown).tool_hidden_by("polite", "get_prompt") == "capability_scope"
    assert [is_hidden(tool.name, it) for it in (shown, hidden, elsewhere)] == [False, True, True]
