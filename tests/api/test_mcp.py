"""MCP servers over the API."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.api.live import settings_at
from tests.support.mcp_servers import RUDE
from understudy.api.app import create_app
from understudy.core.principal import Role
from understudy.daemon.wiring import Daemon

ADMIN = "admin-" + "secret"
CONFIG = f"""
[mcp.servers.near]
command = {sys.executable!r}
args = [{str(RUDE)!r}, "plain"]
approval = "never"

[mcp.servers.broken]
command = {sys.executable!r}
args = [{str(RUDE)!r}, "broken"]

[mcp.servers.off]
command = "nothing"
enabled = false
"""
OWN = "/v1/sessions/s1/mcp-servers"
FAR = {"url": "https://93.184.215.14/mcp"}


@pytest.fixture
def api(tmp_path: Path, fresh_database: Path) -> Iterator[TestClient]:
    settings = settings_at(tmp_path / "home", config=CONFIG, UNDERSTUDY_ADMIN_TOKEN=ADMIN)
    shutil.copy(fresh_database, settings.home / "understudy.db")
    daemon = Daemon(settings)
    daemon.resources.state = "ready"
    with TestClient(
        create_app(daemon.services),
        base_url="http://127.0.0.1:4600",
        headers={"Authorization": f"Bearer {ADMIN}"},
    ) as client:
        assert client.post("/v1/sessions", json={"session_id": "s1"}).status_code == 201
        yield client
        assert client.portal is not None
        client.portal.call(daemon.services.mcp.close)
    daemon.resources.database.dispose()


def as_role(api: TestClient, role: Role) -> dict[str, str]:
    body = {"user_id": f"a-{role}", "role": str(role)}
    token = api.post("/v1/tokens", json=body).json()["token"]
    return {"Authorization": f"Bearer {token}"}


def health(api: TestClient) -> set[str]:
    return {each["code"] for each in api.get("/v1/status").json()["health"]["warnings"]}


def servers(api: TestClient) -> dict[str, dict[str, Any]]:
    return {item["name"]: item for item in api.get("/v1/mcp-servers").json()["items"]}


def test_servers_are_listed_and_start_only_when_asked(api: TestClient) -> None:
    stopped = {"transport": "stdio", "state": "stopped", "tools": 0}

    assert servers(api) == {
        "near": {"name": "near", **stopped},
        "broken": {"name": "broken", **stopped},
    }


def test_a_restart_starts_a_server_and_its_tools_are_listed(api: TestClient) -> None:
    answer = api.post("/v1/mcp-servers/near/restart")

    up = {"name": "near", "transport": "stdio", "state": "ready", "tools": 1, "unaccepted": 1}
    assert answer.json() == up
    tools = {item["name"]: item for item in api.get("/v1/tools").json()["items"]}
    assert tools["near/act"]["description"] == "[MCP server near] x"
    assert (tools["near/act"]["effect"], tools["near/act"]["approval"]) == ("once", "never")
    entries = api.get("/v1/audit", params={"resource": "mcp_servers"}).json()["items"]
    assert [(entry["action"], entry["resource_id"]) for entry in entries] == [
        ("mcp_servers.restart", "near")
    ]


def test_an_admin_accepts_what_the_tools_of_a_server_say(api: TestClient) -> None:
    accept = "/v1/mcp-servers/near/accept"
    # Starts the server, as nobody can accept what is not there.
    refused = api.post(accept, json={"digests": ["0" * 64]})
    assert (refused.status_code, refused.json()["code"]) == (409, "mcp_tool_changed")
    assert servers(api)["near"]["unaccepted"] == 1
    assert "mcp_tools_not_accepted" in health(api)
    (listed,) = [it for it in api.get("/v1/tools").json()["items"] if it["name"] == "near/act"]
    assert listed["accepted"] is False
    operator = as_role(api, Role.OPERATOR)
    assert api.post(accept, headers=operator).status_code == 403

    done = api.post(accept, json={"digests": [listed["digest"]]}).json()["tools"]
    assert [(it["name"], it["digest"]) for it in done] == [("near/act", listed["digest"])]
    assert "unaccepted" not in servers(api)["near"]
    assert "mcp_tools_not_accepted" not in health(api)
    for path in ("/v1/tools", "/v1/sessions/s1/tools", "/v1/agents/default/tools"):
        (listed,) = [it for it in api.get(path).json()["items"] if it["name"] == "near/act"]
        assert listed["accepted"] is True
    # Once more changes nothing.
    assert api.post(accept).json()["tools"] == done
    entries = api.get("/v1/audit", params={"resource": "mcp_servers"}).json()["items"]
    assert [(it["action"], it["resource_id"]) for it in entries if it["outcome"] == "done"] == [
        ("mcp_servers.accept", "near/act")
    ]


def test_the_tools_of_a_session_of_its_own_are_accepted_by_session(api: TestClient) -> None:
    own = {"own": {"command": sys.executable, "args": [str(RUDE), "plain"]}}
    api.put(OWN, json={"mcp_servers": own}).raise_for_status()
    assert api.post("/v1/mcp-servers/own/accept").status_code == 404
    body = {"session_id": "s1"}
    assert api.post("/v1/mcp-servers/own/accept", json=body).json()["tools"][0]["name"] == "own/act"
    shown = api.get(OWN).json()["mcp_servers"]["own"]
    assert (shown["tools"], "unaccepted" in shown) == (1, False)


def test_a_server_that_is_down_has_nothing_to_accept(api: TestClient) -> None:
    answer = api.post("/v1/mcp-servers/broken/accept")
    assert (answer.status_code, answer.json()["code"]) == (503, "mcp_server_not_ready")
    assert api.post("/v1/mcp-servers/nowhere/accept").status_code == 404


def test_a_server_that_fails_says_why_there_and_in_the_status(api: TestClient) -> None:
    answer = api.post("/v1/mcp-servers/broken/restart")

    assert answer.status_code == 200
    assert answer.json()["state"] == "failed"
    assert answer.json()["reason"] == "it ended with code 1: Traceback: no such module"
    assert answer.json()["next_try_at_ms"] > 0
    (warning,) = [
        each
        for each in api.get("/v1/status").json()["health"]["warnings"]
        if each["code"] == "mcp_server_failed"
    ]
    assert (warning["severity"], warning["related_id"]) == ("warning", "broken")
    assert "understudy mcp restart broken" in warning["action"]


def test_a_tool_of_a_server_can_be_switched_off(api: TestClient) -> None:
    api.post("/v1/mcp-servers/near/restart")
    answer = api.put("/v1/tools/near%2Fact", json={"enabled": False})

    assert (answer.status_code, answer.json()["enabled"]) == (200, False)


@pytest.mark.parametrize("name", ["nowhere", "off"])
def test_an_unknown_server_is_not_found(api: TestClient, name: str) -> None:
    answer = api.post(f"/v1/mcp-servers/{name}/restart")

    assert (answer.status_code, answer.json()["code"]) == (404, "mcp_server_not_found")


def test_who_may_do_what(api: TestClient) -> None:
    viewer, operator = as_role(api, Role.VIEWER), as_role(api, Role.OPERATOR)
    far, near = {"mcp_servers": {"far": FAR}}, {"mcp_servers": {"x": {"command": "x"}}}

    assert api.get("/v1/mcp-servers", headers=viewer).status_code == 200
    assert api.get(OWN, headers=viewer).status_code == 200
    assert api.put(OWN, json=far, headers=viewer).status_code == 403
    assert api.put(OWN, json=far, headers=operator).status_code == 200
    assert api.put(OWN, json=near, headers=operator).status_code == 403
    assert api.put(OWN, json=near).status_code == 200
    assert api.delete(OWN, headers=operator).status_code == 200
    assert api.post("/v1/mcp-servers/near/restart", headers=operator).status_code == 403


def test_the_servers_of_a_session_are_shown_as_they_were_set(api: TestClient) -> None:
    near = {"command": sys.executable, "args": [str(RUDE), "plain"], "env": {"A": "1"}}
    body = {"mcp_servers": {"own": {**near, "timeout_s": 5}, "far": FAR}}
    answer = api.put(OWN, json=body)

    rest = {"enabled": True, "approval": "always", "trust_annotations": False}
    rest |= {"state": "stopped", "tools": 0}
    assert (
        answer.json()
        == api.get(OWN).json()
        == {
            "session_id": "s1",
            "mcp_servers": {
                "far": {**FAR, "timeout_s": 60.0, "transport": "http", **rest},
                "own": {**near, "timeout_s": 5.0, "transport": "stdio", **rest},
            },
        }
    )
    assert api.delete(OWN).json() == {"session_id": "s1", "mcp_servers": {}}


@pytest.mark.parametrize(
    ("server", "pointer"),
    [
        ({}, "/mcp_servers/a"),
        ({"command": "a", "url": "http://x"}, "/mcp_servers/a"),
        ({"command": "a", "env_from": ["OPENAI_API_KEY"]}, "/mcp_servers/a/env_from"),
        ({**FAR, "headers_from": {"A": "OPENAI_API_KEY"}}, "/mcp_servers/a/headers_from"),
        ({**FAR, "timeout_s": 0}, "/mcp_servers/a/timeout_s"),
        ({**FAR, "timeout_s": "1"}, "/mcp_servers/a/timeout_s"),
        ({**FAR, "headers": {"a": "b\nc"}}, "/mcp_servers/a/headers/a"),
        ({"command": 3}, "/mcp_servers/a/command"),
        ({"command": "a", "args": ["x"] * 101}, "/mcp_servers/a/args"),
        ({"url": "gopher://x"}, "/mcp_servers/a/url"),
        ({"url": "http://127.0.0.1:4600/mcp"}, "/mcp_servers/a/url"),
        ({"command": "a", "env": {"MY_TOKEN": "x"}}, "/mcp_servers/a/env/MY_TOKEN"),
    ],
)
def test_what_is_wrong_is_pointed_at(api: TestClient, server: dict[str, Any], pointer: str) -> None:
    answer = api.put(OWN, json={"mcp_servers": {"a": server}})

    assert answer.status_code == 400
    assert pointer in {error["pointer"] for error in answer.json()["errors"]}
    assert api.get(OWN).json()["mcp_servers"] == {}


@pytest.mark.parametrize("name", ["", "A", "a_b", "a/b", "x" * 41])
def test_an_odd_name_is_refused(api: TestClient, name: str) -> None:
    assert api.put(OWN, json={"mcp_servers": {name: FAR}}).status_code == 400


def test_too_many_servers_are_refused(api: TestClient) -> None:
    body = {"mcp_servers": {f"s{number}": FAR for number in range(17)}}

    assert api.put(OWN, json=body).status_code == 400


def test_a_name_of_the_config_is_taken(api: TestClient) -> None:
    answer = api.put(OWN, json={"mcp_servers": {"near": FAR}})

    assert (answer.status_code, answer.json()["code"]) == (409, "mcp_server_name_taken")


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_an_unknown_session_has_no_servers(api: TestClient, method: str) -> None:
    body: dict[str, Any] | None = {"mcp_servers": {}} if method == "PUT" else None
    answer = api.request(method, "/v1/sessions/nowhere/mcp-servers", json=body)

    assert (answer.status_code, answer.json()["code"]) == (404, "session_not_found")
