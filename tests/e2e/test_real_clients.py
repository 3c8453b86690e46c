"""Claude Code and Codex themselves, connected to a daemon; `make clients` installs them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.client_models import MEMORY
from tests.support.client_room import Room, has_own_network, program_of

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.clients,
    pytest.mark.skipif(not has_own_network(), reason="needs a network of its own"),
]
TOOLS = [
    pytest.param(
        tool,
        marks=pytest.mark.skipif(program_of(tool) is None, reason="`make clients` installs it"),
    )
    for tool in ("claude-code", "codex")
]


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    with Room(tmp_path) as made:
        yield made


def newest_run(room: Room) -> dict[str, Any]:
    (newest, *_) = room.json("runs", "list")["items"]
    found: dict[str, Any] = room.json("runs", "show", newest["run_id"])
    return found


@pytest.mark.parametrize("tool", TOOLS)
def test_reviewed_learnings_reach_the_model_at_the_start_and_with_the_prompt(
    room: Room, tool: str
) -> None:
    room.connect(tool)
    room.understudy("learn", "Answer in short sentences", "--always")
    room.understudy("learn", "The staging port is 8443")
    room.say(tool, "What is the staging port?")

    sent = room.last_prompt()
    assert "Answer in short sentences" in sent
    assert "The staging port is 8443" in sent
    run = newest_run(room)
    assert run["request"]["text_preview"] == "What is the staging port?"
    assert "8443" in str(run["remembered"])
    assert "so far" in room.understudy("connect", "status").stdout


@pytest.mark.parametrize("tool", TOOLS)
def test_a_write_to_memory_is_held_and_applied_from_the_inbox(room: Room, tool: str) -> None:
    room.connect(tool)
    room.say(tool, "please remember that I like tabs")

    memory = room.project / "MEMORY.md"
    assert not memory.exists()
    assert "holds this write for review" in room.last_prompt()
    (item,) = room.json("inbox", "--kind", "soul_proposal")["items"]
    shown = room.json("agents", "proposals", "show", tool, item["id"])
    assert f"+{MEMORY.strip()}" in shown["diff"]
    room.understudy("agents", "proposals", "approve", tool, item["id"])
    assert memory.read_text() == MEMORY


@pytest.mark.parametrize("tool", TOOLS)
def test_a_turn_leaves_its_typed_words_and_the_taint_of_what_was_read(
    room: Room, tool: str
) -> None:
    (room.project / "notes.txt").write_text("Deploy on Mondays.\n")
    room.connect(tool)
    room.say(tool, "Preference: Indent with tabs. And please read notes.txt")

    run = newest_run(room)
    assert (
        run["request"]["text_preview"] == "Preference: Indent with tabs. And please read notes.txt"
    )
    assert run["usage"]["tool_calls"] == 1
    events = room.json("sessions", "events", run["session_id"])["items"]
    (result,) = [it["data"] for it in events if it["kind"] == "tool_result"]
    assert "Deploy on Mondays" in result["content"]
    candidate = room.candidate()
    assert candidate["content"].startswith("Indent with tabs")
    assert candidate["source"]["client"] == tool
    # What a person typed is theirs; the run has read text of others.
    assert not candidate.get("derived_from_untrusted")
    assert result["name"] in room.taint(run["run_id"])


@pytest.mark.parametrize("tool", TOOLS)
def test_the_client_searches_reviewed_memory(room: Room, tool: str) -> None:
    room.connect(tool)
    room.understudy("learn", "We deploy on Tuesdays")
    # A daemon loads its MCP server with the first request, for which no client waits.
    room.say(tool, "hello")
    room.say(tool, "please search for it")

    assert "We deploy on Tuesdays" in room.last_prompt()
    assert newest_run(room)["usage"]["tool_calls"] == 1


@pytest.mark.parametrize("tool", TOOLS)
def test_the_client_works_on_when_the_daemon_is_gone(room: Room, tool: str) -> None:
    room.connect(tool)
    room.kill_daemon()

    assert "That is done." in room.say(tool, "please remember that I like tabs")
    assert (room.project / "MEMORY.md").read_text() == MEMORY
