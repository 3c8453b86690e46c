"""The prompt of the next run, section by section, before anybody has submitted it."""

import re
from typing import Any
from unittest.mock import ANY

import pytest
from starlette.testclient import TestClient

from tests.api.live import Live
from tests.api.test_learning_candidates import learn
from tests.api.test_resources import ok, refused

# Drawn anew for every prompt, so that nothing which was written before can know it.
MARK = re.compile(r"\b[0-9a-f]{12}\b")
SKILL = "---\nname: {slug}\ndescription: How to do it well.\n---\n\nDo it with care.\n"


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


def system_of(preview: dict[str, Any]) -> str:
    shown = (f"## {name}\n\n{text.strip()}" for name, text in sections(preview).items())
    return MARK.sub("MARK", "\n\n".join(shown))


def test_a_run_sends_what_the_preview_showed(live: Live) -> None:
    live.session("previewed")
    live.run("previewed", "The Atlas gateway answers on port 9000.")
    taught = {"content": "The Atlas gateway is painted vermilion.", "kind": "fact"}
    live.ok("POST", "/v1/learnings", taught)
    wish = {"content": "Answer in short sentences.", "kind": "preference", "applies": "always"}
    live.ok("POST", "/v1/learnings", wish)
    asked = "Which colour does the Atlas gateway have?"
    preview = live.ok("GET", "/v1/sessions/previewed/prompt-preview", params={"query": asked})

    run = live.run("previewed", asked)

    body = live.model.requests[-1].body
    system, *messages = [str(message["content"]) for message in body["messages"]]
    assert MARK.search(system)
    assert system_of(preview) == MARK.sub("MARK", system)
    assert [message["text"] for message in preview["messages"]] == messages
    assert [tool["function"] for tool in body["tools"]] == [
        {**tool, "parameters": ANY} for tool in preview["tool_specs"]
    ]
    report = live.ok("GET", f"/v1/runs/{run['run_id']}/memory-report")
    now = {it["source_id"]: it["reasons"] for it in preview["memory"]["entries"]}
    then = {it["learning_id"]: it["reasons"] for it in report["learned"]["entries"]}
    assert then.items() <= now.items()
    assert preview["memory_tokens"] == report["budget"]["memory_tokens"]
    standing = [it["text"] for it in preview["memory"]["entries"] if it["standing"]]
    assert standing == [wish["content"]]


def test_secrets_that_were_taken_out_are_counted(writer: TestClient) -> None:
    soul = "The vault opens with <redacted:password> and <redacted:password>."
    ok(writer, "POST", "/v1/personas", {"persona_id": "guard", "soul": soul})
    ok(writer, "POST", "/v1/sessions", {"session_id": "s2", "persona_id": "guard"})

    preview = ok(writer, "GET", "/v1/sessions/s2/prompt-preview")

    (persona,) = (each for each in preview["sections"] if each["name"] == "Persona")
    assert persona["redactions"] == {"password": 2}
    assert "redactions" not in preview["sections"][0]


def test_looking_at_a_prompt_changes_no_counter_and_no_session(live: Live) -> None:
    live.session("untouched")
    before = live.ok("GET", "/v1/sessions/untouched")
    status = live.ok("GET", "/v1/status")

    live.ok("GET", "/v1/sessions/untouched/prompt-preview", params={"query": "Atlas gateway"})

    assert live.ok("GET", "/v1/sessions/untouched") == before
    after = live.ok("GET", "/v1/status")
    for part in ("run_memory", "session_memory"):
        assert after[part]["metrics"] == status[part]["metrics"]


def test_every_skill_says_why_it_is_listed_or_not(writer: TestClient) -> None:
    for slug in ("tidy-desk", "water-plants"):
        ok(writer, "POST", "/v1/skills", {"content": SKILL.format(slug=slug)})
    ok(writer, "POST", "/v1/skills/water-plants/toggle", {"enabled": False})

    preview = ok(writer, "GET", "/v1/sessions/s1/prompt-preview")

    skills = {each["slug"]: each for each in preview["skills"]}
    assert skills["tidy-desk"]["listed"] is True
    assert skills["tidy-desk"]["reasons"] == []
    assert skills["water-plants"]["reasons"] == ["disabled"]
    assert skills["water-plants"]["explanation"] == "it is switched off"
    assert preview["messages"] == []


def test_the_tools_of_an_agent_say_why_one_is_hidden(writer: TestClient) -> None:
    def standing() -> dict[str, dict[str, Any]]:
        tools = ok(writer, "GET", "/v1/agents/writer/tools?limit=200")["items"]
        return {tool["name"]: tool for tool in tools}

    hidden = standing()["skill_manage"]
    ok(writer, "PUT", "/v1/agents/writer", {"other_config": {"skill_evolve": True}})

    assert hidden["decision"] == "deny"
    assert "a switch of its own is off" in hidden["reason"]
    assert "a switch of its own is off" not in standing()["skill_manage"]["reason"]
