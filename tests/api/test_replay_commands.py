"""Replays over HTTP and by `understudy rollouts trial --case`, against a daemon that runs them."""

from itertools import count
from typing import Any

import pytest

from tests.api.live import Live
from tests.support.command_line_in_process import Typed, typed
from tests.support.model_scripts import play
from understudy.client import Client
from understudy.wire.rollouts import StartTrial, TrialCase

MARKER = "NOTES_OK"
TASK = "Write the notes."
NUMBERS = count(1)


def invoke(live: Live, *line: str, exit_code: int = 0) -> Typed:
    done = typed("--url", str(live.client.base_url), "rollouts", *line)
    assert done.exit_code == exit_code, done.output
    return done


@pytest.fixture
def name(live: Live) -> str:
    """A draft of a procedure of its own."""
    number = next(NUMBERS)
    said = {
        "scope": {"kind": "workspace", "id": "default"},
        "kind": "procedure",
        "content": f"Write the replayed notes number {number}.",
    }
    candidate_id = live.ok("POST", "/v1/learning-candidates", said)["candidate_id"]
    published = live.ok("POST", f"/v1/learning-candidates/{candidate_id}/publish", {})
    invoke(live, "promote", published["learning_id"], f"replayed-{number}", "Write the notes.")
    return f"replayed-{number}"


def record(live: Live, name: str, answer: str) -> str:
    """A run that somebody asked for."""
    session = f"of-{name}-{next(NUMBERS)}"
    live.session(session)
    live.model.queue(answer)
    return str(live.run(session, TASK)["run_id"])


def test_recorded_runs_are_compared_case_by_case(live: Live, name: str) -> None:
    good, bad = record(live, name, MARKER), record(live, name, "no idea")
    live.model.rule = play({"Carry out": [f"{MARKER} at once"], TASK: ["no idea"]})

    shown = invoke(
        live, "trial", name, "--case", good, "--case", bad, "--expect", MARKER, "--wait"
    ).stdout
    trial = live.ok("GET", f"/v1/learning-skills/{name}/trials")["items"][0]
    again = invoke(live, "trials", name, trial["trial_id"]).stdout

    lines = {line.split()[0]: line for line in shown.splitlines() if line.strip()}
    assert "state        passed" in shown
    assert lines["CASE"].split() == [
        *("CASE", "RECORDED", "WITHOUT", "WITH", "CALLS", "TOKENS", "TIME", "ABOUT"),
    ]
    assert lines[good].split()[1:4] == ["succeeded", "failed", "succeeded"]
    assert lines[bad].split()[1:4] == ["failed", "failed", "succeeded"]
    assert "0 → 0" in lines[bad]
    assert "2 of 2 succeeded, between 34% and 100%" in shown
    assert "regressions     none" in shown
    assert lines[good] in again.splitlines()
    assert "replay" in invoke(live, "trials", name).stdout
    assert "report" not in trial
    assert [case["run_id"] for case in trial["cases"]] == [good, bad]


def test_a_case_that_goes_worse_fails_the_command(live: Live, name: str) -> None:
    good = record(live, name, MARKER)
    live.model.rule = play({"Carry out": ["broken"], TASK: [MARKER]})

    done = invoke(live, "trial", name, "--case", good, "--expect", MARKER, "--wait", exit_code=1)

    assert "1 of 1 cases went worse with the skill" in done.stdout
    assert f"regressions     {good}" in done.stdout
    assert "regression; the last output lacks the marker" in done.stdout


def test_the_client_replays_and_sees_what_is_under_way(live: Live, name: str) -> None:
    recorded = record(live, name, MARKER)
    live.model.rule = play({"Carry out": [MARKER], TASK: [MARKER]})

    with Client(str(live.client.base_url)) as client:
        wanted = StartTrial(cases=[TrialCase(run_id=recorded, marker=MARKER)])
        begun = client.rollouts.trial(name, wanted, key=f"key-{name}")
        repeated = client.rollouts.trial(name, wanted, key=f"key-{name}")
        done = client.rollouts.wait_trial(name, begun.trial_id, timeout_s=30)

    assert repeated == begun
    (case,) = begun.cases
    assert (case.run_id, case.marker) == (recorded, MARKER)
    assert case.with_run_id
    assert case.without_run_id
    assert done.report is not None
    assert (done.report.is_clean, done.report.with_skill.successes) == (True, 1)
    assert done.report.cases[0].with_skill.run_id == case.with_run_id


def test_a_replay_that_is_not_waited_for_is_told(live: Live, name: str) -> None:
    recorded = record(live, name, MARKER)

    done = invoke(live, "trial", name, "--case", recorded)

    assert "is under way with 1 case" in done.stderr
    (trial,) = live.ok("GET", f"/v1/learning-skills/{name}/trials")["items"]
    with Client(str(live.client.base_url)) as client:
        # Otherwise its runs would be given the answers of the next test.
        client.rollouts.wait_trial(name, trial["trial_id"], timeout_s=30)


WRONG: list[tuple[Any, str]] = [
    ([], "/cases"),
    ({}, "/cases"),
    ("x", "/cases"),
    ([{"run_id": "x"}] * 21, "/cases"),
    (["x"], "/cases/0"),
    ([{}], "/cases/0/run_id"),
    ([{"run_id": 1}], "/cases/0/run_id"),
    ([{"run_id": ""}], "/cases/0/run_id"),
    ([{"run_id": "run_none"}], "/cases/0/run_id"),
    ([{"run_id": "\u0000"}], "/cases/0/run_id"),
    ([{"run_id": "x" * 501}], "/cases/0/run_id"),
    ([{"run_id": "x", "marker": 1}], "/cases/0/marker"),
    ([{"run_id": "x", "judge": 1}], "/cases/0/judge"),
]


def test_cases_that_make_no_sense_are_refused_with_their_place(live: Live, name: str) -> None:
    for cases, place in WRONG:
        answer = live.client.post(f"/v1/learning-skills/{name}/trial", json={"cases": cases})
        assert answer.status_code == 400, (cases, answer.text)
        assert [each["pointer"] for each in answer.json()["errors"]] == [place], cases
    assert live.ok("GET", f"/v1/learning-skills/{name}/trials")["items"] == []
