"""What contradicts a learning, at the terminal: replaced or kept beside it by a key or a flag."""

import json
import os
from itertools import count
from typing import Any

import pytest

from tests.api.live import Live
from tests.support.command_line_in_process import Typed, typed
from tests.support.command_line_process import Terminal
from tests.support.environment import without_settings

NUMBERS = count(1)


def invoke(live: Live, *line: str, exit_code: int = 0) -> Typed:
    result = typed("--url", str(live.client.base_url), *line)
    assert result.exit_code == exit_code, result.output
    return result


@pytest.fixture
def scope(live: Live) -> str:
    """A session of its own, so that no test finds what another left."""
    name = f"rival{next(NUMBERS)}"
    live.session(name)
    return f"session:{name}"


def body(scope: str, content: str) -> dict[str, Any]:
    kind, _, name = scope.partition(":")
    return {"scope": {"kind": kind, "id": name}, "kind": "fact", "content": content}


def learn(live: Live, scope: str, content: str) -> str:
    return str(live.ok("POST", "/v1/learnings", body(scope, content))["learning_id"])


@pytest.mark.parametrize("option", ["--supersedes", "--beside"])
def test_learn_replaces_what_it_contradicts_or_keeps_both(
    live: Live, scope: str, option: str
) -> None:
    known = learn(live, scope, "The gate code is Amber")
    chosen = (option, known) if option == "--supersedes" else (option,)

    line = ("learn", "The gate code is Cobalt", "--scope", scope, *chosen, "--json")
    made = json.loads(invoke(live, *line).stdout)

    old = live.ok("GET", f"/v1/learnings/{known}")
    assert made["status"] == "active"
    assert old["status"] == ("superseded" if option == "--supersedes" else "active")


@pytest.mark.parametrize("key", ["s", "b", "q"])
def test_one_key_at_a_terminal_replaces_what_is_contradicted_or_keeps_both(
    live: Live, scope: str, key: str
) -> None:
    known = learn(live, scope, "The gate code is Amber")
    line = ["learn", "The gate code is Cobalt", "--scope", scope]
    env = {**without_settings(os.environ), "TZ": "UTC"}
    terminal = Terminal(["--url", str(live.client.base_url), *line], env)
    try:
        terminal.wait_for("any other key: leave it as it is ")
        assert f"it contradicts {known}: The gate code is Amber" in terminal.screen
        terminal.screen = ""
        terminal.press(key)
        terminal.wait_for("contradicts" if key == "q" else "is active")
        assert terminal.process.wait(20) == (4 if key == "q" else 0)
    finally:
        terminal.close()

    wanted = {"s": {"The gate code is Cobalt"}, "q": {"The gate code is Amber"}}
    name = scope.removeprefix("session:")
    here = f"scope_kind=session&scope_id={name}&status=active"
    held = {it["content"] for it in live.ok("GET", f"/v1/learnings?{here}")["items"]}
    assert held == wanted.get(key, {"The gate code is Cobalt", "The gate code is Amber"})


def test_a_candidate_is_published_beside_what_it_contradicts_by_a_flag(
    live: Live, scope: str
) -> None:
    known = learn(live, scope, "The gate code is Amber")
    new = body(scope, "The gate code is Cobalt")
    candidate_id = live.ok("POST", "/v1/learning-candidates", new)["candidate_id"]
    line = ["candidates", "publish", candidate_id, "--scope", scope]

    assert known in invoke(live, *line, exit_code=4).stderr
    invoke(live, *line, "--beside")

    assert live.ok("GET", f"/v1/learnings/{known}")["status"] == "active"
    assert live.ok("GET", f"/v1/learning-candidates/{candidate_id}")["state"] == "published"
