"""What surrounds every answer."""

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from understudy.api.app import create_app
from understudy.api.limits import MAX_BODY_BYTES
from understudy.daemon.wiring import Daemon


def test_the_probes_answer_in_plain_text(api: TestClient, daemon: Daemon) -> None:
    assert api.get("/healthz").text == "ok\n"
    assert api.get("/readyz").text == "ready\n"
    for state in ("starting", "draining"):
        daemon.resources.state = state
        answer = api.get("/readyz")
        assert answer.status_code == 503
        assert (answer.json()["domain"], answer.json()["code"]) == ("readiness", f"daemon_{state}")
        assert api.get("/healthz").status_code == 200


def test_a_draining_daemon_answers_reads_and_takes_no_work(api: TestClient, daemon: Daemon) -> None:
    daemon.resources.state = "draining"
    assert api.get("/v1/sessions").status_code == 200
    answer = api.post("/v1/sessions", json={})
    assert (answer.status_code, answer.json()["code"]) == (503, "daemon_draining")


def test_a_request_keeps_the_id_it_came_with(api: TestClient) -> None:
    answer = api.get("/healthz", headers={"X-Request-Id": "trace-1.a"})
    assert answer.headers["x-request-id"] == "trace-1.a"


@pytest.mark.parametrize("odd", ["a b", "x" * 101, "<script>", ""])
def test_an_odd_request_id_is_replaced(api: TestClient, odd: str) -> None:
    answer = api.get("/healthz", headers={"X-Request-Id": odd})
    assert answer.headers["x-request-id"].startswith("req_")


def test_answers_are_not_cached_framed_or_sniffed(api: TestClient) -> None:
    for path in ("/healthz", "/v1/sessions", "/v1/nothing", "/openapi.json"):
        headers = api.get(path).headers
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]


def test_an_announced_body_past_the_limit_is_refused(api: TestClient) -> None:
    answer = api.post(
        "/v1/sessions",
        content=b"x",
        headers={"Content-Type": "application/json", "Content-Length": str(MAX_BODY_BYTES + 1)},
    )
    assert (answer.status_code, answer.json()["code"]) == (413, "payload_too_large")
    assert answer.headers["connection"] == "close"


def test_a_body_of_unknown_length_is_counted_as_it_arrives(api: TestClient) -> None:
    sent = 0

    def endless() -> Iterator[bytes]:
        nonlocal sent
        while sent <= 2 * MAX_BODY_BYTES:
            sent += 1024 * 1024
            yield b" " * (1024 * 1024)

    answer = api.post(
        "/v1/sessions", content=endless(), headers={"Content-Type": "application/json"}
    )
    assert (answer.status_code, answer.json()["code"]) == (413, "payload_too_large")


def test_a_bug_is_answered_without_its_story(daemon: Daemon) -> None:
    app = create_app(daemon.services)

    @app.get("/broken")
    def broken() -> None:
        raise ValueError("sk-secret")

    with TestClient(app, base_url="http://127.0.0.1:4600") as client:
        answer = client.get("/broken")
    assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
    assert "sk-secret" not in answer.text
    assert answer.headers["x-request-id"] == answer.json()["instance"]


def test_requests_are_counted(api: TestClient) -> None:
    api.get("/v1/nothing")
    text = api.get("/metrics").text
    assert 'understudy_http_requests_total{method="GET",status_class="4xx"} 1.0' in text
