"""`understudy rollouts` against a daemon that carries out what is tried."""

import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.api.live import Live
from tests.support.command_line_in_process import Typed, typed
from understudy.client import Client

MARKER = "NOTES_OK"
NUMBERS = count(1)


def invoke(live: Live, *line: str, exit_code: int = 0, stdin: str | None = None) -> Typed:
    done = typed("--url", str(live.client.base_url), "rollouts", *line, stdin=stdin)
    assert done.exit_code == exit_code, done.output
    return done


def answer(live: Live, *line: str, **more: Any) -> Any:
    """The JSON that a command printed; the daemon in this process logs to the same place."""
    printed = invoke(live, *line, "--json", **more).stdout.splitlines()
    (found,) = (line for line in printed if line.startswith("{"))
    return json.loads(found)


@pytest.fixture
def learning_id(live: Live) -> str:
    """A procedure that nobody promoted."""
    said = {
        "scope": {"kind": "workspace", "id": "default"},
        "kind": "procedure",
        "content": f"Write the notes number {next(NUMBERS)}.",
    }
    candidate_id = live.ok("POST", "/v1/learning-candidates", said)["candidate_id"]
    published = live.ok("POST", f"/v1/learning-candidates/{candidate_id}/publish", {})
    return str(published["learning_id"])


@pytest.fixture
def name(live: Live, learning_id: str) -> str:
    """A draft of it."""
    name = f"notes-{next(NUMBERS)}"
    invoke(live, "promote", learning_id, name, "Read the log, then write the notes.")
    return name


def test_a_procedure_becomes_a_skill_and_is_taken_back(live: Live, name: str) -> None:
    live.model.queue("I forgot.", f"Done: {MARKER}", f"Again: {MARKER}")

    failed = invoke(live, "trial", name, "--expect", MARKER, "--wait", exit_code=1)
    stuck = invoke(live, "advance", name, exit_code=4)
    astray = invoke(live, "advance", name, "--to", "canary", exit_code=4)
    passed = invoke(live, "trial", name, "--expect", MARKER, "--params", "version 1", "--wait")
    verified = invoke(live, "advance", name)
    canary = invoke(live, "advance", name)
    tried = answer(live, "trial", name, "--expect", MARKER, "--wait")
    active = answer(live, "advance", name)
    shown = invoke(live, "show", name)
    listed = invoke(live, "list", "--status", "active")
    events = invoke(live, "events", name)
    trials = invoke(live, "trials", name)
    revoked = invoke(live, "revoke", name, "--reason", "wrong")
    over = invoke(live, "advance", name, exit_code=4)
    again = invoke(live, "revoke", name, exit_code=4)
    restored = answer(live, "rollback", name)
    nowhere = invoke(live, "rollback", name, "--to-version", "4711", exit_code=4)
    last = answer(live, "advance", name, exit_code=4)

    assert f"{name} was never active as version '4711'" in nowhere.stderr
    assert "lacks the marker" in failed.stdout
    assert "needs one accepted verification" in stuck.stderr
    assert f"rollouts trial {name} --expect" in stuck.stderr
    assert "promoting leads from draft to verified, not to canary" in astray.stderr
    assert f"{name} is revoked: roll it back" in over.stderr
    assert f"{name} is revoked already" in again.stderr
    assert (last["code"], last["status"]) == ("no_next_stage", 409)
    assert "state        passed" in passed.stdout
    assert f"{name} is verified" in verified.stderr
    assert "next is canary: nothing is missing" in verified.stderr
    assert "needs one successful canary" in canary.stderr
    assert (tried["kind"], tried["state"]) == ("canary", "passed")
    assert (active["status"], active["executed_run_count"]) == ("active", 2)
    assert "Read the log, then write the notes." in shown.stdout
    assert "1 succeeded, 0 failed" in shown.stdout
    assert active["skill_path"] in shown.stdout
    assert name in listed.stdout
    assert events.stdout.count("promote") == 4
    assert "verification succeeded" in events.stdout
    assert trials.stdout.count("passed") == 2
    assert f"{name} is revoked" in revoked.stderr
    assert restored["status"] == "active"


def test_a_trial_can_do_without_anything_to_look_for(live: Live, name: str) -> None:
    live.model.queue("I did it.", "I did it again.", "And again.")

    passed = answer(live, "trial", name, "--wait")
    path = f"/v1/learning-skills/{name}/trial"
    bare = live.client.post(f"{path}?wait_ms=60000")
    begun = live.client.post(path, json={})

    assert (passed["state"], "expected_output_contains" in passed) == ("passed", False)
    assert (bare.status_code, bare.json()["state"]) == (200, "passed")
    assert (begun.status_code, begun.json()["state"]) == (202, "pending")
    with Client(str(live.client.base_url)) as client:
        # Otherwise its run would be given the answers of the next test.
        client.rollouts.wait_trial(name, begun.json()["trial_id"], timeout_s=30)
    assert answer(live, "advance", name)["executed_run_count"] == 3


def test_what_belongs_to_a_trial_says_so(live: Live, name: str) -> None:
    live.model.queue("I did it.")

    trial = live.client.post(f"/v1/learning-skills/{name}/trial?wait_ms=60000").json()

    run = live.client.get(f"/v1/runs/{trial['run_id']}").json()
    session = live.client.get(f"/v1/sessions/{trial['session_id']}").json()
    assert (run["trial_id"], session["trial_id"]) == (trial["trial_id"], trial["trial_id"])
    assert "parent_session_id" not in session
    mine = {"trial_id": trial["trial_id"]}
    assert live.client.post("/v1/sessions", json=mine).status_code == 400


def test_a_run_is_taken_at_somebodys_word(live: Live, name: str) -> None:
    live.session(f"of-{name}")
    live.model.queue(f"{MARKER}, as you see")
    run_id = live.run(f"of-{name}", "Write the notes.")["run_id"]
    fingerprint = answer(live, "show", name)["definition_fingerprint"]

    other = ["result", name, run_id, "--expect", MARKER, "--fingerprint"]
    invoke(live, *other, "0" * 64, exit_code=4)
    taken = answer(live, *other, fingerprint)

    assert [each["proof"] for each in taken["evidence_refs"]] == ["attested"]
    assert run_id in invoke(live, "show", name).stdout


def test_changes_are_printed_as_a_patch(
    live: Live, learning_id: str, name: str, tmp_path: Path
) -> None:
    same = invoke(live, "diff", name)
    file = tmp_path / "notes.md"
    file.write_text("Read the log.\nWrite the notes.\n")
    more = ("--description", "Writes notes", "--allow-tool", "read_file", "--block-tool", "shell")
    changed = answer(live, "promote", learning_id, name, "--file", str(file), *more)
    piped = invoke(live, "promote", learning_id, name, "-", *more, stdin="Write the notes.\n")

    whole = invoke(live, "diff", name, "1")
    last = invoke(live, "diff", name)
    history = invoke(live, "history", name)

    assert "it has always said this" in same.stderr
    assert changed["runtime"]["blocked_tools"] == ["shell"]
    assert f"{name} is draft" in piped.stderr
    assert '+description: "Writes notes"' in whole.stdout
    assert '+allowed_tools: ["read_file"]' in whole.stdout
    assert "-Read the log.\n" in last.stdout
    assert "+description" not in last.stdout
    assert [line.split()[0] for line in history.stdout.splitlines()] == ["REVISION", "2", "1"]


def test_the_text_may_be_given_as_an_option(live: Live, learning_id: str) -> None:
    draft = ("promote", learning_id, f"notes-{next(NUMBERS)}")

    made = answer(live, *draft, "--instructions", "Write them.")
    piped = answer(live, *draft, "--instructions", "-", stdin="Write them twice.\n")

    assert made["instructions"] == "Write them."
    assert piped["instructions"] == "Write them twice."
    invoke(live, *draft, "Both", "--instructions", "of them", exit_code=2)
    invoke(live, *draft, exit_code=2)


def test_a_rollout_is_held_and_released(live: Live, name: str) -> None:
    held = invoke(live, "hold", name, "--reason", "wait for the audit")
    listed = invoke(live, "list")
    released = invoke(live, "release", name)

    assert f"{name} is draft (held)" in held.stderr
    assert "held: wait for the audit" in held.stderr
    assert "draft (held)" in listed.stdout
    assert "next is verified" in released.stderr


def test_what_failed_as_a_canary_is_shown_the_way_back_to_draft(live: Live, name: str) -> None:
    live.session(f"of-{name}")
    live.model.queue(MARKER, "no")
    for kind, steps in (("verification", 2), ("canary", 0)):
        run_id = live.run(f"of-{name}", "Write the notes.")["run_id"]
        invoke(live, "result", name, run_id, "--expect", MARKER, "--kind", kind)
        for _ in range(steps):
            invoke(live, "advance", name)

    released = invoke(live, "release", name)
    refused = invoke(live, "advance", name, exit_code=4)

    for told in (released, refused):
        assert f"rollouts advance {name} --to draft` begins anew" in told.stderr


def test_what_is_not_there_is_told_with_what_to_do(live: Live) -> None:
    missing = invoke(live, "show", "none", exit_code=3)
    as_json = answer(live, "advance", "none", exit_code=3)

    assert "rollouts list" in missing.stderr
    assert as_json["code"] == "rollout_not_found"
    invoke(live, "trial", "none", exit_code=3)
    invoke(live, "list", "--status", "famous", exit_code=2)


def test_what_a_rollout_says_cannot_drive_the_terminal(live: Live, learning_id: str) -> None:
    name = f"notes-{next(NUMBERS)}"
    invoke(live, "promote", learning_id, name, "Say \u200fthis", exit_code=2)
    invoke(live, "promote", learning_id, name, "Say this", "--description", "[red]Bold[/red]")

    assert "[red]Bold[/red]" in invoke(live, "list").stdout


def test_what_will_not_work_here_is_told_with_a_draft(live: Live, learning_id: str) -> None:
    made = invoke(live, "promote", learning_id, "odd", "Do it.", "--allow-tool", "gone")
    shown = invoke(live, "show", "odd")

    assert "warning: this daemon has no tool gone" in made.stderr
    assert "this daemon has no tool gone" in shown.stdout
