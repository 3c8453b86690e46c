"""kill -9 in the middle of the start of a task and of a flow: nothing doubled, nothing lost."""

import threading
import time
from collections import Counter
from contextlib import suppress

import httpx2
import pytest

from tests.e2e.conftest import DaemonWithModel
from tests.support.daemon import DaemonProcess, wait_for
from tests.support.playbook_factories import manifest

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
STARTS = 4
TASKS = "/v1/projects/p/tasks"


def prepare(daemon: DaemonProcess) -> dict[str, str]:
    daemon.post("/v1/sessions", {"session_id": "s1"})
    members = [{"member_id": "s1"}]
    daemon.post("/v1/projects", {"project_id": "p", "display_name": "P", "members": members})
    for number in range(STARTS):
        assignment = {"assignee_member_id": "s1"}
        body = {"project_task_id": f"t{number}", "title": "Do it", "assignment": assignment}
        daemon.post(TASKS, body)
    made = daemon.post("/v1/playbooks", {"manifest": manifest(phases=[])})["selected_version"]
    ref = {"version": "1", "digest": made["digest"]}
    evidence = [{"kind": "manual", "id": "x"}]
    daemon.post("/v1/playbooks/release/publish", {**ref, "evidence_refs": evidence})
    return {"playbook_id": "release", **ref}


def start(daemon: DaemonProcess, ref: dict[str, str], number: int) -> tuple[str, str]:
    """Start a task and a flow, each under the key that a retry has again."""
    task = daemon.post(f"{TASKS}/t{number}/start", {}, headers={"Idempotency-Key": f"task{number}"})
    body = {"playbook_ref": ref, "session_id": "s1", "request": {"content": f"flow {number}"}}
    flow = daemon.post("/v1/flows", body, headers={"Idempotency-Key": f"flow{number}"})
    return task["run_id"], flow["flow_id"]


def test_each_starts_once_over_kills(live: DaemonWithModel) -> None:
    daemon = live.daemon
    ref = prepare(daemon)

    def try_to(number: int) -> None:
        with suppress(httpx2.TransportError, AssertionError):
            start(daemon, ref, number)

    for number in range(STARTS):
        trying = threading.Thread(target=try_to, args=[number])
        trying.start()
        # Each time a little later, so that the end comes before, within and after the two.
        time.sleep(number * 0.02)
        daemon.kill()
        trying.join()
        daemon.start()
        assert start(daemon, ref, number) == start(daemon, ref, number)

    def all_done() -> bool:
        return all("finished_at_ms" in each for each in daemon.get("/v1/runs?limit=200")["items"])

    wait_for(all_done, 90, what="every run to end")
    runs = daemon.get("/v1/runs?limit=200")["items"]
    assert Counter(each["status"] for each in runs) == {"completed": 2 * STARTS}
    tasks = daemon.get(TASKS)["items"]
    assert [each["status"] for each in tasks] == ["completed"] * STARTS
    started = [each["input_metadata"].get("project_task_id") for each in runs]
    assert sorted(filter(None, started)) == [f"t{number}" for number in range(STARTS)]
    flows = daemon.get("/v1/flows")["items"]
    assert [each["status"] for each in flows] == ["succeeded"] * STARTS
