"""kill -9 in the middle of background tasks: nothing doubled, nothing lost, nothing left running."""

import json
import os

import psutil
import pytest

from tests.e2e.conftest import DaemonWithModel
from tests.support.daemon import wait_for
from tests.support.receiver import Receiver

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
TASKS = "/v1/background-tasks"
# Tests that run beside these, in another process, start commands of their own.
LONG = f"97531.{os.getpid()}"


def plan(*commands: str) -> str:
    """What the fake model does: start these commands in the background, then say so."""
    calls = [[["shell", {"command": command, "background": True}]] for command in commands]
    return "plan: " + json.dumps({"tools": calls, "final": "started"})


def left() -> list[psutil.Process]:
    return [
        each
        for each in psutil.process_iter(["cmdline", "status"])
        if LONG in (each.info["cmdline"] or ()) and each.info["status"] != psutil.STATUS_ZOMBIE
    ]


def test_a_task_that_is_killed_with_its_daemon_fails_once_and_is_told_once(
    live: DaemonWithModel,
) -> None:
    daemon = live.daemon
    daemon.request(
        "PUT", "/v1/permissions", json={"rules": [{"tool": "shell", "decision": "allow"}]}
    )
    with Receiver() as hook:
        targets = [{"plugin": "http", "address": hook.url}]
        daemon.post("/v1/sessions", {"session_id": "s1"})
        body = {"content": plan("echo done", f"(setsid sleep {LONG} &); echo up; sleep {LONG}")}
        run = daemon.post("/v1/sessions/s1/runs", {**body, "reply_targets": targets})
        daemon.wait_for_run(run["run_id"])

        def both_printed() -> bool:
            items = daemon.get(TASKS)["items"]
            return len(items) == 2 and all(each["output_chars"] for each in items) and bool(left())

        wait_for(both_printed, 90, what="both commands to print")
        daemon.kill()
        wait_for(lambda: not left(), 90, what="the processes to end with their daemon")
        daemon.start()

        def all_told() -> bool:
            items = daemon.get(TASKS)["items"]
            told = all("message_id" in each for each in items)
            sent = [item["status"] for each in items for item in each["deliveries"]]
            return told and sent == ["delivered"] * 2

        wait_for(all_told, 90, what="both ends to be told")
        # A second death after that tells nobody anything again.
        daemon.kill()
        daemon.start()
        wait_for(lambda: _all_ended(live), 90, what="every run to end")
        # Whatever was in the outbox before this has been sent before it.
        last = daemon.post("/v1/sessions/s1/runs", {"content": "hello", "reply_targets": targets})
        wait_for(lambda: last["run_id"] in {each["run_id"] for each in hook.told}, 90)
        long, short = daemon.get(TASKS)["items"]
        assert (short["status"], short["exit_code"]) == ("completed", 0)
        assert (long["status"], long["terminal_reason"]) == ("failed", "daemon_restarted")
        assert daemon.get(f"{TASKS}/{long['task_id']}/output")["text"] == "up\n"
        told = [each for each in hook.told if "task_id" in each]
        assert sorted(each["task_id"] for each in told) == sorted(
            (short["task_id"], long["task_id"])
        )
        letters = daemon.get("/v1/mailboxes/s1?limit=200")["items"]
        assert sorted(each["message_id"] for each in letters) == sorted(
            (short["message_id"], long["message_id"])
        )
        runs = daemon.get("/v1/runs?limit=200")["items"]
        assert sorted(each["kind"] for each in runs) == [
            "input",
            "input",
            *["mailbox_delivery"] * 2,
        ]
        assert left() == []


def _all_ended(live: DaemonWithModel) -> bool:
    runs = live.daemon.get("/v1/runs?limit=200")["items"]
    return len(runs) == 3 and all("finished_at_ms" in each for each in runs)


def test_a_daemon_that_is_stopped_ends_its_tasks_and_says_so_at_its_next_start(
    live: DaemonWithModel,
) -> None:
    daemon = live.daemon
    daemon.request(
        "PUT", "/v1/permissions", json={"rules": [{"tool": "shell", "decision": "allow"}]}
    )
    daemon.post("/v1/sessions", {"session_id": "s1"})
    run = daemon.post("/v1/sessions/s1/runs", {"content": plan(f"echo up; sleep {LONG}")})
    daemon.wait_for_run(run["run_id"])
    wait_for(left, 90, what="the command to run")
    daemon.stop()
    assert left() == []
    daemon.start()
    [task] = daemon.get(TASKS)["items"]
    assert (task["status"], task["terminal_reason"]) == ("failed", "daemon_restarted")
