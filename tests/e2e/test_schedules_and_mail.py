"""Schedules and mail with real daemons: killed, restarted, and two at a time."""

import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import DaemonWithModel, routes_to
from tests.support.daemon import DaemonProcess, wait_for
from tests.support.postgres import MakeDatabase
from understudy.testing.fake_model import FakeModel

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

SCHEDULES = 12
MESSAGES = 4


def fill(daemon: DaemonProcess, *, apart_ms: int) -> None:
    """Schedules that fire one after the other from now on, and mail, in a few sessions."""
    for session in ("s0", "s1", "s2"):
        daemon.post("/v1/sessions", {"session_id": session})
    now = time.time_ns() // 1_000_000
    for number in range(SCHEDULES):
        daemon.post(
            "/v1/schedules",
            {
                "name": f"number {number}",
                "target_session_id": f"s{number % 3}",
                "cadence": {"type": "once", "fire_at_ms": now + 500 + number * apart_ms},
                "request": {"content": f"fire {number}"},
            },
        )
    for number in range(MESSAGES):
        daemon.post("/v1/mailboxes", {"session_id": f"s{number % 3}", "content": f"mail {number}"})


def all_done(daemon: DaemonProcess) -> bool:
    schedules = daemon.get("/v1/schedules")["items"]
    mail = [daemon.get(f"/v1/mailboxes/s{number}")["items"] for number in range(3)]
    runs = daemon.get("/v1/runs?limit=200")["items"]
    return (
        all(schedule["status"] == "completed" for schedule in schedules)
        and all(message["status"] == "acked" for box in mail for message in box)
        and all("finished_at_ms" in run for run in runs)
    )


def check_done(daemon: DaemonProcess) -> None:
    runs: list[dict[str, Any]] = daemon.get("/v1/runs?limit=200")["items"]
    fired = sorted(
        run["request"]["text_preview"] for run in runs if run["kind"] == "scheduled_input"
    )
    assert fired == sorted(f"fire {number}" for number in range(SCHEDULES))
    for schedule in daemon.get("/v1/schedules")["items"]:
        path = f"/v1/schedules/{schedule['schedule_id']}/executions"
        assert [item["status"] for item in daemon.get(path)["items"]] == ["submitted"]
    read = [run for run in runs if run["kind"] == "mailbox_delivery"]
    # A message is delivered at least once; here no run fails, so exactly once.
    assert len(read) == MESSAGES
    assert {run["status"] for run in runs} == {"completed"}


def test_each_fires_once_and_all_mail_is_read_over_kills(live: DaemonWithModel) -> None:
    daemon = live.daemon
    fill(daemon, apart_ms=700)
    for _ in range(4):
        time.sleep(0.9)
        daemon.kill()
        daemon.start()
    wait_for(lambda: all_done(daemon), 60, what="everything to be done")

    check_done(daemon)


@pytest.mark.postgres
def test_two_daemons_fire_each_once(
    tmp_path: Path, model: FakeModel, make_database: MakeDatabase
) -> None:
    url, config = make_database(), routes_to(model)
    first = DaemonProcess(tmp_path / "one", database_url=url, config=config).start()
    second = DaemonProcess(tmp_path / "two", database_url=url, config=config).start()
    with first, second:
        fill(first, apart_ms=0)
        wait_for(lambda: all_done(second), 60, what="everything to be done")
        check_done(second)
