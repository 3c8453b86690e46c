"""Commands under a real daemon, and what they try against it."""

import os
from pathlib import Path

import psutil
import pytest

from tests.e2e.conftest import routes_to
from tests.support.daemon import DaemonProcess, wait_for
from tests.support.planned_runs import journal_of
from understudy.testing.answers import call
from understudy.testing.fake_model import FakeModel

pytestmark = pytest.mark.e2e
KEY = "sk-" + "of-the-daemon"
AWAY = "9841"


def answer_of(daemon: DaemonProcess, model: FakeModel, command: str) -> str:
    """What the model is told of a command that needs no approval."""
    session = daemon.post("/v1/sessions", {})["session_id"]
    rules = {"rules": [{"tool": "shell", "decision": "allow"}]}
    daemon.request("PUT", f"/v1/sessions/{session}/permissions", json=rules).raise_for_status()
    model.queue(call("shell", {"command": command}), "done")
    assert daemon.run(session, "go", timeout=60)["status"] == "completed"
    (result,) = [
        event["data"] for event in journal_of(daemon, session) if event["kind"] == "tool_result"
    ]
    return str(result["content"])


def sleepers() -> list[psutil.Process]:
    found = psutil.process_iter(["cmdline", "status"])
    return [each for each in found if each.info["cmdline"] == ["/bin/sleep", AWAY]]


def test_a_command_that_kills_its_supervisor_does_not_get_away_from_the_daemon(
    tmp_path: Path, model: FakeModel
) -> None:
    with DaemonProcess(tmp_path / "home", config=routes_to(model)) as daemon:
        run_away = f"env -i setsid /bin/sleep {AWAY} >/dev/null 2>&1 & sleep 0.3; kill -9 $PPID"
        told = answer_of(daemon, model, run_away)

        assert "outcome is unknown" in told
        assert sleepers() == []
        # Nothing of it is left among the daemon's own, not even unburied.
        assert wait_for(lambda: psutil.Process(daemon.pid).children() == [], 10)
        assert answer_of(daemon, model, "echo well") == "[exit code 0]\nwell\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is hidden from root")
def test_a_command_cannot_read_the_keys_of_the_daemon(tmp_path: Path, model: FakeModel) -> None:
    # Forked, it would show the environment of whom it was forked from.
    daemon = DaemonProcess(
        tmp_path / "home",
        env={"OPENAI_API_KEY": KEY},
        config=routes_to(model),
        by_command_line=True,
    )
    with daemon:
        told = answer_of(daemon, model, f"cat /proc/{daemon.pid}/environ")

    assert KEY not in told
    assert "denied" in told
