"""What sessions may see of servers and tools."""

from typing import Any

import pytest

from tests.support.factories import bound, make_persona, make_session
from understudy.mcp_client.model import HttpServer, McpServer
from understudy.mcp_client.visibility import McpVisibility

CAPABILITY, CREDENTIAL = "capability_scope", "credential_scope"


def server(name: str, *, credentialed: bool = False) -> McpServer:
    return McpServer(name=name, target=HttpServer(url="http://x"), is_credentialed=credentialed)


@pytest.mark.parametrize(
    ("capability", "credential", "name", "credentialed", "hidden_by"),
    [
        (None, None, "time", False, None),
        (None, None, "time", True, None),
        ({"mcp_server_allow": ["time"]}, None, "time", False, None),
        ({"mcp_server_allow": ["time"]}, None, "git", False, CAPABILITY),
        ({"mcp_server_deny": ["git"]}, None, "git", False, CAPABILITY),
        ({"mcp_server_deny": ["git"]}, None, "time", False, None),
        ({"mcp_server_deny": ["*"]}, None, "time", False, CAPABILITY),
        (
            {"mcp_server_allow": ["time"], "mcp_server_deny": ["time"]},
            None,
            "time",
            False,
            CAPABILITY,
        ),
        (None, {"mcp_server_deny": ["time"]}, "time", True, CREDENTIAL),
        # What needs no credential is no matter of the credential scope.
        (None, {"mcp_server_deny": ["time"]}, "time", False, None),
        (None, {"mcp_server_allow": ["time"]}, "time", True, None),
        (None, {"mcp_server_allow": ["git"]}, "time", True, CREDENTIAL),
        ({"mcp_server_deny": ["time"]}, {"mcp_server_deny": ["time"]}, "time", True, CAPABILITY),
    ],
)
def test_a_scope_hides_a_server(
    capability: Any, credential: Any, name: str, credentialed: bool, hidden_by: str | None
) -> None:
    session = make_session(capability_scope=capability, credential_scope=credential)

    assert (
        McpVisibility(session).server_hidden_by(server(name, credentialed=credentialed))
        == hidden_by
    )


@pytest.mark.parametrize(
    ("scope", "visible"),
    [
        ({}, ["time/now", "time/zone", "git/now"]),
        ({"mcp_tool_allow": ["time/now"]}, ["time/now"]),
        ({"mcp_tool_allow": ["now"]}, ["time/now", "git/now"]),
        ({"mcp_tool_deny": ["now"]}, ["time/zone"]),
        ({"mcp_tool_deny": ["git/now"]}, ["time/now", "time/zone"]),
        ({"mcp_tool_allow": ["now"], "mcp_tool_deny": ["git/now"]}, ["time/now"]),
        ({"mcp_tool_allow": ["time/now"], "mcp_tool_deny": ["now"]}, []),
        ({"mcp_tool_deny": ["*"]}, []),
        ({"mcp_tool_allow": ["*"]}, ["time/now", "time/zone", "git/now"]),
    ],
)
def test_a_scope_hides_tools(scope: dict[str, list[str]], visible: list[str]) -> None:
    visibility = McpVisibility(make_session(capability_scope=scope))
    tools = [("time", "now"), ("time", "zone"), ("git", "now")]

    seen = [
        f"{server}/{tool}" for server, tool in tools if not visibility.tool_hidden_by(server, tool)
    ]

    assert seen == visible


def test_a_persona_and_its_session_narrow_each_other() -> None:
    persona = make_persona(capability_scope={"mcp_server_allow": ["time"]})
    session = make_session(**bound(persona), capability_scope={"mcp_server_allow": ["git"]})

    visibility = McpVisibility(session)

    assert visibility.server_hidden_by(server("time")) == CAPABILITY
    assert visibility.server_hidden_by(server("git")) == CAPABILITY


def test_a_session_below_another_is_bound_by_its_credential_scope_alone() -> None:
    child = make_session(parent_session_id="above")
    given = make_session(parent_session_id="above", credential_scope={"mcp_server_deny": ["git"]})

    assert McpVisibility(child).server_hidden_by(server("git", credentialed=True)) is None
    assert McpVisibility(given).server_hidden_by(server("git")) is None
    assert McpVisibility(given).server_hidden_by(server("git", credentialed=True)) == CREDENTIAL
