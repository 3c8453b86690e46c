"""The prompt of the next run, section by section, before anybody has submitted it."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.api.live import Live
from tests.api.test_learning_candidates import learn
from tests.api.test_resources import ok, refused


@pytest.fixture
def writer(api: TestClient) -> TestClient:
    """An API with a predefined agent that has a SOUL.md, and its session `s1`."""
    agent = {"agent_id": "writer", "agent_type": "predefined"}
    ok(api, "POST", "/v1/agents", agent)
    ok(api, "PUT", "/v1/agents/writer/files/SOUL.md", {"content": "Write short sentences."})
    ok(api, "POST", "/v1/sessions", {"session_id": "s1", "agent_id": "writer"})
    return api


def sections(preview: dict[str, Any]) -> dict[str, str]:
    return {section["name"]: section["text"] for section in preview["sections"]}


def test_a_preview_has_the_sections_of_the_agent_and_what_the_input_recalls(
    writer: TestClient,
) -> None:
    learn(writer, "The office is in Oslo.")

    preview = ok(writer, "GET", "/v1/sessions/s1/prompt-preview?query=Where+is+the+office")

    found = sections(preview)
    assert list(found)[:2] == ["Base instructions", "Context files"]
    assert "Write short sentences." in found["Context files"]
    assert "The office is in Oslo." in found["learned_context"]
    parts = sum(section["tokens"] for section in preview["sections"])
    assert preview["total_tokens"] == parts + preview["tool_tokens"] + preview["message_tokens"]
    assert preview["total_tokens"] < preview["limit_tokens"] < preview["context_window"]


def test_a_switch_adds_its_section_to_the_preview_of_the_agent(writer: TestClient) -> None:
    path = "/v1/agents/writer/prompt-preview"
    before = ok(writer, "GET", path)

    ok(writer, "PUT", "/v1/agents/writer", {"other_config": {"self_evolve": True}})
    after = ok(writer, "GET", path)

    assert set(sections(after)) - set(sections(before)) == {"Self-Evolution"}
    assert "session_id" not in after


def test_looking_at_a_prompt_counts_no_use(writer: TestClient) -> None:
    learning = learn(writer, "The office is in Oslo.")["learning_id"]

    ok(writer, "GET", "/v1/sessions/s1/prompt-preview?query=office")

    assert ok(writer, "GET", f"/v1/learnings/{learning}/lineage")["use_count"] == 0


def test_a_preview_of_what_is_not_there_is_404(api: TestClient) -> None:
    session = refused(api, "GET", "/v1/sessions/nobody/prompt-preview")
    agent = refused(api, "GET", "/v1/agents/nobody/prompt-preview")

    assert session == (404, "sessions/session_not_found")
    assert agent == (404, "agents/agent_not_found")


def test_a_run_sends_what_the_preview_showed(live: Live) -> None:
    live.session("previewed")
    preview = live.ok("GET", "/v1/sessions/previewed/prompt-preview?query=hello")

    live.run("previewed", "hello")

    sent = live.model.requests[-1].body["messages"][0]["content"]
    shown = [
        f"## {section['name']}\n\n{section['text'].strip()}" for section in preview["sections"]
    ]
    assert sent == "\n\n".join(shown)


def test_the_tools_of_an_agent_say_why_one_is_hidden(writer: TestClient) -> None:
    def standing() -> dict[str, dict[str, Any]]:
        tools = ok(writer, "GET", "/v1/agents/writer/tools?limit=200")["items"]
        return {tool["name"]: tool for tool in tools}

    hidden = standing()["skill_manage"]
    ok(writer, "PUT", "/v1/agents/writer", {"other_config": {"skill_evolve": True}})

    assert hidden["decision"] == "deny"
    assert "a switch of its own is off" in hidden["reason"]
    assert "a switch of its own is off" not in standing()["skill_manage"]["reason"]
