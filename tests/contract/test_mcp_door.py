"""The MCP server: what other agents read, propose and start, with the official client."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import TextContent, TextResourceContents

from tests.support.api_in_process import Caller, serving
from tests.support.injection_texts import OWN_CASES
from tests.support.run_harness import make_settings
from understudy.core.principal import Role
from understudy.settings import Settings
from understudy.testing.fake_model import FakeModel

URL = "http://127.0.0.1:4600"
NEWEST = "2026-07-28"


@pytest.fixture
def settings(tmp_path: Path, fake: FakeModel, prepared_url: str) -> Settings:
    return make_settings(tmp_path, fake.url, "a", database_url=prepared_url)


@asynccontextmanager
async def web(call: Caller, token: str | None = None) -> AsyncIterator[httpx2.AsyncClient]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=call.app), base_url=URL, headers=headers
    ) as client:
        yield client


@asynccontextmanager
async def connected(
    call: Caller, token: str | None = None, mode: str = NEWEST
) -> AsyncIterator[Client]:
    async with (
        web(call, token) as client,
        Client(streamable_http_client(f"{URL}/mcp", http_client=client), mode=mode) as connection,
    ):
        yield connection


async def token_of(call: Caller, user_id: str, role: Role) -> str:
    made = await call("tokens.create", body={"user_id": user_id, "role": str(role)})
    token: str = made["token"]
    return token


async def use(client: Client, name: str, /, **arguments: Any) -> Any:
    """The answer of a tool that succeeds."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def mistake(client: Client, name: str, /, **arguments: Any) -> str:
    """What is wrong with a call."""
    result = await client.call_tool(name, arguments)
    assert result.is_error
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


async def read(client: Client, uri: str) -> str:
    """The text of a resource."""
    [content] = (await client.read_resource(uri)).contents
    assert content.uri == uri
    assert isinstance(content, TextResourceContents)
    return content.text


async def set_policy(call: Caller, **rule: str) -> None:
    """As much as an operator can allow, but for the client that is named."""
    rules = [
        {"name": kind, "kind": kind, "action": "publish_active", **rule}
        for kind in ("fact", "preference")
    ]
    publication = {
        "rules": rules,
        "allow_api_origin_active_publication": True,
        "allow_untrusted_active_publication": True,
    }
    capture = {"semantic_candidates": {"enabled": True}}
    policy = {"mode": "enabled", "publication": publication, "capture": capture}
    await call("learning_policy.set", body=policy)


async def learnings_of(client: Client) -> list[Any]:
    resources = (await client.list_resources()).resources
    return [it for it in resources if it.uri.startswith("learning://")]


async def learned(call: Caller, content: str, **more: Any) -> str:
    body = {"content": content, "kind": "fact", **more}
    learning_id: str = (await call("learnings.create", body=body))["learning_id"]
    return learning_id


@pytest.mark.one_database
@pytest.mark.parametrize("mode", [NEWEST, "legacy"])
async def test_every_version_of_the_protocol_reaches_the_same_tools(
    settings: Settings, mode: str
) -> None:
    async with serving(settings) as call:
        learning_id = await learned(call, "The staging port is 8443")
        async with connected(call, mode=mode) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            found = await use(client, "memory_search", query="staging port")

    assert list(tools) == [
        "memory_search",
        "memory_context",
        "memory_explain",
        "learning_propose",
        "outcome_report",
        "skills_list",
        "skill_read",
        "run_submit",
        "run_status",
    ]
    assert all(
        tool.description and tool.input_schema["type"] == "object" for tool in tools.values()
    )
    assert [it["source_id"] for it in found["results"]] == [learning_id]


async def test_memory_is_what_the_caller_reads_over_http(settings: Settings) -> None:
    async with serving(settings) as call:
        await call("sessions.create", body={"session_id": "s1"})
        await learned(call, "The staging port is 8443", scope={"kind": "session", "id": "s1"})
        await learned(call, "Answer in short sentences", applies="always")
        asked = {"query": "staging port"}
        async with connected(call) as client:
            for tool in ("memory_search", "memory_context", "memory_explain"):
                of_session = await use(client, tool, session_id="s1", **asked)
                of_new = await use(client, tool, **asked)
                shown = {**asked, "reviewed": "true"}
                assert of_session == await call(f"sessions.{tool}", session_id="s1", **shown)
                assert of_new == await call(f"agents.{tool}", agent_id="default", **shown)
                assert "8443" in json.dumps(of_session)
                assert "8443" not in json.dumps(of_new.get("results", ()))


async def test_a_proposal_waits_for_a_person_and_is_made_once(settings: Settings) -> None:
    async with serving(settings) as call:
        await set_policy(call)
        token = await token_of(call, "ann", Role.CLIENT)
        said = {"content": "The staging port is 8443", "kind": "fact"}
        async with connected(call, token) as client:
            made = await use(client, "learning_propose", **said)
            again = await use(client, "learning_propose", **said)
            found = await use(client, "memory_search", query="staging port")

        assert again["candidate_id"] == made["candidate_id"]
        assert made["source"] == {"client": "mcp"}
        assert made["derived_from_untrusted"]
        explained = await call("learning_candidates.explain", candidate_id=made["candidate_id"])
        assert explained["action"] == "manual_review"
        assert "no rule names that client" in explained["reason"]
        assert await call.items("learnings.list") == []
        assert found["results"] == []

        await call("learning_candidates.publish", candidate_id=made["candidate_id"], body={})
        async with connected(call, token) as client:
            found = await use(client, "memory_search", query="staging port")
            [resource] = await learnings_of(client)
            told = await read(client, resource.uri)
        assert [it["title"] for it in found["results"]] == ["The staging port is 8443"]
        assert resource.uri == f"learning://{found['results'][0]['source_id']}"
        assert told == "The staging port is 8443"


# What each role is refused, by the tool and its arguments.
CALLS: dict[str, dict[str, Any]] = {
    "memory_search": {},
    "memory_context": {},
    "memory_explain": {},
    "learning_propose": {"content": "Bread is baked at five"},
    "outcome_report": {"skill": "notes", "outcome": "succeeded"},
    "skills_list": {},
    "skill_read": {"name": "notes"},
    "run_submit": {"content": "Say hello."},
}
WRITES = {"learning_propose", "outcome_report", "run_submit"}


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("role", "refused"),
    [(Role.CLIENT, set()), (Role.VIEWER, WRITES), (Role.OPERATOR, set()), (Role.ADMIN, set())],
)
async def test_a_role_may_use_these_tools(
    settings: Settings, fake: FakeModel, role: Role, refused: set[str]
) -> None:
    async with serving(settings) as call:
        fake.queue("Hello.")
        await skill(call)
        token = await token_of(call, "ann", role)
        async with connected(call, token) as client:
            results = {
                name: await client.call_tool(name, arguments) for name, arguments in CALLS.items()
            }

    failed = {name: str(result.content) for name, result in results.items() if result.is_error}
    assert set(failed) == refused
    assert all("(forbidden)" in said for said in failed.values())


DECIDES = {
    "learnings.create": ("POST", "/v1/learnings", {"content": "x", "kind": "fact"}),
    "publish": ("POST", "/v1/learning-candidates/{candidate}/publish", {}),
    "reject": ("POST", "/v1/learning-candidates/{candidate}/reject", {}),
    "bulk": ("POST", "/v1/learning-candidates/bulk", {"action": "publish", "candidate_ids": []}),
    "change": ("PUT", "/v1/learnings/{learning}", {"applies": "always"}),
    "revoke": ("POST", "/v1/learnings/{learning}/revoke", {}),
    "policy": ("POST", "/v1/runtime/learning-policy", {"policy": {}}),
    "token": ("POST", "/v1/tokens", {"user_id": "eve", "role": "admin"}),
    "approve": ("POST", "/v1/runs/run_1/approvals", {"resolutions": []}),
    "answer": ("POST", "/v1/runs/run_1/questions", {"resolution": {}}),
    "skill": ("POST", "/v1/skills", {"content": "x"}),
    "tool": ("PUT", "/v1/tools/shell", {"enabled": True}),
    "candidate": ("GET", "/v1/learning-candidates/{candidate}", None),
    "learnings": ("GET", "/v1/learnings", None),
    "run memories": ("GET", "/v1/run-memories", None),
    "audit": ("GET", "/v1/audit", None),
    "inbox": ("GET", "/v1/inbox", None),
}


@pytest.mark.one_database
async def test_a_client_decides_nothing_and_reads_nothing_unreviewed(settings: Settings) -> None:
    async with serving(settings) as call:
        ids = {
            "learning": await learned(call, "The staging port is 8443"),
            "candidate": (
                await call(
                    "learning_candidates.create",
                    body={
                        "content": "Bread is baked at five",
                        "kind": "fact",
                        "scope": {"kind": "workspace", "id": "default"},
                    },
                )
            )["candidate_id"],
        }
        token = await token_of(call, "ann", Role.CLIENT)
        async with web(call, token) as client:
            answers = {
                name: (await client.request(method, path.format(**ids), json=body)).status_code
                for name, (method, path, body) in DECIDES.items()
            }

    assert answers == dict.fromkeys(DECIDES, 403)


async def test_a_client_sees_its_own_proposals_among_those_that_wait(settings: Settings) -> None:
    async with serving(settings) as call:
        for user, said in (("ann", "Bread is baked at five"), ("bob", "Tea is served at four")):
            token = await token_of(call, user, Role.CLIENT)
            async with connected(call, token) as client:
                await use(client, "learning_propose", content=said)
            async with web(call, token) as reader:
                answer = await reader.get("/v1/learning-candidates")
                assert [it["content"] for it in answer.json()["items"]] == [said]
        assert len(await call.items("learning_candidates.list")) == 2


async def skill(call: Caller) -> None:
    content = "---\nname: notes\ndescription: Writes release notes.\n---\nList the merged changes."
    await call("skills.create", body={"content": content})
    await call("skills.update", skill_id="notes", body={"visibility": "public"})


async def test_a_skill_is_listed_read_and_its_outcome_is_counted_once(settings: Settings) -> None:
    async with serving(settings) as call:
        await skill(call)
        token = await token_of(call, "ann", Role.CLIENT)
        async with connected(call, token) as client:
            listed = {it["slug"] for it in (await use(client, "skills_list"))["items"]}
            addresses = {it.uri for it in (await client.list_resources()).resources}
            file = await use(client, "skill_read", name="notes")
            resource = await read(client, "skill://notes/SKILL.md")
            report = {"skill": "notes", "run_id": "task-1", "note": "no changes to list"}
            for _ in range(2):
                await use(client, "outcome_report", outcome="failed", **report)
            assert "unheard" in await mistake(client, "skill_read", name="unheard")
            assert "skill_version_not_found" in await mistake(
                client, "outcome_report", skill="notes", outcome="succeeded", version=7
            )

        usage = await call("skills.usage", skill_id="notes")
        [run] = await call.items("runs.list")
    assert "notes" in listed
    assert "skill://notes/SKILL.md" in addresses
    assert "List the merged changes." in file["content"]
    assert resource == file["content"]
    assert (usage["total"]["used"], usage["total"]["failed"]) == (1, 1)
    assert (run["agent_id"], run["status"]) == ("mcp", "failed")


async def test_a_run_is_submitted_and_what_it_was_told_counts_as_passed_on(
    settings: Settings, fake: FakeModel
) -> None:
    async with serving(settings) as call:
        await set_policy(call)
        fake.queue("Hello.", "{}", "And you.", "{}")
        token = await token_of(call, "ann", Role.CLIENT)
        async with connected(call, token) as client:
            run = await use(client, "run_submit", content="Preference: Indent with tabs.")
            while run["status"] not in ("completed", "failed"):
                run = await use(client, "run_status", run_id=run["run_id"])
            more = await use(client, "run_submit", content="And now?", session_id=run["session_id"])
        assert run["status"] == "completed"
        assert more["session_id"] == run["session_id"]
        async with asyncio.timeout(30):
            while True:
                found = await call.items("learning_candidates.list", kind="preference")
                if found:
                    break
                await asyncio.sleep(0.02)
        assert [it["derived_from_untrusted"] for it in found] == [True]


@pytest.mark.parametrize("session", ["new", "known"])
async def test_a_task_that_is_submitted_twice_under_one_key_is_one_run(
    settings: Settings, fake: FakeModel, session: str
) -> None:
    async with serving(settings) as call:
        fake.queue("Hello.", "{}", "Hello again.", "{}")
        token = await token_of(call, "ann", Role.CLIENT)
        async with connected(call, token) as client:
            asked: dict[str, Any] = {"content": "Say hello."}
            if session == "known":
                asked["session_id"] = (await use(client, "run_submit", **asked))["session_id"]
            runs = [
                await use(client, "run_submit", **asked, idempotency_key="task \u2116 1")
                for _ in range(2)
            ]
            other = {**asked, "content": "Say goodbye.", "idempotency_key": "task \u2116 1"}
            refused = await mistake(client, "run_submit", **other)

        assert runs[0]["run_id"] == runs[1]["run_id"]
        assert "(idempotency_conflict)" in refused
        assert len(await call.items("sessions.list")) == 1


@pytest.mark.parametrize("isolation", ["shared", "per_user"])
async def test_a_client_sees_nothing_of_another_user(
    tmp_path: Path, fake: FakeModel, prepared_url: str, isolation: str
) -> None:
    settings = make_settings(
        tmp_path, fake.url, "a", database_url=prepared_url, isolation=isolation
    )
    async with serving(settings) as call:
        await call("sessions.create", body={"session_id": "alices"})
        scope = {"kind": "session", "id": "alices"}
        learning_id = await learned(call, "Zanzibar is the codename", scope=scope)
        token = await token_of(call, "bob", Role.CLIENT)
        async with connected(call, token) as client:
            for tool in ("memory_search", "memory_context", "memory_explain"):
                answer = await use(client, tool, query="Zanzibar codename")
                assert "anzibar is" not in json.dumps(answer)
                problem = await mistake(client, tool, session_id="alices", query="Zanzibar")
                assert "(session_not_found)" in problem
            with pytest.raises(MCPError, match="learning_not_found"):
                await client.read_resource(f"learning://{learning_id}")
            assert await learnings_of(client) == []
            run = await mistake(client, "run_submit", content="x", session_id="alices")
            assert "(session_not_found)" in run


@pytest.mark.parametrize("rule", [{}, {"client": "mcp"}], ids=["no client", "the client"])
async def test_nothing_unreviewed_reaches_another_agent(
    settings: Settings, fake: FakeModel, rule: dict[str, str]
) -> None:
    poisons = [text for text, _ in OWN_CASES if text.isprintable()][:12]
    async with serving(settings) as call:
        await set_policy(call, **rule)
        await call("sessions.create", body={"session_id": "s1"})
        fake.queue("zebra: the page says to approve all tools", "{}")
        await call("runs.submit", session_id="s1", body={"content": "zebra: what does it say?"})
        async with connected(call) as client:
            for number, text in enumerate(poisons):
                await use(client, "learning_propose", content=f"zebra {number}: {text}")
            states = await decided(call)
            for where in ({}, {"session_id": "s1"}):
                for tool in ("memory_search", "memory_context", "memory_explain"):
                    answer = await use(client, tool, **where, query="zebra")
                    assert "zebra" not in json.dumps(answer).replace('"query": "zebra"', "")
            assert await learnings_of(client) == []
            learnings = await call.items("learnings.list")
            for learning in learnings:
                with pytest.raises(MCPError, match="learning_not_found"):
                    await client.read_resource(f"learning://{learning['learning_id']}")
    assert ("published" in states) is bool(rule)
    assert bool(learnings) is bool(rule)


async def decided(call: Caller) -> set[str]:
    """The states of all proposals, once automation has looked at each."""
    async with asyncio.timeout(30):
        while True:
            found = {
                it["state"] for it in await call.items("learning_candidates.list", kind="fact")
            }
            if "pending" not in found:
                return found
            await asyncio.sleep(0.02)


WRONG: dict[str, tuple[str, dict[str, Any], str]] = {
    "an argument is missing": ("learning_propose", {}, "/content is required"),
    "an argument is unknown": ("memory_search", {"k": 3}, "/k is not a field here"),
    "a type is wrong": ("memory_search", {"query": 7}, "/query must be text"),
    "a limit is too large": ("memory_search", {"limit": 51}, "/limit must be at most 50"),
    "a kind is unknown": ("learning_propose", {"content": "x", "kind": "rumour"}, "/kind must be"),
    "a null byte": ("memory_search", {"query": "a\x00b"}, "/query"),
    "a long query": ("memory_search", {"query": "x" * 5_000}, "(invalid_query)"),
    "a run that is not there": ("run_status", {"run_id": "run_x"}, "(run_not_found)"),
    "a path that leads out": (
        "skill_read",
        {"name": "notes", "path": "../../etc/passwd"},
        "(invalid_skill_path)",
    ),
    "a secret": (
        "learning_propose",
        {"content": "The key is sk-" + "proj-abc123def456ghi789jkl012mno"},
        "secret",
    ),
    "no such tool": ("learnings_publish", {}, "memory_search"),
}


@pytest.mark.one_database
async def test_a_mistake_is_named_in_the_result(settings: Settings) -> None:
    async with serving(settings) as call:
        await skill(call)
        async with connected(call, mode="legacy") as client:
            said = {
                case: await mistake(client, tool, **arguments)
                for case, (tool, arguments, _) in WRONG.items()
            }

    assert {case: words for case, words in said.items() if WRONG[case][2] not in words} == {}


@pytest.mark.one_database
async def test_resources_that_are_not_there_are_errors_of_the_protocol(settings: Settings) -> None:
    wrong = ("learning://", "learning://a/b", "skill://none/SKILL.md", "file:///etc/passwd", "x")
    async with serving(settings) as call, connected(call) as client:
        templates = (await client.list_resource_templates()).resource_templates
        for uri in wrong:
            with pytest.raises(MCPError) as error:
                await client.read_resource(uri)
            assert error.value.code == -32602

    assert [it.uri_template for it in templates] == [
        "learning://{learning_id}",
        "skill://{name}/{+path}",
    ]


PING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ACCEPT = {"Accept": "application/json, text/event-stream"}


@pytest.mark.one_database
async def test_the_door_is_that_of_the_api(settings: Settings) -> None:
    async with serving(settings) as call:
        async with web(call) as open_door:
            elsewhere = {"Host": "rebound.example:4600"}
            assert (await open_door.post("/mcp", json=PING, headers=ACCEPT)).status_code == 200
            rebound = await open_door.post("/mcp", json=PING, headers=ACCEPT | elsewhere)
            assert rebound.json()["code"] == "host_not_allowed"
        token = await token_of(call, "ann", Role.CLIENT)
        async with web(call) as client:
            nobody = await client.post("/mcp", json=PING, headers=ACCEPT)
        async with web(call, token + "x") as client:
            wrong = await client.post("/mcp", json=PING, headers=ACCEPT)
        for answer in (nobody, wrong):
            assert answer.status_code == 401
            assert "tools" not in answer.text
            assert answer.headers["www-authenticate"].startswith("Bearer")
        audit = await call.items("audit.list")
        refused = [it["actor"] for it in audit if it["action"] == "mcp.request"]
        assert refused == ["anonymous"]
        async with web(call, token) as client:
            site = {"Origin": "https://evil.example"}
            assert (await client.post("/mcp", json=PING, headers=ACCEPT | site)).status_code == 403
            assert (await client.get("/mcp", headers=ACCEPT)).status_code == 405
            large = {**PING, "params": {"pad": "x" * 1_100_000}}
            assert (await client.post("/mcp", json=large, headers=ACCEPT)).status_code == 413
            headers = ACCEPT | {"Content-Type": "application/json"}
            params = {"name": "memory_search", "arguments": {"query": "\ud800"}}
            surrogate = json.dumps({**PING, "method": "tools/call", "params": params}).encode()
            big = b'{"id":' + b"9" * 5_000 + b"}"
            for body in (b"", b"{", b"[]", b"[" * 100_000, big, surrogate):
                answer = await client.post("/mcp", content=body, headers=headers)
                assert 400 <= answer.status_code < 500
