"""Schedules over HTTP."""

import time
from typing import Any
from uuid import uuid4

import pytest
from starlette.testclient import TestClient

from tests.api.live import Live
from tests.support.daemon import wait_for

EVERY_HOUR = {"type": "interval", "every_seconds": 3600}


def body(session_id: str = "s1", **fields: Any) -> dict[str, Any]:
    values: dict[str, Any] = {
        "name": "hello",
        "target_session_id": session_id,
        "cadence": EVERY_HOUR,
        "request": {"content": "say hello"},
    }
    return values | fields


@pytest.fixture
def session(live: Live) -> str:
    session_id = f"s-{uuid4().hex}"
    live.session(session_id)
    return session_id


@pytest.fixture
def schedule(api: TestClient) -> dict[str, Any]:
    api.post("/v1/sessions", json={"session_id": "s1"})
    created = api.post("/v1/schedules", json=body())
    assert created.status_code == 201, created.text
    view: dict[str, Any] = created.json()
    return view


def test_a_new_schedule_is_shown_with_its_defaults(
    api: TestClient, schedule: dict[str, Any]
) -> None:
    assert schedule["schedule_id"].startswith("sch_")
    assert schedule["status"] == "active"
    assert schedule["owner_id"] == "local"
    assert schedule["overlap_policy"] == "skip"
    assert schedule["misfire_policy"] == {"type": "coalesce_once"}
    assert schedule["cadence"] == EVERY_HOUR
    assert schedule["request"]["text_preview"] == "say hello"
    assert "reply_targets" not in schedule["request"]
    assert schedule["next_fire_at_ms"] - schedule["created_at_ms"] == 3_600_000
    assert schedule["actions"] == ["pause", "trigger", "cancel"]
    assert api.get(f"/v1/schedules/{schedule['schedule_id']}").json() == schedule
    assert api.get("/v1/schedules").json() == {"items": [schedule], "next_cursor": None}
    assert api.get("/v1/schedules?session_id=s2").json()["items"] == []
    assert api.get("/v1/schedules?status=paused&status=completed").json()["items"] == []


def test_everything_about_a_schedule_can_be_said(api: TestClient) -> None:
    api.post("/v1/sessions", json={"session_id": "s1"})
    view = api.post(
        "/v1/schedules",
        json=body(
            cadence={"type": "cron", "expression": "0 0 9 * * MON", "timezone": "Asia/Tokyo"},
            max_executions=3,
            overlap_policy="queue_one",
            misfire_policy={"type": "skip_missed"},
            request={
                "content": "report",
                "metadata": {"ticket": 7},
                "reply_targets": [{"plugin": "local", "address": "desk"}],
                "debug_level": "requests",
            },
        ),
    ).json()

    assert view["cadence"] == {
        "type": "cron",
        "expression": "0 0 9 * * MON",
        "timezone": "Asia/Tokyo",
    }
    assert (view["max_executions"], view["overlap_policy"]) == (3, "queue_one")
    assert view["misfire_policy"] == {"type": "skip_missed"}
    assert view["request"]["reply_targets"] == [{"plugin": "local", "address": "desk"}]
    assert view["request"]["metadata"] == {"ticket": 7}


def test_actions_answer_the_schedule(api: TestClient, schedule: dict[str, Any]) -> None:
    path = f"/v1/schedules/{schedule['schedule_id']}"
    for action, status in (("pause", "paused"), ("resume", "active"), ("cancel", "canceled")):
        answer = api.post(f"{path}/{action}")
        assert answer.status_code == 200
        assert answer.json()["schedule"]["status"] == status
    for action in ("pause", "resume", "trigger"):
        refused = api.post(f"{path}/{action}")
        assert refused.status_code == 409
        assert refused.json()["code"] == "schedule_state_conflict"
    audit = api.get("/v1/audit?resource=schedules").json()["items"]
    assert [entry["action"] for entry in reversed(audit)] == [
        "schedules.create",
        "schedules.pause",
        "schedules.resume",
        "schedules.cancel",
        *["schedules.pause", "schedules.resume", "schedules.trigger"],
    ]
    assert [entry["outcome"] for entry in audit[:3]] == ["refused"] * 3


def test_a_trigger_answers_what_became_of_it(live: Live, session: str) -> None:
    live.model.hold()
    path = f"/v1/schedules/{live.ok('POST', '/v1/schedules', body(session))['schedule_id']}"
    first, second = (live.ok("POST", f"{path}/trigger")["execution"] for _ in range(2))
    assert (first["status"], second["status"]) == ("submitted", "skipped")
    run = live.ok("GET", f"/v1/runs/{first['run_id']}")
    assert (run["kind"], run["request"]["source_plugin"]) == ("scheduled_input", "schedules")
    assert live.ok("GET", f"{path}/executions")["items"] == [second, first]
    page = live.ok("GET", f"{path}/executions?limit=1")
    rest = live.ok("GET", f"{path}/executions?limit=1&cursor={page['next_cursor']}")
    assert [*page["items"], *rest["items"]] == [second, first]
    live.model.release()
    live.finished(first["run_id"])


def test_a_repeat_under_the_same_key_creates_and_triggers_once(live: Live, session: str) -> None:
    keyed = {"Idempotency-Key": f"create {session}"}
    first, again = (
        live.ok("POST", "/v1/schedules", body(session), headers=keyed) for _ in range(2)
    )
    assert first == again
    path = f"/v1/schedules/{first['schedule_id']}/trigger"
    keyed = {"Idempotency-Key": f"trigger {session}"}
    fires = [live.ok("POST", path, headers=keyed) for _ in range(2)]
    assert fires[0] == fires[1]
    assert len(live.ok("GET", f"/v1/runs?session_id={session}")["items"]) == 1
    live.finished(fires[0]["execution"]["run_id"])


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"cadence": {"type": "cron", "expression": "0 0 0 31 2 *"}}, "/cadence/expression"),
        ({"cadence": {"type": "cron", "expression": "* * * * * *"}}, "/cadence/expression"),
        ({"cadence": {"type": "cron", "expression": "often"}}, "/cadence/expression"),
        (
            {"cadence": {"type": "cron", "expression": "0 0 * * * *", "timezone": "Moon"}},
            "/cadence/timezone",
        ),
        ({"cadence": {"type": "interval", "every_seconds": 4}}, "/cadence/every_seconds"),
        ({"cadence": {"type": "interval", "every_seconds": 2**62}}, "/cadence/every_seconds"),
        ({"cadence": {"type": "interval", "every_seconds": "5"}}, "/cadence/every_seconds"),
        ({"cadence": {"type": "interval"}}, "/cadence/every_seconds"),
        ({"cadence": {"type": "once", "fire_at_ms": 1}}, "/cadence/fire_at_ms"),
        ({"cadence": {"type": "once", "fire_at_ms": 2**63 - 1}}, "/cadence/fire_at_ms"),
        ({"cadence": {"type": "lunar"}}, "/cadence"),
        ({"cadence": None}, "/cadence"),
        ({"name": ""}, "/name"),
        ({"name": "x" * 201}, "/name"),
        ({"max_executions": 0}, "/max_executions"),
        ({"max_executions": -1}, "/max_executions"),
        ({"overlap_policy": "sometimes"}, "/overlap_policy"),
        ({"misfire_policy": "coalesce_once"}, "/misfire_policy"),
        ({"misfire_policy": {"type": "never"}}, "/misfire_policy/type"),
        ({"request": {}}, "/request/content"),
        ({"request": {"content": "x", "idempotency_key": "k"}}, "/request/idempotency_key"),
        ({"request": {"content": "x", "provider": "nowhere"}}, "/request/provider"),
        (
            {"request": {"content": "x", "reply_targets": [{"plugin": "fax", "address": "1"}]}},
            "/request/reply_targets/0",
        ),
        (
            {"request": {"content": "x", "reply_plugin": "local"}},
            "/request/reply_plugin",
        ),
        ({"request": {"attachments": ["ast_none"]}}, "/request/attachments/0"),
        ({"request": {"content": "x", "unknown": 1}}, "/request/unknown"),
    ],
    ids=str,
)
def test_a_wrong_schedule_is_refused_by_its_field(
    api: TestClient, fields: dict[str, Any], pointer: str
) -> None:
    api.post("/v1/sessions", json={"session_id": "s1"})
    refused = api.post("/v1/schedules", json=body(**fields))

    assert refused.status_code == 400, refused.text
    assert pointer in [error["pointer"] for error in refused.json()["errors"]]
    assert api.get("/v1/schedules").json()["items"] == []


def test_what_is_not_there_is_404(api: TestClient) -> None:
    missing = api.post("/v1/schedules", json=body("nowhere"))
    assert (missing.status_code, missing.json()["code"]) == (404, "session_not_found")
    for method, path in (
        ("GET", ""),
        ("GET", "/executions"),
        ("POST", "/pause"),
        ("POST", "/resume"),
        ("POST", "/trigger"),
        ("POST", "/cancel"),
    ):
        answer = api.request(method, f"/v1/schedules/sch_none{path}")
        assert (answer.status_code, answer.json()["code"]) == (404, "schedule_not_found")


def test_an_ended_session_takes_no_schedule(api: TestClient, schedule: dict[str, Any]) -> None:
    assert api.post("/v1/sessions/s1/end", json={}).status_code == 200
    refused = api.post("/v1/schedules", json=body())
    assert (refused.status_code, refused.json()["code"]) == (409, "session_ended")
    trigger = api.post(f"/v1/schedules/{schedule['schedule_id']}/trigger")
    assert (trigger.status_code, trigger.json()["code"]) == (409, "session_ended")


def test_a_viewer_may_look_and_not_touch(guarded: TestClient) -> None:
    admin = {"Authorization": "Bearer admin-secret"}
    guarded.post("/v1/sessions", json={"session_id": "s1"}, headers=admin)
    made = guarded.post(
        "/v1/tokens", json={"user_id": "eve", "role": "viewer"}, headers=admin
    ).json()
    viewer = {"Authorization": f"Bearer {made['token']}"}
    schedule_id = guarded.post("/v1/schedules", json=body(), headers=admin).json()["schedule_id"]

    assert guarded.get("/v1/schedules", headers=viewer).status_code == 200
    assert guarded.post("/v1/schedules", json=body(), headers=viewer).status_code == 403
    path = f"/v1/schedules/{schedule_id}/trigger"
    assert guarded.post(path, headers=viewer).status_code == 403
    assert guarded.get("/v1/schedules").status_code == 401


def test_a_running_daemon_fires_at_the_moment(live: Live, session: str) -> None:
    live.model.queue("good morning")
    moment = time.time_ns() // 1_000_000 + 300
    cadence = {"type": "once", "fire_at_ms": moment}
    created = live.ok("POST", "/v1/schedules", body(session, cadence=cadence))
    path = f"/v1/schedules/{created['schedule_id']}"
    fired = wait_for(
        lambda: next(iter(live.ok("GET", f"{path}/executions")["items"]), None),
        what="the schedule to fire",
    )

    assert fired["scheduled_for_ms"] == moment
    assert 0 <= fired["at_ms"] - moment < 2000
    run = live.finished(fired["run_id"])
    assert [output["text"] for output in run["outputs"]] == ["good morning"]
    assert live.ok("GET", path)["status"] == "completed"
