"""Events of a coding agent's hooks, sent to a daemon."""

import json
from pathlib import Path
from typing import Any

from tests.support.api_in_process import Caller
from understudy.foreign.connections import CONNECTED

TALK = "5f0c3a52-2f0f-4a3e-9f39-0f1f6a0c9d11"


def connect_folder(home: Path, name: str) -> Path:
    """A folder in a daemon's home that a person has connected."""
    folder = (home / name).resolve()
    folder.mkdir()
    (home / CONNECTED).write_text(json.dumps([{"tool": "claude-code", "folders": [str(folder)]}]))
    return folder


async def hook(call: Caller, name: str, tool: str = "claude-code", **fields: Any) -> Any:
    event = {"hook_event_name": name, "session_id": TALK, **fields}
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


async def asks_to_write(call: Caller, work: Path, content: str, **more: str) -> str:
    """Why a write of MEMORY.md is refused; empty for one that may go on."""
    answer = await hook(
        call,
        "PreToolUse",
        cwd=str(work),
        tool_name="Write",
        tool_input={"file_path": str(work / "MEMORY.md"), "content": content},
        **more,
    )
    if not answer:
        return ""
    said = answer["hookSpecificOutput"]
    assert (said["hookEventName"], said["permissionDecision"]) == ("PreToolUse", "deny")
    reason: str = said["permissionDecisionReason"]
    return reason


async def waiting(call: Caller) -> list[dict[str, Any]]:
    return [it for it in await call.items("inbox.list") if it["kind"] == "soul_proposal"]
