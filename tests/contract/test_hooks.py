"""Turns of coding agents that report by hooks: reviewed learnings in, conversations out."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.api_in_process import Caller, serving
from tests.support.hook_events import asks_to_write, connect_folder, hook, turn, waiting
from tests.support.run_harness import make_settings
from understudy.api.in_process import OperationRefused
from understudy.settings import Settings
from understudy.testing.fake_model import FakeModel

pytestmark = pytest.mark.every_database


@pytest.fixture
def settings(tmp_path: Path, fake: FakeModel, prepared_url: str) -> Settings:
    return make_settings(tmp_path, fake.url, "a", database_url=prepared_url)


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


async def test_a_turn_that_a_program_began_is_recorded_with_what_was_said(
    settings: Settings,
) -> None:
    async with serving(settings) as call:
        await turn(call, "<task-notification>The build has ended</task-notification>", "It passed.")

        (run,) = await call.items("runs.list")
        events = await call("sessions.events", session_id=run["session_id"], kind="output")
        assert [it["data"]["text"] for it in events["items"]] == ["It passed."]
        assert run["request"].get("text_preview") is None


async def test_calls_without_an_id_are_all_kept(settings: Settings) -> None:
    async with serving(settings) as call:
        for named in ({}, {}, {"tool_use_id": "1"}, {"tool_use_id": "1"}):
            await hook(call, "PostToolUse", tool_name="Read", tool_input={}, **named)
        await hook(call, "Stop")

        (run,) = await call.items("runs.list")
        assert (await call("runs.get", run_id=run["run_id"]))["usage"]["tool_calls"] == 3


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


@pytest.fixture
def work(settings: Settings) -> Path:
    return connect_folder(settings.home, "project")


async def decide(call: Caller, decision: str, proposal_id: str, **body: str) -> Any:
    return await call(
        f"agents.{decision}_proposal",
        agent_id="claude-code",
        proposal_id=proposal_id,
        body=body or None,
    )


async def test_a_write_to_memory_is_held_shown_as_a_diff_and_applied_once_approved(
    settings: Settings, work: Path
) -> None:
    (work / "MEMORY.md").write_text("- we deploy on Mondays\n")
    async with serving(settings) as call:
        await hook(call, "UserPromptSubmit", cwd=str(work), prompt="Remember that I like tabs.")
        wanted = "- we deploy on Mondays\n- the user likes tabs\n"
        reason = await asks_to_write(call, work, wanted)
        await hook(call, "Stop", cwd=str(work), last_assistant_message="It waits.")

        (item,) = await waiting(call)
        assert item["id"] in reason
        shown = await call("agents.proposal", agent_id="claude-code", proposal_id=item["id"])
        assert "+- the user likes tabs" in shown["diff"]
        assert " - we deploy on Mondays" in shown["diff"]
        run = await call("runs.get", run_id=item["run_id"])
        assert run["request"]["text_preview"] == "Remember that I like tabs."
        assert (work / "MEMORY.md").read_text() == "- we deploy on Mondays\n"

        await decide(call, "approve", item["id"])
        assert (work / "MEMORY.md").read_text() == wanted
        assert await asks_to_write(call, work, wanted) == ""


async def test_a_write_is_proposed_once_however_often_it_is_tried(
    settings: Settings, work: Path
) -> None:
    async with serving(settings) as call:
        reasons = [await asks_to_write(call, work, "- tabs\n") for _ in range(3)]

        assert len(set(reasons)) == 1
        assert len(await waiting(call)) == 1


async def test_a_rejected_write_stays_refused_with_the_reason(
    settings: Settings, work: Path
) -> None:
    async with serving(settings) as call:
        await asks_to_write(call, work, "- tabs\n")
        (item,) = await waiting(call)
        await decide(call, "reject", item["id"], reason="we use spaces")

        assert "we use spaces" in await asks_to_write(call, work, "- tabs\n")
        assert await waiting(call) == []
        assert not (work / "MEMORY.md").exists()


async def test_an_approval_does_not_overwrite_what_changed_meanwhile(
    settings: Settings, work: Path
) -> None:
    async with serving(settings) as call:
        await asks_to_write(call, work, "- tabs\n")
        (item,) = await waiting(call)
        (work / "MEMORY.md").write_text("- by hand\n")

        with pytest.raises(OperationRefused) as refused:
            await decide(call, "approve", item["id"])

        assert refused.value.problem["code"] == "memory_file_changed"
        assert (work / "MEMORY.md").read_text() == "- by hand\n"
        assert len(await waiting(call)) == 1


async def test_a_change_behind_the_hooks_is_proposed_when_the_turn_ends(
    settings: Settings, work: Path
) -> None:
    (work / "CLAUDE.md").write_text("Use spaces.\n")
    async with serving(settings) as call:
        await hook(call, "SessionStart", cwd=str(work), source="startup")
        await hook(call, "UserPromptSubmit", cwd=str(work), prompt="Set up the project.")
        (work / "CLAUDE.md").write_text("Use tabs.\n")
        await hook(call, "Stop", cwd=str(work), last_assistant_message="Done.")
        await hook(call, "SessionEnd", cwd=str(work))

        (item,) = await waiting(call)
        shown = await call("agents.proposal", agent_id="claude-code", proposal_id=item["id"])
        assert "-Use spaces." in shown["diff"]
        assert "+Use tabs." in shown["diff"]


async def test_what_a_person_changed_between_two_sessions_is_no_proposal(
    settings: Settings, work: Path
) -> None:
    async with serving(settings) as call:
        for text in ("Use spaces.\n", "Use tabs.\n"):
            (work / "CLAUDE.md").write_text(text)
            await hook(call, "SessionStart", cwd=str(work), source="startup")
            await turn(call, f"Say hello after {text}")

        assert await waiting(call) == []


async def test_a_file_outside_of_connected_folders_is_held_and_never_written(
    settings: Settings, work: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (work / "link").symlink_to(elsewhere)
    async with serving(settings) as call:
        for folder in (elsewhere, work / "link"):
            assert await asks_to_write(call, folder, "- tabs\n")
        for item in await waiting(call):
            await decide(call, "approve", item["id"])

        assert list(elsewhere.iterdir()) == []
        assert await asks_to_write(call, elsewhere, "- tabs\n") == ""


async def test_a_write_with_a_secret_is_refused_and_not_stored(
    settings: Settings, work: Path
) -> None:
    secret = "sk-" + "proj-" + "abc123def456ghi789jkl012"
    async with serving(settings) as call:
        assert "secret" in await asks_to_write(call, work, f"key = {secret}\n")
        assert await waiting(call) == []


@pytest.mark.parametrize("body", [{}, {"hook_event_name": 7}, {"hook_event_name": "Stop"}, [], "x"])
async def test_a_body_that_is_no_event_is_refused_and_changes_nothing(
    settings: Settings, body: Any
) -> None:
    async with serving(settings) as call:
        with pytest.raises(OperationRefused) as refused:
            await call("hooks.post", tool="claude-code", body=body)

        assert refused.value.status == 400
        assert await call.items("sessions.list") == []
