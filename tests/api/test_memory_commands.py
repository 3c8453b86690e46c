"""`understudy memory` and `understudy policy run-memory` against a daemon."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.live import Live
from tests.support.command_line_in_process import typed
from tests.support.command_line_process import Terminal
from tests.support.environment import without_settings
from understudy.client import Client

POLICY = "/v1/runtime/run-memory-policy"


@pytest.fixture(scope="module")
def runs(live: Live) -> list[str]:
    """Three runs of the session s1, oldest first."""
    live.session("s1")
    asked = ("the codename is Atlas", "peel a banana", "peel another banana")
    return [str(live.run("s1", text)["run_id"]) for text in asked]


@pytest.fixture
def policy(live: Live) -> Iterator[Live]:
    """A daemon with the policy that it came with, afterwards too."""
    live.ok("POST", POLICY, {"enabled": True})
    yield live
    live.ok("POST", POLICY, {"enabled": True})


def run(live: Live, *line: str, exit_code: int = 0, stdin: str | None = None) -> str:
    url = str(live.client.base_url)
    result = typed("--url", url, *line, stdin=stdin)
    assert result.exit_code == exit_code, result.output
    return result.stdout


def answer(live: Live, *line: str) -> Any:
    return json.loads(run(live, *line, "--json"))


def test_the_context_lists_what_the_next_run_is_told(live: Live, runs: list[str]) -> None:
    shown = run(live, "memory", "context", "s1", "--query", "the Atlas codename").splitlines()

    assert shown[0].split() == ["RUN", "STATUS", "RECORDED", "SUMMARY"]
    assert shown[1].startswith(runs[0])
    assert "Request: the codename is Atlas" in shown[1]
    as_json = answer(live, "memory", "context", "s1")
    assert [entry["run_id"] for entry in as_json["recovered_memory"]["entries"]] == runs[::-1]
    run(live, "memory", "context", "nobody", exit_code=3)


def test_a_search_lists_what_was_found(live: Live, runs: list[str]) -> None:
    found = run(live, "memory", "search", "s1", "--query", "banana", "--limit", "1")
    browsed = run(live, "memory", "search", "s1")

    assert runs[2] in found
    assert runs[1] not in found
    assert "SCORE" in found
    assert "SCORE" not in browsed
    assert all(run_id in browsed for run_id in runs)
    assert "Nothing matches." in run(live, "memory", "search", "s1", "-q", "zeppelin")
    assert (
        answer(live, "memory", "search", "s1", "-q", "atlas")["results"][0]["source_id"]
        == (runs[0])
    )
    run(live, "memory", "search", "s1", "--limit", "51", exit_code=2)
    run(live, "memory", "search", "s1", "-q", "x" * 5000, exit_code=2)


def test_an_explanation_says_why(live: Live, runs: list[str]) -> None:
    shown = run(live, "memory", "explain", "s1", "--query", "atlas codename")
    report = run(live, "memory", "explain", "--run", runs[-1])

    assert "it matches the input" in shown
    assert "summary: " in shown
    assert "nothing in the input matches it" in shown
    assert answer(live, "memory", "explain", "s1")["learned_relevance_floor"] == 0.38
    assert runs[1] in report
    assert all("Request: " in text for text in (shown, report))
    assert answer(live, "memory", "explain", "--run", runs[-1])["injected_count"] == 2
    for line in ([], ["s1", "--run", runs[0]], ["--run", runs[0], "-q", "x"]):
        run(live, "memory", "explain", *line, exit_code=2)
    run(live, "memory", "explain", "--run", "nothing", exit_code=3)


@pytest.mark.parametrize("command", ["context", "search", "explain"])
def test_a_query_is_an_argument_or_an_option(live: Live, runs: list[str], command: str) -> None:
    asked = answer(live, "memory", command, "s1", "-q", "Atlas")

    assert asked != answer(live, "memory", command, "s1")
    assert asked == answer(live, "memory", command, "s1", "Atlas")
    assert asked == answer(live, "memory", command, "s1", "Atlas", "-q", "Atlas")
    run(live, "memory", command, "s1", "Atlas", "-q", "banana", exit_code=2)


def test_a_record_is_shown_listed_and_forgotten(live: Live) -> None:
    live.session("s2")
    run_id = str(live.run("s2", "a secretive errand")["run_id"])

    shown = run(live, "memory", "show", run_id)

    assert "Request: a secretive errand" in shown
    assert "session:s2, workspace:default" in shown
    assert "request in full" not in shown
    assert "request in full" in run(live, "memory", "show", run_id, "--evidence")
    listed = run(live, "memory", "list", "--session", "s2")
    assert run_id in listed
    assert answer(live, "memory", "list")["items"]
    # Nobody is there to be asked.
    run(live, "memory", "forget", run_id, exit_code=2)
    assert run_id in run(live, "memory", "list", "--session", "s2")
    run(live, "memory", "forget", run_id, "--yes")
    assert "Nothing matches --session s2." in run(live, "memory", "list", "--session", "s2")
    run(live, "memory", "forget", run_id, "--yes", exit_code=3)
    run(live, "memory", "show", run_id, exit_code=3)


def test_a_person_is_asked_before_a_run_is_forgotten(live: Live) -> None:
    live.session("s3")
    run_id = str(live.run("s3", "an errand")["run_id"])
    line = ["--url", str(live.client.base_url), "memory", "forget", run_id]
    terminal = Terminal(line, {**without_settings(os.environ), "TZ": "UTC"})
    try:
        terminal.wait_for("Forget run")
        terminal.type("n")
        assert terminal.process.wait(20) == 1
    finally:
        terminal.close()

    assert run_id in run(live, "memory", "list", "--session", "s3")


def test_fields_of_the_policy_are_changed_one_by_one(policy: Live) -> None:
    command = ("policy", "run-memory")
    run(policy, *command, "set", "max_prompt_entries=2")

    shown = run(policy, *command, "set", "redact_pii=false", "relevance_floor=0.5")

    assert shown.splitlines()[2:] == run(policy, *command, "show").splitlines()[2:]
    changed = answer(policy, *command, "show")
    assert changed["policy"]["max_prompt_entries"] == 2
    assert changed["policy"]["redact_pii"] is False
    assert changed["policy"]["relevance_floor"] == 0.5
    stale = ("--expected-revision", str(changed["revision"] - 1))
    run(policy, *command, "set", "enabled=false", *stale, exit_code=4)
    assert answer(policy, *command, "show") == changed


def test_a_whole_policy_comes_from_a_file_or_stdin(policy: Live, tmp_path: Path) -> None:
    command = ("policy", "run-memory", "set")
    file = tmp_path / "policy.json"
    file.write_text('{"max_prompt_entries": 1}')

    from_file = answer(policy, *command, "--file", str(file))
    wrapped = json.dumps({"policy": {"max_prompt_entries": 2}, "revision": 1})
    typed = run(policy, *command, "--stdin", "--json", stdin=wrapped)

    assert from_file["policy"]["max_prompt_entries"] == 1
    assert json.loads(typed)["policy"]["max_prompt_entries"] == 2


@pytest.mark.parametrize(
    "line",
    [
        [],
        ["max_prompt_entries"],
        ["=2"],
        ["max_prompt_entries=many"],
        ["max_prompt_entries=NaN"],
        ["no_such_field=1"],
        ["enabled=false", "--stdin"],
        ["--file", "/nowhere/policy.json"],
    ],
)
def test_a_wrong_policy_is_a_mistake_on_the_command_line(policy: Live, line: list[str]) -> None:
    run(policy, "policy", "run-memory", "set", *line, exit_code=2)


def test_revisions_are_listed_and_brought_back(policy: Live) -> None:
    command = ("policy", "run-memory")
    before = answer(policy, *command, "show")
    run(policy, *command, "set", "max_prompt_entries=2")

    back = answer(policy, *command, "rollback", str(before["revision"]))

    assert back["policy"] == before["policy"]
    listed = run(policy, *command, "revisions")
    assert listed.splitlines()[0].startswith("REVISION")
    assert listed.splitlines()[1].startswith(str(back["revision"]))
    run(policy, *command, "rollback", "99999", exit_code=3)


def test_the_client_knows_memories_and_the_policy(policy: Live, runs: list[str]) -> None:
    with Client(str(policy.client.base_url)) as client:
        assert client.memory.context("s1").recovered_memory is not None
        assert client.memory.search("s1", query="atlas", limit=5).results[0].source_id == runs[0]
        assert client.memory.explain("s1").entries[0].injected
        assert client.memory.report(runs[0]).reason == "reported"
        assert client.run_memories.get(runs[0], evidence=True).evidence is not None
        listed = [item.run_id for item in client.run_memories.list(session_id="s1")]
        assert listed == runs[::-1]
        current = client.run_memory_policy.get()
        changed = client.run_memory_policy.set({"max_prompt_entries": 1})
        assert changed.revision == current.revision + 1
        assert (
            client.run_memory_policy.revisions_page(limit=1).items[0].revision == changed.revision
        )
        assert client.run_memory_policy.roll_back().policy == current.policy
        assert client.runtime.get().run_memory_policy == current.policy
