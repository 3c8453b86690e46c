"""Turns of coding agents that report by hooks: reviewed learnings in, conversations out."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.api_in_process import Caller, serving
from tests.support.run_harness import make_settings
from understudy.settings import Settings
from understudy.testing.fake_model import FakeModel

pytestmark = pytest.mark.every_database

TALK = "5f0c3a52-2f0f-4a3e-9f39-0f1f6a0c9d11"


@pytest.fixture
def settings(tmp_path: Path, fake: FakeModel, prepared_url: str) -> Settings:
    return make_settings(tmp_path, fake.url, "a", database_url=prepared_url)


async def hook(call: Caller, name: str, tool: str = "claude-code", **fields: Any) -> Any:
    event = {"hook_event_name": name, "session_id": TALK, "cwd": "/work", **fields}
    return await call("hooks.post", tool=tool, body=event)


async def turn(call: Caller, prompt: str, said: str = "Done.", **tools: str) -> None:
    """A turn with a tool call for each name and result."""
    await hook(call, "UserPromptSubmit", prompt=prompt)
    for name, result in tools.items():
        await hook(
            call,
            "PostToolUse",
            tool_name=name,
            tool_input={"file_path": "a.txt"},
            tool_response={"content": result},
            tool_use_id=f"toolu_{name}",
        )
    await hook(call, "Stop", last_assistant_message=said)


RULE = {"name": "said outright", "kind": "preference", "action": "publish_active"}


async def set_policy(call: Caller, **rule: str) -> None:
    capture = {"semantic_candidates": {"enabled": True}}
    policy = {
        "mode": "enabled",
        "capture": capture,
        "publication": {"rules": [RULE | rule]},
    }
    await call("learning_policy.set", body=policy)


async def decided(call: Caller) -> dict[str, Any]:
    """The only preference that was found, once automation has decided on it."""
    async with asyncio.timeout(30):
        while True:
            found = [
                it
                for it in await call.items("learning_candidates.list", kind="preference")
                if it["state"] != "pending"
            ]
            if found:
                (only,) = found
                return only
            await asyncio.sleep(0.02)


async def test_a_turn_becomes_a_run_of_a_conversation(settings: Settings) -> None:
    async with serving(settings) as call:
        await turn(call, "Which port do we use?", "It is 8080.", Read="port = 8080")

        (session,) = await call.items("sessions.list")
        (run,) = await call.items("runs.list")
        events = await call("sessions.events", session_id=session["session_id"])
        assert session["agent_id"] == "claude-code"
        assert (run["kind"], run["status"]) == ("foreign_turn", "completed")
        assert run["usage"]["tool_calls"] == 1
        kinds = [each["kind"] for each in events["items"]]
        assert kinds == [
            *("session", "run", "input", "message", "tool_call", "tool_result"),
            *("message", "output", "run"),
        ]


async def test_a_turn_that_is_reported_twice_is_one_run(settings: Settings) -> None:
    async with serving(settings) as call:
        await turn(call, "Say hello.")
        await hook(call, "Stop", last_assistant_message="Done.")
        await hook(call, "SessionEnd", reason="exit")

        assert len(await call.items("runs.list")) == 1


async def test_the_same_words_said_again_are_another_turn(settings: Settings) -> None:
    async with serving(settings) as call:
        await turn(call, "continue")
        await turn(call, "continue")

        assert len(await call.items("runs.list")) == 2
        assert len(await call.items("sessions.list")) == 1


async def test_an_interrupted_turn_is_recorded_with_the_next_prompt(settings: Settings) -> None:
    async with serving(settings) as call:
        await hook(call, "UserPromptSubmit", prompt="Start the long one.")
        await hook(call, "UserPromptSubmit", prompt="No, stop.")

        (run,) = await call.items("runs.list")
        assert run["request"]["text_preview"] == "Start the long one."


async def test_reviewed_learnings_come_back_at_the_start_and_with_a_prompt(
    settings: Settings,
) -> None:
    async with serving(settings) as call:
        always = await call(
            "learnings.create",
            body={
                "content": "Answer in short sentences",
                "kind": "preference",
                "applies": "always",
            },
        )
        port = await call(
            "learnings.create", body={"content": "The staging port is 8443", "kind": "fact"}
        )
        started = await hook(call, "SessionStart", source="startup")
        asked = await hook(call, "UserPromptSubmit", prompt="What is the staging port?")
        await hook(call, "Stop", last_assistant_message="8443.")

        said = started["hookSpecificOutput"]
        assert said["hookEventName"] == "SessionStart"
        assert "Answer in short sentences" in said["additionalContext"]
        assert "8443" not in said["additionalContext"]
        assert "The staging port is 8443" in asked["hookSpecificOutput"]["additionalContext"]
        (run,) = await call.items("runs.list")
        assert [each["id"] for each in run["remembered"]] == [port["learning_id"]]
        lineage = await call("learnings.lineage", learning_id=port["learning_id"])
        assert run["run_id"] in json.dumps(lineage)
        assert always["learning_id"] not in asked["hookSpecificOutput"]["additionalContext"]


async def test_nothing_is_answered_where_nothing_is_known(settings: Settings) -> None:
    async with serving(settings) as call:
        assert await hook(call, "SessionStart", source="startup") == {}
        assert await hook(call, "UserPromptSubmit", prompt="Hello") == {}
        assert await hook(call, "Notification", message="idle") == {}


async def test_what_a_client_reports_waits_for_a_person(settings: Settings) -> None:
    async with serving(settings) as call:
        await set_policy(call)
        await turn(call, "Preference: Indent with tabs.")

        found = await decided(call)
        assert found["state"] == "escalated"
        assert found["source"]["client"] == "claude-code"
        assert "no rule names that client" in found["automation_review"]["reason"]


async def test_a_rule_that_names_the_client_publishes_what_it_reports(settings: Settings) -> None:
    async with serving(settings) as call:
        await set_policy(call, client="claude-code")
        await turn(call, "Preference: Indent with tabs.")

        assert (await decided(call))["state"] == "published"
