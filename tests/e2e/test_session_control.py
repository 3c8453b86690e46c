"""kill -9 while a session is given skills, keys and files: each is there once, and reaches the model."""

import base64
import threading
import time
from contextlib import suppress
from typing import Any

import httpx2
import pytest

from tests.e2e.conftest import DaemonWithModel
from tests.support.daemon import DaemonProcess, wait_for
from tests.support.skill_service_harness import skill_md

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
ROUNDS = 3
RULES = "Count the spoons before supper."


def give(daemon: DaemonProcess, number: int) -> str:
    """Activate a skill, and submit a run with a key and a file, once for all retries."""
    here = f"/v1/sessions/s{number}"
    # A key that the killed daemon held is free soon after the restart.
    keyed = {"Idempotency-Key": f"skill{number}"}
    daemon.post(f"{here}/active-skills", {"name": "spoons"}, headers=keyed)
    text = base64.b64encode(f"Drawer {number} has forks.".encode()).decode()
    body = {
        "content": "Read it.",
        "binding_keys": [f"room:{number}"],
        "attachments": [{"file_name": "drawer.txt", "content_base64": text}],
    }
    keyed = {"Idempotency-Key": f"run{number}"}
    run: dict[str, Any] = daemon.post(f"{here}/runs", body, headers=keyed)
    return str(run["run_id"])


def test_what_steers_a_session_is_there_once_over_kills(live: DaemonWithModel) -> None:
    daemon, model = live.daemon, live.model
    daemon.post("/v1/skills", {"content": skill_md("Spoons", body=RULES), "slug": "spoons"})
    for number in range(ROUNDS):
        daemon.post("/v1/sessions", {"session_id": f"s{number}"})

    def try_to(number: int) -> None:
        with suppress(httpx2.TransportError, AssertionError):
            give(daemon, number)

    runs = []
    for number in range(ROUNDS):
        trying = threading.Thread(target=try_to, args=[number])
        trying.start()
        # Each time a little later, so that the end comes before, within and after them.
        time.sleep(number * 0.03)
        daemon.kill()
        trying.join()
        daemon.start()
        runs.append(give(daemon, number))
        assert give(daemon, number) == runs[-1]

    for number, run_id in enumerate(runs):
        assert daemon.wait_for_run(run_id)["status"] == "completed"
        here = f"/v1/sessions/s{number}"
        [skill] = daemon.get(f"{here}/active-skills")["items"]
        assert (skill["slug"], skill["state"]) == ("spoons", "in_prompt")
        changes = daemon.get(f"{here}/events?kind=session")["items"]
        told = [each["data"]["type"] for each in changes]
        assert told.count("activate_skill") == 1
        [bound] = daemon.get(f"{here}/bindings")["items"]
        [found] = daemon.get(f"/v1/sessions?binding_key=room:{number}")["items"]
        assert (bound["binding_key"], found["session_id"]) == (f"room:{number}", f"s{number}")
        [run] = daemon.get(f"/v1/runs?session_id=s{number}")["items"]
        [asset] = run["input_attachments"]
        assert daemon.get(f"/v1/assets/{asset}")["file_name"] == "drawer.txt"

    def all_there() -> bool:
        return len(daemon.get("/v1/assets")["items"]) == ROUNDS

    wait_for(all_there, what="one file for each run")
    last = {number: _asked(model.requests, number) for number in range(ROUNDS)}
    for seen in last.values():
        assert seen.system.count(RULES) == 1


def _asked(requests: Any, number: int) -> Any:
    """The last request that has the file of a run."""
    return [each for each in requests if f"Drawer {number} has forks." in str(each.body)][-1]
