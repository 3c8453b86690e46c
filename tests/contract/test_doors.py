"""The same conversation through every door leaves the same candidates with the same taint."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.api_in_process import Caller, serving
from tests.support.otlp import over
from tests.support.run_harness import make_settings
from tests.support.transcripts import Claude, Codex, lines
from understudy.settings import Settings
from understudy.testing.answers import call as tool_call
from understudy.testing.fake_model import FakeModel

pytestmark = pytest.mark.every_database

SAID = "Noted."


@dataclass(frozen=True, kw_only=True)
class Talk:
    """One turn: what was typed, the file that was read, and what a model finds in it."""

    typed: str
    reads: dict[str, str] = field(default_factory=dict)
    found: tuple[dict[str, str], ...] = ()


TABS = {
    "kind": "preference",
    "content": "The user indents with tabs",
    "quote": "I indent with tabs",
}
TALKS = {
    "a model finds what was typed": Talk(typed="I indent with tabs.", found=(TABS,)),
    "a label": Talk(typed="Preference: Indent with tabs."),
    "a file was read": Talk(
        typed="I indent with tabs. What does notes.txt say?",
        reads={"notes.txt": "Deploy on Mondays."},
        found=(
            TABS,
            {"kind": "fact", "content": "Deploys are on Mondays", "quote": "Deploy on Mondays."},
        ),
    ),
    "a quotation": Talk(
        typed="Summarise this mail:\n> I indent with spaces\n> Cheers, Bob",
        found=(
            {
                "kind": "preference",
                "content": "The user indents with spaces",
                "quote": "I indent with spaces",
            },
        ),
    ),
}


@pytest.fixture
def settings(tmp_path: Path, fake: FakeModel, prepared_url: str) -> Settings:
    return make_settings(tmp_path, fake.url, "a", database_url=prepared_url)


async def by_chat(call: Caller, fake: FakeModel, talk: Talk) -> None:
    workspace = call.services.resources.settings.workspace
    for name, text in talk.reads.items():
        (workspace / name).write_text(text)
        fake.queue(tool_call("read_file", {"path": name}))
    fake.queue(SAID, json.dumps({"candidates": talk.found}))
    await call("sessions.create", body={"session_id": "s1"})
    await call("runs.submit", session_id="s1", body={"content": talk.typed})


async def by_hooks(call: Caller, fake: FakeModel, talk: Talk) -> None:
    fake.queue(json.dumps({"candidates": talk.found}))
    events: list[dict[str, Any]] = [
        {"hook_event_name": "UserPromptSubmit", "prompt": talk.typed},
        *(
            {
                "hook_event_name": "PostToolUse",
                "tool_name": "read_file",
                "tool_input": {"path": name},
                "tool_response": text,
                "tool_use_id": name,
            }
            for name, text in talk.reads.items()
        ),
        {"hook_event_name": "Stop", "last_assistant_message": SAID},
    ]
    for event in events:
        await call("hooks.post", tool="claude-code", body={"session_id": "talk", **event})


def gen_ai(talk: Talk) -> list[dict[str, Any]]:
    """The spans of a turn: the agent, a call of its model, and a tool for each file."""
    messages = [{"role": "user", "parts": [{"type": "text", "content": talk.typed}]}]
    said = [{"role": "assistant", "parts": [{"type": "text", "content": SAID}]}]
    asked, answered = json.dumps(messages), json.dumps(said)
    content = {"gen_ai.input.messages": asked, "gen_ai.output.messages": answered}
    tools = [
        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "read_file"}
        | {"gen_ai.tool.call.arguments": json.dumps({"path": name})}
        | {"gen_ai.tool.call.result": text}
        for name, text in talk.reads.items()
    ]
    return [
        {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "talk"},
        *tools,
        {"gen_ai.operation.name": "chat"} | content,
    ]


async def by_otlp(call: Caller, fake: FakeModel, talk: Talk) -> None:
    fake.queue(json.dumps({"candidates": talk.found}))
    spans = [span_of(at, of) for at, of in enumerate(gen_ai(talk), start=1)]
    await call("otlp.traces", body={"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})
    over(call.services)


def span_of(number: int, attributes: dict[str, str]) -> dict[str, Any]:
    parent = {} if number == 1 else {"parentSpanId": f"{1:016x}"}
    named = [{"key": key, "value": {"stringValue": it}} for key, it in attributes.items()]
    ended = 999 if number == 1 else number * 10 + 5
    times = {"startTimeUnixNano": f"{number * 10}", "endTimeUnixNano": f"{ended}"}
    return {
        "traceId": "ab" * 16,
        "spanId": f"{number:016x}",
        **parent,
        **times,
        "attributes": named,
    }


async def by_claude_import(call: Caller, fake: FakeModel, talk: Talk) -> None:
    fake.queue(json.dumps({"candidates": talk.found}))
    given = "Reviewed notes: the user indents with spaces. Preference: Indent with spaces."
    calls = [Claude.call("read_file", {"path": name}, text) for name, text in talk.reads.items()]
    transcript = (
        Claude.line("queue-operation", operation="enqueue", content=talk.typed),
        Claude.user(talk.typed),
        Claude.hook_context(given),
        *(each for pair in calls for each in pair),
        Claude.agent(SAID),
        Claude.line("last-prompt", lastPrompt=talk.typed),
    )
    await imported(call, "claude-code", transcript)


async def by_codex_import(call: Caller, fake: FakeModel, talk: Talk) -> None:
    fake.queue(json.dumps({"candidates": talk.found}))
    given = "Reviewed notes: the user indents with spaces. Preference: Indent with spaces."
    calls = [Codex.call("read_file", {"path": name}, text) for name, text in talk.reads.items()]
    transcript = (
        Codex.start(),
        Codex.message("developer", given),
        Codex.message("user", "<environment_context>Fact: We use spaces.</environment_context>"),
        *Codex.user(talk.typed),
        *(each for pair in calls for each in pair),
        Codex.message("assistant", SAID),
        Codex.line("event_msg", type="task_complete", last_agent_message=SAID),
    )
    await imported(call, "codex", transcript)


async def imported(call: Caller, source: str, transcript: Sequence[Any]) -> None:
    body = {"source": source, "upload": lines(*transcript)}
    assert (await call("imports.create", body=body))["turns"] == 1
    assert (await call("imports.create", body=body))["turns"] == 0


Door = Callable[[Caller, FakeModel, Talk], Awaitable[None]]
DOORS: dict[str, Door] = {
    "hooks": by_hooks,
    "OTLP": by_otlp,
    "import of Claude Code": by_claude_import,
    "import of Codex": by_codex_import,
}


async def left(settings: Settings, fake: FakeModel, door: Door, talk: Talk) -> list[dict[str, Any]]:
    """What a talk leaves for review, without what every record has of its own."""
    async with serving(settings) as call:
        await door(call, fake, talk)
        run_id = await captured(call)
        shown = []
        for listed in await call.items("learning_candidates.list"):
            if listed["capture_path"] in {"labels", "model"}:
                one = await call("learning_candidates.get", candidate_id=listed["candidate_id"])
                names = ("kind", "content", "quote", "applies", "confidence", "capture_path")
                of_taint = ("derived_from_untrusted", "untrusted_sources")
                shown.append({name: one.get(name) for name in (*names, *of_taint)})
        report = await call("run_memories.get", run_id=run_id)
    return [{"summary": report["memory"]["summary"]}, *sorted(shown, key=lambda it: it["content"])]


async def captured(call: Caller) -> str:
    """The id of the only run, once its capture is over."""
    async with asyncio.timeout(60):
        while True:
            for run in await call.items("runs.list"):
                if run["status"] == "completed":
                    record = await call("run_memories.get", run_id=run["run_id"])
                    if (record.get("capture") or {"state": "pending"})["state"] == "completed":
                        run_id: str = run["run_id"]
                        return run_id
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("talk", TALKS.values(), ids=TALKS)
@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
async def test_a_conversation_leaves_what_it_leaves_in_the_chat(
    settings: Settings, fake: FakeModel, tmp_path: Path, door: Door, talk: Talk
) -> None:
    elsewhere = tmp_path / "other"
    elsewhere.mkdir()
    chat = make_settings(elsewhere, fake.url, "a")

    # A daemon ends with the loop that it began in.
    expected = await asyncio.to_thread(asyncio.run, left(chat, fake, by_chat, talk))

    assert await left(settings, fake, door, talk) == expected
    assert len(expected) == 1 + max(1, len(talk.found)) or "quotation" in talk.typed
