"""Events of hooks that are long, forged, or more than a daemon can use."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.api_in_process import Caller, serving
from tests.support.hook_events import asks_to_write, connect_folder, hook, turn, waiting
from tests.support.run_harness import make_settings
from understudy.foreign import held
from understudy.foreign.memory_files import MAX_WRITES
from understudy.settings import Settings
from understudy.testing.fake_model import FakeModel

pytestmark = pytest.mark.every_database


@pytest.fixture
def settings(tmp_path: Path, fake: FakeModel, prepared_url: str) -> Settings:
    return make_settings(tmp_path, fake.url, "a", database_url=prepared_url)


@pytest.fixture
def work(settings: Settings) -> Path:
    return connect_folder(settings.home, "project")


async def tool_use(call: Caller, work: Path, tool: str, **given: Any) -> dict[str, Any]:
    """The decision on a tool call; empty for one that may go on."""
    answer = await hook(call, "PreToolUse", cwd=str(work), tool_name=tool, tool_input=given)
    return dict(answer.get("hookSpecificOutput", {}))


async def test_a_write_with_characters_that_cannot_be_stored_is_held_all_the_same(
    settings: Settings, work: Path
) -> None:
    async with serving(settings) as call:
        assert await asks_to_write(call, work, "tabs \0 \ud800")
        (item,) = await waiting(call)
        assert item["title"].endswith("MEMORY.md")


async def test_a_tool_result_with_characters_that_cannot_be_stored_still_taints(
    settings: Settings,
) -> None:
    async with serving(settings) as call:
        await turn(call, "What is in it?", Read="\x7fELF\0\0")

        (run,) = await call.items("runs.list")
        assert (await call("runs.get", run_id=run["run_id"]))["usage"]["tool_calls"] == 1


@pytest.mark.parametrize(
    "given",
    [
        {"command": "echo x; " * 40_000 + "echo y > MEMORY.md"},
        {"command": "*** Begin Patch\n" + "*** Update File: MEMORY.md\n+x\n" * 50_000},
        {"file_path": "x" * 5_000 + "/MEMORY.md", "content": "x"},
    ],
    ids=["command", "patch", "path"],
)
async def test_a_call_that_is_too_long_to_be_held_is_denied(
    settings: Settings, work: Path, given: dict[str, str]
) -> None:
    async with serving(settings) as call:
        decision = await tool_use(call, work, "Write" if "content" in given else "Bash", **given)

        assert decision["permissionDecision"] == "deny"
        assert await waiting(call) == []


async def test_a_patch_of_many_memory_files_is_denied_as_a_whole(
    settings: Settings, work: Path
) -> None:
    patch = "".join(f"*** Add File: {n}/MEMORY.md\n+x\n" for n in range(MAX_WRITES + 1))
    async with serving(settings) as call:
        decision = await tool_use(call, work, "apply_patch", command=f"*** Begin Patch\n{patch}")

        assert str(MAX_WRITES) in decision["permissionDecisionReason"]
        assert await waiting(call) == []


async def test_malformed_arguments_of_an_edit_are_held(settings: Settings, work: Path) -> None:
    async with serving(settings) as call:
        for edits in (7, {"old_string": 1}, [7, None]):
            decision = await tool_use(call, work, "Edit", file_path="MEMORY.md", edits=edits)
            assert decision["permissionDecision"] == "deny"


async def test_what_is_unknown_is_kept_in_the_journal(settings: Settings) -> None:
    async with serving(settings) as call:
        assert await hook(call, "Notification", message="idle", far={"away": [1]}) == {}
        await hook(call, "UserPromptSubmit", prompt="Hello", prompt_id="p1", padding="x" * 9_000)

        (session,) = await call.items("sessions.list")
        events = await call("sessions.events", session_id=session["session_id"], kind="client")
        unknown, padded = (each["data"] for each in events["items"])
        assert unknown == {
            "event": "Notification",
            "fields": {"message": "idle", "far": {"away": [1]}},
        }
        assert padded["event"] == "UserPromptSubmit"
        assert "p1" in padded["fields"]["cut"]
        assert len(padded["fields"]["cut"]) < 5_000


async def test_claude_code_is_answered_as_the_settings_say_and_codex_is_denied(
    settings: Settings, work: Path
) -> None:
    write: dict[str, Any] = {
        "tool_name": "Write",
        "tool_input": {"file_path": "MEMORY.md", "content": "x"},
    }
    async with serving(settings) as call:
        for wanted in ("ask", "defer", "deny"):
            await call("runtime.change", body={"memory_writes": wanted})
            for tool, decision in (("claude-code", wanted), ("codex", "deny")):
                answer = await hook(call, "PreToolUse", tool, cwd=str(work), **write)
                assert answer["hookSpecificOutput"]["permissionDecision"] == decision

        (item, *_) = [it for it in await waiting(call) if it["agent_id"] == "claude-code"]
        await call("runtime.change", body={"memory_writes": "ask"})
        await call("agents.reject_proposal", agent_id="claude-code", proposal_id=item["id"])
        answer = await hook(call, "PreToolUse", cwd=str(work), **write)
        assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"


async def test_a_session_that_starts_while_an_agent_works_does_not_settle_its_changes(
    settings: Settings, work: Path
) -> None:
    (work / "CLAUDE.md").write_text("Use spaces.\n")
    async with serving(settings) as call:
        await hook(call, "SessionStart", cwd=str(work), source="startup")
        await hook(call, "UserPromptSubmit", cwd=str(work), prompt="Set up the project.")
        (work / "CLAUDE.md").write_text("Use tabs.\n")
        await hook(call, "SessionStart", cwd=str(work), source="compact")
        await hook(call, "Stop", cwd=str(work), last_assistant_message="Done.")

        (item,) = await waiting(call)
        assert item["title"].endswith("CLAUDE.md")


async def test_what_the_daemon_may_not_write_is_approved_with_the_command_that_does(
    settings: Settings, work: Path, tmp_path: Path
) -> None:
    async with serving(settings) as call:
        assert await asks_to_write(call, tmp_path, "- tabs\n")
        await tool_use(call, work, "Bash", command="sed -i s/a/b/ MEMORY.md")
        await asks_to_write(call, work, "- spaces\n")
        commands = {}
        for item in await waiting(call):
            approved = await call(
                "agents.approve_proposal", agent_id="claude-code", proposal_id=item["id"]
            )
            commands[approved["name"]] = approved.get("command")

        assert commands == {
            f"{tmp_path}/MEMORY.md": f"cat > {tmp_path}/MEMORY.md <<'END'\n- tabs\nEND",
            f"{work}/MEMORY.md{held.COMMAND}": "sed -i s/a/b/ MEMORY.md",
            f"{work}/MEMORY.md": None,
        }
