"""Reply targets over the API: webhooks are told, prospectively, and can be looked at and retried."""

from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.api.conftest import ADMIN
from tests.api.live import Live
from tests.support.daemon import wait_for
from tests.support.receiver import Receiver


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver
        receiver.release()


def http(receiver: Receiver) -> dict[str, str]:
    return {"plugin": "http", "address": receiver.url}


def delivered(live: Live, run_id: str, status: str = "delivered") -> list[dict[str, Any]]:
    def look() -> list[dict[str, Any]] | None:
        found: list[dict[str, Any]] = live.ok("GET", f"/v1/runs/{run_id}")["deliveries"]
        return found if all(each["status"] == status for each in found) else None

    return wait_for(look, 20, what=f"the deliveries of {run_id}")


def test_a_run_keeps_the_targets_it_was_submitted_with(live: Live) -> None:
    live.session("prospective")
    targets = "/v1/sessions/prospective/reply-targets"
    with Receiver() as first, Receiver() as second:
        live.ok("PUT", targets, {"reply_targets": [http(first)]})
        live.model.hold()
        r1 = live.submit("prospective", "one")
        live.ok("PUT", targets, {"reply_targets": [http(second)]})
        r2 = live.submit("prospective", "two")
        [waiting] = live.ok("GET", f"/v1/runs/{r1}")["deliveries"]
        live.model.release()
        [one], [two] = delivered(live, r1), delivered(live, r2)

        assert (waiting["status"], waiting["attempts"]) == ("pending", 0)
        assert [told["run_id"] for told in first.told] == [r1]
        assert [told["run_id"] for told in second.told] == [r2]
        assert (one["address"], two["address"]) == (first.url, second.url)


def test_a_webhook_is_told_what_the_run_said(live: Live, receiver: Receiver) -> None:
    live.session("told")
    run = live.run("told", "say something", reply_targets=[http(receiver)])
    [view] = delivered(live, run["run_id"])

    [told] = receiver.told
    assert told["outputs"] == [{"text": output["text"]} for output in run["outputs"]]
    assert told["delivery_id"] == view["delivery_id"]
    assert (view["plugin"], view["status"], view["attempts"]) == ("http", "delivered", 1)
    assert view["delivered_at_ms"] >= run["finished_at_ms"]


def test_a_local_target_is_delivered_with_the_run(live: Live) -> None:
    live.session("nearby")
    targets = [{"plugin": "local", "address": "screen"}]

    [view] = live.run("nearby", "hello", reply_targets=targets)["deliveries"]

    assert view == {"plugin": "local", "address": "screen", "status": "delivered", "attempts": 1}


def test_a_dead_delivery_is_logged_and_can_be_retried(live: Live, receiver: Receiver) -> None:
    live.session("gone")
    receiver.statuses.append(410)
    run_id = live.submit("gone", "hello", reply_targets=[http(receiver)])
    live.finished(run_id)
    [dead] = delivered(live, run_id, "dead")
    path = f"/v1/runs/{run_id}/deliveries"

    [log] = live.ok("GET", path)["items"]
    assert log["actions"] == ["retry"]
    assert dead["last_error"] == "the target answered 410"
    [tried] = log["tries"]
    assert (tried["attempt"], tried["outcome"], tried["status_code"]) == (1, "dead", 410)
    again = live.ok("POST", f"{path}/{dead['delivery_id']}/retry")
    assert again["status"] == "pending"
    delivered(live, run_id)
    answer = live.client.post(f"{path}/{dead['delivery_id']}/retry")
    assert (answer.status_code, answer.json()["code"]) == (409, "delivery_state_conflict")


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/v1/runs/run_0/deliveries/dlv_0/retry", "run_not_found"),
        ("/v1/runs/{run_id}/deliveries/dlv_0/retry", "delivery_not_found"),
        ("/v1/runs/{run_id}/deliveries/%00/retry", None),
    ],
)
def test_what_is_not_there_cannot_be_retried(live: Live, path: str, code: str | None) -> None:
    session = f"nothing-{code}"
    live.session(session)
    run_id = live.submit(session, "hello")

    answer = live.client.post(path.format(run_id=run_id))

    assert 400 <= answer.status_code < 500
    assert code is None or answer.json()["code"] == code


def test_the_log_of_a_run_that_is_not_there_is_not_found(api: TestClient) -> None:
    assert api.get("/v1/runs/run_0/deliveries").json()["code"] == "run_not_found"


def test_a_target_that_nothing_is_ever_sent_to_is_refused(api: TestClient) -> None:
    api.post("/v1/sessions", json={"session_id": "s1"})
    target = {"plugin": "http", "address": "http://169.254.169.254/latest/meta-data"}

    answer = api.post("/v1/sessions/s1/runs", json={"content": "x", "reply_targets": [target]})

    assert answer.status_code == 400
    assert answer.json()["code"] == "invalid_reply_target"
    assert answer.json()["errors"][0]["pointer"] == "/reply_targets/0/address"


def test_the_secret_is_shown_once_to_an_admin(guarded: TestClient) -> None:
    admin = {"Authorization": f"Bearer {ADMIN}", "Idempotency-Key": "k1"}
    made = guarded.post("/v1/webhook-secret", headers=admin)
    repeat = guarded.post("/v1/webhook-secret", headers=admin)

    assert made.status_code == 201
    assert made.json()["secret"].startswith("whsec_")
    assert repeat.json() == {}
    [entry] = guarded.get("/v1/audit", params={"resource": "webhooks"}, headers=admin).json()[
        "items"
    ]
    assert (entry["action"], entry["outcome"]) == ("webhooks.rotate_secret", "done")
    assert made.json()["secret"] not in str(entry)


def test_an_operator_does_not_get_the_secret(guarded: TestClient) -> None:
    admin = {"Authorization": f"Bearer {ADMIN}"}
    body = {"user_id": "ada", "role": "operator"}
    token = guarded.post("/v1/tokens", json=body, headers=admin).json()["token"]

    answer = guarded.post("/v1/webhook-secret", headers={"Authorization": f"Bearer {token}"})

    assert answer.status_code == 403
