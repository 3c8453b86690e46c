"""The same key twice does the thing once."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from starlette.testclient import TestClient

from tests.api.live import Live
from understudy.api.idempotency import WAIT_S
from understudy.daemon.wiring import Daemon
from understudy.engine.heartbeat import AGAIN_S
from understudy.engine.takeover import LOOK_EVERY_S, LOOKS_TO_BE_SURE


def key(value: str) -> dict[str, str]:
    return {"Idempotency-Key": value}


def test_a_repeat_gets_the_first_answer_again(api: TestClient) -> None:
    first = api.post("/v1/personas", json={"soul": "A"}, headers=key("k1"))
    again = api.post("/v1/personas", json={"soul": "A"}, headers=key(" k1 "))
    assert (again.status_code, again.json()) == (first.status_code, first.json()) != (0, {})
    assert again.headers["idempotency-replayed"] == "true"
    assert len(api.get("/v1/personas").json()["items"]) == 1


def test_the_same_key_for_something_else_is_a_conflict(api: TestClient) -> None:
    api.post("/v1/personas", json={"soul": "A"}, headers=key("k1"))
    for path, body in (("/v1/personas", {"soul": "B"}), ("/v1/sessions", {})):
        answer = api.post(path, json=body, headers=key("k1"))
        assert answer.status_code == 409
        assert answer.json()["domain"] == "idempotency"
        assert answer.json()["code"] == "idempotency_conflict"


def test_a_refused_request_leaves_the_key_free(api: TestClient) -> None:
    path = "/v1/sessions/s1/end"
    assert api.post(path, headers=key("k1")).status_code == 404
    api.post("/v1/sessions", json={"session_id": "s1"})
    assert api.post(path, headers=key("k1")).status_code == 200


@pytest.mark.parametrize("odd", ["", "  ", "x" * 257])
def test_an_odd_key_is_refused(api: TestClient, odd: str) -> None:
    answer = api.post("/v1/personas", json={}, headers=key(odd))
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_idempotency_key")


def test_the_secret_of_a_token_is_not_kept_for_a_repeat(guarded: TestClient) -> None:
    headers = {**key("k1"), "Authorization": "Bearer admin-secret"}
    body = {"user_id": "ann", "role": "viewer"}
    first = guarded.post("/v1/tokens", json=body, headers=headers).json()
    again = guarded.post("/v1/tokens", json=body, headers=headers).json()
    assert again == {name: value for name, value in first.items() if name != "token"}


def test_nothing_is_kept_for_strangers_and_viewers(api: TestClient) -> None:
    assert api.post("/v1/bridges/none/messages", json={}, headers=key("k1")).status_code == 403
    assert api.post("/v1/console/links", headers=key("k1")).status_code == 201
    # The key is free for whoever changes something.
    made = api.post("/v1/personas", json={"soul": "A"}, headers=key("k1"))
    assert made.status_code == 201


def test_many_at_once_act_once(api: TestClient, daemon: Daemon) -> None:
    start = threading.Barrier(8)

    def post(_: int) -> dict[str, object]:
        start.wait()
        answer = api.post("/v1/personas", json={"soul": "A"}, headers=key("k1"))
        assert answer.status_code == 201, answer.text
        body: dict[str, object] = answer.json()
        return body

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(post, range(8)))
    assert len({str(answer["persona_id"]) for answer in answers}) == 1


def test_a_key_that_a_crash_left_behind_is_free_after_a_while(
    api: TestClient, daemon: Daemon
) -> None:
    api.post("/v1/personas", json={"soul": "A"}, headers=key("k1"))
    with daemon.resources.database.begin() as connection:
        connection.exec_driver_sql("UPDATE responses SET status = NULL")
    started = api.post("/v1/personas", json={"soul": "A"}, headers=key("k1"))
    assert (started.status_code, started.json()["code"]) == (409, "idempotency_conflict")
    with daemon.resources.database.begin() as connection:
        connection.exec_driver_sql("UPDATE responses SET created_at_ms = created_at_ms - 61000")
    assert api.post("/v1/personas", json={"soul": "A"}, headers=key("k1")).status_code == 201


def test_a_key_that_another_daemon_held_is_free_once_that_daemon_is_gone(
    api: TestClient, daemon: Daemon
) -> None:
    api.post("/v1/personas", json={"persona_id": "p", "soul": "A"}, headers=key("k1"))
    assert api.delete("/v1/personas/p").status_code == 200
    with daemon.resources.database.begin() as connection:
        connection.exec_driver_sql("UPDATE responses SET status = NULL, holder = 'killed'")
    again = api.post("/v1/personas", json={"persona_id": "p", "soul": "A"}, headers=key("k1"))
    assert again.status_code == 201
    assert "idempotency-replayed" not in again.headers


def test_a_key_that_was_claimed_again_meanwhile_is_left_to_the_new_claim(
    api: TestClient, daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.post("/v1/personas", json={"soul": "A"}, headers=key("k1"))
    with daemon.resources.database.begin() as connection:
        connection.exec_driver_sql("UPDATE responses SET status = NULL, holder = 'killed'")
    look = daemon.resources.is_gone

    def looked(holder: str | None) -> bool:
        is_gone = look(holder)
        with daemon.resources.database.begin() as connection:
            connection.exec_driver_sql("UPDATE responses SET holder = 'newer'")
        return is_gone

    monkeypatch.setattr(daemon.resources, "is_gone", looked)
    again = api.post("/v1/personas", json={"soul": "A"}, headers=key("k1"))
    assert (again.status_code, again.json()["code"]) == (409, "idempotency_conflict")


def test_a_daemon_that_cannot_be_asked_after_is_not_gone(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = replace(daemon.settings, database_url="postgresql://127.0.0.1:1/none")
    monkeypatch.setattr(daemon.resources, "settings", nowhere)
    assert not daemon.resources.is_gone("other")


def test_a_living_daemon_has_its_lock_again_before_others_look_a_second_time() -> None:
    assert min(WAIT_S, LOOK_EVERY_S * (LOOKS_TO_BE_SURE - 1)) > AGAIN_S


def test_a_run_is_submitted_once_by_header_or_body(live: Live) -> None:
    live.session("idem")
    path, body = "/v1/sessions/idem/runs", {"content": "once"}
    first = live.ok("POST", path, body, headers=key("run-1"))
    again = live.ok("POST", path, {**body, "idempotency_key": "run-1"})
    assert again["run_id"] == first["run_id"]
    other = live.client.post(path, json={"content": "other"}, headers=key("run-1"))
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict")
    long = live.client.post(path, json=body, headers=key("x" * 257))
    assert long.status_code == 400
    live.finished(first["run_id"])


def test_submissions_and_other_requests_share_the_keys_of_a_user(live: Live) -> None:
    live.session("shared")
    run = live.ok(
        "POST", "/v1/sessions/shared/runs", {"content": "once"}, headers=key("shared-run")
    )
    live.ok("POST", "/v1/personas", {}, headers=key("shared-post"))
    for path, body, used in (
        ("/v1/personas", {}, "shared-run"),
        ("/v1/sessions/shared/runs", {"content": "once"}, "shared-post"),
        ("/v1/sessions/shared/input", {"content": "once"}, "shared-post"),
    ):
        answer = live.client.post(path, json=body, headers=key(used))
        assert (answer.status_code, answer.json()["code"]) == (409, "idempotency_conflict")
    again = live.ok(
        "POST", "/v1/sessions/shared/runs", {"content": "once"}, headers=key("shared-run")
    )
    assert again["run_id"] == run["run_id"]
    live.finished(run["run_id"])


def test_a_submission_that_was_refused_leaves_the_key_free(live: Live) -> None:
    answer = live.client.post("/v1/sessions/none/runs", json={"content": "a"}, headers=key("free"))
    assert answer.status_code == 404
    live.ok("POST", "/v1/personas", {}, headers=key("free"))
