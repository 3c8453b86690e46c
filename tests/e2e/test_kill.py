"""The daemon is killed again and again in the middle of its work, and nothing is lost or doubled."""

import random
import re
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import routes_to
from tests.support.daemon import DaemonProcess, wait_for
from tests.support.planned_runs import MODEL_CALLS, all_ended, check_journal, journal_of, plan_for
from understudy.testing.answers import SeenRequest
from understudy.testing.fake_model import FakeModel

# Twenty starts of some seconds each, on a machine that does other things beside.
pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(360)]

SESSIONS = 20
RUNS_PER_SESSION = 10
KILLS = 20
# A run that five kills in a row find at the same step is given up, as it should be.
KILLS_WITHOUT_PROGRESS = 3


def steps_asked_for(requests: list[SeenRequest]) -> dict[str, list[tuple[int, int]]]:
    """For each run, by its label, which step each request was for and when it arrived."""
    asked = defaultdict(list)
    for request in requests:
        label, results = "", 0
        for turn in reversed(request.turns):
            if turn.role == "tool":
                results += 1
            if turn.role == "user" and (found := re.search(r"\[(.+?)\] plan:", turn.text)):
                label = found[1]
                break
        asked[label].append((results + 1, request.arrived_at_ms))
    return asked


def steps_by_session(model: FakeModel) -> Counter[str]:
    """How many steps of its runs each session has come to."""
    asked = steps_asked_for(list(model.requests))
    steps = {(label, step) for label, each in asked.items() for step, _ in each}
    return Counter(label.split("-")[0] for label, _ in steps)


def wait_for_progress(model: FakeModel) -> None:
    """Wait until each session has written down a step: a model is asked for the next one then."""
    before = steps_by_session(model)

    def advanced() -> bool:
        now = steps_by_session(model)
        all_steps = RUNS_PER_SESSION * MODEL_CALLS
        sessions = (f"s{number:02}" for number in range(SESSIONS))
        return all(now[each] >= min(before[each] + 2, all_steps) for each in sessions)

    wait_for(advanced, what="each session to advance")


def test_two_hundred_runs_survive_twenty_kills(tmp_path: Path, model: FakeModel) -> None:
    chance = random.Random(20)
    daemon = DaemonProcess(tmp_path / "home", config=routes_to(model)).start()
    with daemon:
        labels: dict[str, str] = {}
        sessions = [f"s{number:02}" for number in range(SESSIONS)]
        for session in sessions:
            daemon.post("/v1/sessions", {"session_id": session})
        for number in range(RUNS_PER_SESSION):
            for session in sessions:
                label = f"{session}-r{number}"
                labels[daemon.submit(session, plan_for(label, delay_s=0.02))] = label
        for number in range(KILLS):
            if number % KILLS_WITHOUT_PROGRESS == 0:
                wait_for_progress(model)
            time.sleep(chance.uniform(0.05, 0.7))
            daemon.kill()
            daemon.start()
        runs = wait_for(lambda: all_ended(daemon, len(labels)), 180, what="all runs to end")
        journals = {session: journal_of(daemon, session) for session in sessions}
        memory = daemon.get("/v1/status")["run_memory"]
    assert {run["status"] for run in runs.values()} == {"completed"}
    # Each run left its record, whatever it was doing when it was killed.
    files = (daemon.home / "run-memories" / "__safe").iterdir()
    assert {path.name for path in files} == {f"id-{run.encode().hex()}.json" for run in labels}
    assert memory["indexed_record_count"] == len(labels)
    for run_id, label in labels.items():
        assert runs[run_id]["outputs"][-1]["text"] == f"done {label}"
    for session, events in journals.items():
        check_journal(events, [run for run in labels if labels[run].startswith(session)])
    _check_no_finished_step_was_asked_for_again(model, journals, labels)


def _check_no_finished_step_was_asked_for_again(
    model: FakeModel, journals: dict[str, list[dict[str, Any]]], labels: dict[str, str]
) -> None:
    finished: dict[tuple[str, int], int] = {}
    for events in journals.values():
        for event in events:
            if event["kind"] == "message":
                finished[labels[event["run_id"]], event["data"]["step"]] = event["at_ms"]
    repeats = 0
    for label, asked in steps_asked_for(model.requests).items():
        steps = [step for step, _ in asked]
        assert steps == sorted(steps)
        assert set(steps) == set(range(1, MODEL_CALLS + 1))
        repeats += len(steps) - len(set(steps))
        for step, arrived_at_ms in asked:
            assert arrived_at_ms <= finished[label, step]
    assert repeats <= KILLS * SESSIONS
