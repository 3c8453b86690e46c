"""Deciding about the calls of several runs with one command."""

import json
import os

import pytest

from tests.api.commands import answer, invoke
from tests.api.live import Live
from tests.support.command_line_in_process import typed
from tests.support.command_line_process import Terminal
from tests.support.daemon import wait_for
from tests.support.environment import without_settings
from understudy.testing.answers import call

TEA = {
    "header": "Drinks",
    "question": "Tea or coffee?",
    "options": [{"label": "Tea"}, {"label": "Coffee"}],
}


def waiting(live: Live) -> tuple[str, str]:
    """A run that waits for an approval, and the approval's id."""
    session_id: str = live.ok("POST", "/v1/sessions", {})["session_id"]
    live.ok(
        "PUT",
        f"/v1/sessions/{session_id}/permissions",
        {"rules": [{"tool": "write_file", "decision": "ask"}]},
    )
    live.model.queue(call("write_file", {"path": f"{session_id}.txt", "content": "x"}))
    run_id = live.submit(session_id, "write it")

    def pending() -> list[str]:
        ids: list[str] = live.ok("GET", f"/v1/runs/{run_id}")["pending_approval_ids"]
        return ids

    (approval_id,) = wait_for(pending, 20, what="an approval to be asked for")
    return run_id, approval_id


@pytest.fixture
def two(live: Live) -> list[tuple[str, str]]:
    """Two runs that wait, each with its approval."""
    return [waiting(live), waiting(live)]


def test_approvals_of_several_runs_are_answered_with_one_document(
    live: Live, two: list[tuple[str, str]]
) -> None:
    live.model.queue("done", "done")

    told = answer(live, "approvals", "allow", *(approval for _, approval in two))

    assert [item["run_id"] for item in told["items"]] == [run for run, _ in two]
    for run, _ in two:
        assert live.finished(run)["status"] == "completed"


def test_a_refusal_after_the_first_run_is_the_only_document_and_says_what_was_done(
    live: Live, two: list[tuple[str, str]]
) -> None:
    (first_run, first), (second_run, second) = two
    live.model.queue("done", "done")
    invoke(live, "approvals", "allow", second)
    live.finished(second_run)

    result = invoke(live, "approvals", "allow", first, second, "--json", exit_code=4)

    assert json.loads(result.stdout)["code"] == "approval_state_conflict"
    assert f"decided before this: what {first_run} waited for" in result.stderr
    assert live.finished(first_run)["status"] == "completed"


def test_approvals_of_one_run_are_answered_with_the_run(
    live: Live, two: list[tuple[str, str]]
) -> None:
    live.model.queue("done", "done")
    for run, approval in two:
        assert answer(live, "approvals", "allow", approval)["run_id"] == run
        live.finished(run)


def test_a_suggestion_names_the_daemon_that_was_named(live: Live) -> None:
    run, approval = waiting(live)

    shown = invoke(live, "runs", "show", run).stdout

    assert f"understudy --url {live.client.base_url} approvals allow {approval}" in shown
    live.ok("POST", f"/v1/runs/{run}/cancel")


def test_a_review_at_a_terminal_asks_about_calls_and_questions_of_runs_first(live: Live) -> None:
    run_id, approval_id = waiting(live)
    asking = live.ok("POST", "/v1/sessions", {})["session_id"]
    live.model.queue(call("ask_user", {"questions": [TEA]}))
    asked_by = live.submit(asking, "ask me")
    wait_for(lambda: live.ok("GET", f"/v1/runs/{asked_by}")["pending_questions"], 20, what="it")
    live.model.queue("done", "done")
    line = ["--url", str(live.client.base_url), "review", "next"]
    terminal = Terminal(line, {**without_settings(os.environ), "TZ": "UTC"})
    try:
        terminal.wait_for("[w] later")
        assert "write_file" in terminal.screen
        terminal.type("a")
        terminal.wait_for("1 allowed")
        terminal.wait_for("Tea or coffee?")
        terminal.type("1")
        terminal.wait_for("1 answered")
        terminal.wait_for("nothing waits for a person")
        assert terminal.process.wait(20) == 0
    finally:
        terminal.close()

    assert live.finished(run_id)["status"] == "completed"
    assert live.finished(asked_by)["status"] == "completed"
    assert live.ok("GET", f"/v1/approvals/{approval_id}")["state"] == "allowed"


def test_a_piped_review_allows_no_call_and_says_what_waits(live: Live) -> None:
    run_id, approval_id = waiting(live)

    url = str(live.client.base_url)
    told = typed("--url", url, "review", "next", stdin="a\na\n")

    assert live.ok("GET", f"/v1/approvals/{approval_id}")["state"] == "pending"
    assert told.stderr.startswith("1 approval waiting: `understudy --url ")
    assert "inbox --kind approval` lists, `understudy --url " in told.stderr
    assert told.stderr.endswith("approvals review` decides\n")
    live.model.queue("done")
    invoke(live, "approvals", "deny", approval_id, "--reason", "no")
    live.finished(run_id)
