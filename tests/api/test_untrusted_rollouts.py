"""Rollouts and replays of what may repeat the text of others, as answers show them."""

from starlette.testclient import TestClient

from tests.api.test_resources import ok
from tests.api.test_rollouts import NAME, ONE, PATH, learned, promote, ran, shown
from tests.support.rollout_factories import make_trial
from tests.support.rollout_harness import make_procedure
from understudy.daemon.wiring import Daemon
from understudy.learnings.model import LearningSource
from understudy.rollout.model import require_rollout
from understudy.rollout.replay.report import ReplayCase
from understudy.runs.taint import TaintSource


def test_the_mark_of_untrusted_text_is_shown_until_somebody_activates_it(
    daemon: Daemon, api: TestClient
) -> None:
    run_id = ran(daemon)
    with daemon.resources.units.write() as unit:
        unit.runs.taint(run_id, {TaintSource.TOOL_RESULT: ["fetch_url"]})
        source = LearningSource(run_id=run_id, session_id=f"of-{run_id}")
        unit.learnings.add(make_procedure("lrn_read", source=source, derived_from_untrusted=True))
    marked = {"derived_from_untrusted": True, "untrusted_path": ["tool_result"]}

    assert marked.items() <= promote(api, "lrn_read").items()
    [listed] = ok(api, "GET", PATH)["items"]
    assert marked.items() <= listed.items()
    with daemon.resources.units.write() as unit:
        unit.rollout_trials.add(make_trial(require_rollout(unit, NAME)))
    assert marked.items() <= ok(api, "GET", f"{ONE}/trials")["items"][0].items()
    shown(api, ran(daemon))
    [step] = ok(api, "GET", "/v1/inbox?kind=rollout_step")["items"]
    assert "untrusted" in step["tags"]
    promote(api, "lrn_read", status="verified")
    assert marked.items() <= promote(api, "lrn_read", status="canary").items()
    shown(api, ran(daemon), "canary")

    active = promote(api, "lrn_read", status="active")
    assert active["derived_from_untrusted"] is False
    assert active["untrusted_path"] == ["tool_result"]
    before = ok(api, "GET", f"{ONE}/history")["items"][0]
    assert marked.items() <= before.items()


def test_a_replay_says_whose_text_its_recorded_runs_had_read(
    daemon: Daemon, api: TestClient
) -> None:
    promote(api, learned(api))
    cases = ({"run_id": "run_1", "untrusted_path": ["file"]},)
    with daemon.resources.units.write() as unit:
        trial = make_trial(require_rollout(unit, NAME), cases=cases)
        unit.rollout_trials.add(trial)
        unit.replay_cases.add(
            ReplayCase(trial_id=trial.trial_id, number=1, recorded_run_id="run_1", owner_id="local")
        )

    one = ok(api, "GET", f"{ONE}/trials/{trial.trial_id}")
    for told in (one, ok(api, "GET", f"{ONE}/trials")["items"][0]):
        assert (told["derived_from_untrusted"], told["untrusted_path"]) == (True, ["file"])
        assert told["cases"][0]["untrusted_path"] == ["file"]
    assert ok(api, "GET", ONE)["derived_from_untrusted"] is False
