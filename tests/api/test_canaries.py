"""Canaries over HTTP: who is offered one, and who hears of it when a run of it fails."""

from typing import Any

from starlette.testclient import TestClient

from tests.api.test_resources import ok
from tests.api.test_rollouts import (
    NAME,
    ONE,
    bring_into_force,
    learned,
    promote,
    ran,
    shown,
)
from tests.support.factories import NOW, make_run, make_session
from understudy.daemon.wiring import Daemon
from understudy.skills.usage import RecordedUse

POLICY = "/v1/runtime/learning-policy"


def bring_to_canary(daemon: Daemon, api: TestClient) -> Any:
    learning_id = learned(api)
    promote(api, learning_id)
    shown(api, ran(daemon))
    promote(api, learning_id, status="verified")
    return promote(api, learning_id, status="canary")


def offered(api: TestClient, path: str) -> list[str]:
    return [it["slug"] for it in ok(api, "GET", path)["items"] if it["origin"] == "promoted"]


def queued_use(daemon: Daemon, fingerprint: str) -> str:
    """A run that waits for its turn, and has used the skill before."""
    run = make_run("of-somebody")
    use = RecordedUse(
        use_id="use_1",
        skill_id=None,
        slug=NAME,
        version=None,
        digest="0" * 64,
        agent_id=run.agent_id,
        user_id=run.user_id,
        session_id=run.session_id,
        run_id=run.run_id,
        at_ms=NOW,
        fingerprint=fingerprint,
    )
    with daemon.resources.units.write() as unit:
        unit.sessions.add(make_session(run.session_id))
        unit.runs.add(run)
        unit.skill_uses.add(use)
    return run.run_id


def test_sessions_are_offered_a_canary_in_the_share_of_the_policy(
    daemon: Daemon, api: TestClient
) -> None:
    bring_to_canary(daemon, api)
    ok(api, "POST", "/v1/sessions", {"session_id": "s1"})
    assert offered(api, "/v1/sessions/s1/skills") == []

    ok(api, "POST", POLICY, {"promotion": {"canary_share_percent": 100}})

    assert offered(api, "/v1/sessions/s1/skills") == [NAME]
    assert offered(api, "/v1/skills") == []
    assert ok(api, "GET", ONE)["uses"]["offered_percent"] == 100


def test_a_canary_that_fails_is_told_wherever_people_look(daemon: Daemon, api: TestClient) -> None:
    bring_to_canary(daemon, api)

    held = shown(api, ran(daemon, "something else"), "canary")

    assert held["lifecycle_events"][-1]["event"] == "hold"
    [item] = ok(api, "GET", "/v1/learning-candidates?state=pending&kind=procedure")["items"]
    assert item["capture_path"] == "rollout"
    assert NAME in item["content"]
    warnings = ok(api, "GET", "/v1/status")["health"]["warnings"]
    assert ("rollout_held", NAME) in {(it["code"], it.get("related_id")) for it in warnings}
    assert 'understudy_rollout_events_total{event="hold"} 1.0' in api.get("/metrics").text


def test_the_end_of_every_run_is_looked_at(daemon: Daemon, api: TestClient) -> None:
    record = bring_into_force(daemon, api, learned(api))
    run_id = queued_use(daemon, record["definition_fingerprint"])

    ok(api, "POST", f"/v1/runs/{run_id}/cancel")

    uses = ok(api, "GET", ONE)["uses"]
    assert uses["active"] == {"succeeded": 0, "failed": 0, "abandoned": 1}
    counted = 'understudy_rollout_uses_total{use="active_abandoned"} 1.0'
    assert counted in api.get("/metrics").text
