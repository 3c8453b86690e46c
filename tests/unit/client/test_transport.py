"""What is sent, what is sent again, and what a refusal becomes."""

import json

import httpx2
import pytest

from tests.unit.client.fake_daemon import answers, client_of, pages, run_document
from understudy.client import Client, errors
from understudy.wire.sessions import CreateSession

REFUSED = httpx2.ConnectError("connection refused")
BUSY = httpx2.Response(503, json={"code": "draining", "domain": "daemon", "detail": "draining"})


def test_a_call_carries_the_token_and_a_post_its_key() -> None:
    handle, seen = answers(httpx2.Response(202, json=run_document(status="queued")))
    client, _ = client_of(handle)

    run = client.runs.submit("s1", "hello", key="k1")

    (request,) = seen
    assert run.run_id == "run_1"
    assert request.url.path == "/v1/sessions/s1/runs"
    assert request.headers["Authorization"] == "Bearer secret"
    assert request.headers["Idempotency-Key"] == "k1"
    assert json.loads(request.content) == {"content": "hello"}


@pytest.mark.parametrize(
    ("people", "told"),
    [
        ({"state": "waiting_for_two", "proposed_by": "ann"}, "proposed by ann"),
        ({"state": "waiting_for_second", "first_by": "bob"}, "approved by bob"),
    ],
)
def test_a_change_that_waits_for_people_is_no_answer(people: dict[str, str], told: str) -> None:
    handle, _ = answers(httpx2.Response(202, json={"approval_id": "two_1", **people}))
    client, _ = client_of(handle)

    with pytest.raises(errors.SecondNeeded, match=told) as waits:
        client.tools.set("shell", enabled=False)
    assert waits.value.waiting["approval_id"] == "two_1"


def test_a_read_is_tried_again_with_growing_pauses() -> None:
    handle, seen = answers(REFUSED, BUSY, httpx2.Response(200, json=run_document()))
    client, pauses = client_of(handle)

    assert client.runs.get("run_1").status == "completed"
    assert len(seen) == 3
    assert pauses == [0.1, 0.2]


def test_a_post_is_tried_again_under_the_same_key() -> None:
    handle, seen = answers(REFUSED, httpx2.Response(202, json=run_document()))
    client, _ = client_of(handle)

    client.runs.submit("s1", "hello")

    assert seen[0].headers["Idempotency-Key"] == seen[1].headers["Idempotency-Key"]


def test_a_put_is_never_tried_again() -> None:
    handle, seen = answers(REFUSED)
    client, pauses = client_of(handle)

    with pytest.raises(errors.UnreachableError):
        client.tools.set("shell", enabled=False)
    assert len(seen) == 1
    assert pauses == []


def test_the_pause_that_the_daemon_asks_for_counts_up_to_a_bound() -> None:
    slow = httpx2.Response(503, json={}, headers={"Retry-After": "2"})
    slower = httpx2.Response(503, json={}, headers={"Retry-After": "3600"})
    handle, _ = answers(slow, slower, httpx2.Response(200, json=run_document()))
    client, pauses = client_of(handle)

    client.runs.get("run_1")

    assert pauses == [2.0, 5.0]


def test_an_unreachable_daemon_is_named() -> None:
    handle, seen = answers(REFUSED, REFUSED, REFUSED)
    client, _ = client_of(handle)

    with pytest.raises(errors.UnreachableError) as caught:
        client.status()
    assert "http://daemon.test" in str(caught.value)
    assert len(seen) == 3


@pytest.mark.parametrize(("status", "kind"), errors.BY_STATUS.items())
def test_each_status_has_its_error(status: int, kind: type[errors.ProblemError]) -> None:
    problem = {
        "status": status,
        "code": "some_code",
        "domain": "runs",
        "detail": "because",
        "errors": [{"pointer": "/content", "code": "empty", "detail": "is empty"}],
    }
    handle, _ = answers(*[httpx2.Response(status, json=problem)] * 3)
    client, _ = client_of(handle)

    with pytest.raises(kind) as caught:
        client.runs.get("run_1")
    error = caught.value
    assert (error.status, error.code, error.domain, error.detail) == (
        status,
        "some_code",
        "runs",
        "because",
    )
    assert error.errors[0].pointer == "/content"
    assert error.problem == problem


def test_a_refusal_that_is_no_problem_document_is_still_an_error() -> None:
    handle, _ = answers(httpx2.Response(502, content=b"<html>bad gateway</html>"))
    client, _ = client_of(handle)

    with pytest.raises(errors.ProblemError) as caught:
        client.runs.get("run_1")
    assert (caught.value.status, caught.value.code) == (502, "http_502")


def test_an_answer_that_no_daemon_gives_asks_whether_it_is_one() -> None:
    handle, _ = answers(httpx2.Response(404, json={"detail": "Not Found"}))
    client, _ = client_of(handle)

    with pytest.raises(errors.NotFoundError, match="is that an Understudy daemon"):
        client.status()


@pytest.mark.parametrize("answer", [b"<html>hello</html>", b'{"run_id": 3}', b"[]"])
def test_an_answer_of_another_shape_is_said_to_be_that(answer: bytes) -> None:
    handle, _ = answers(httpx2.Response(200, content=answer))
    client, _ = client_of(handle)

    with pytest.raises(errors.AnswerError, match="GET /v1/runs/run_1"):
        client.runs.get("run_1")


def test_lists_are_read_page_by_page_as_they_are_asked_for() -> None:
    handle, seen = answers(*pages([run_document("r1"), run_document("r2")], [run_document("r3")]))
    client, _ = client_of(handle)

    runs = client.runs.list(session_id="s1")

    assert next(runs).run_id == "r1"
    assert len(seen) == 1
    assert [run.run_id for run in runs] == ["r2", "r3"]
    assert seen[1].url.params["cursor"] == "c0"
    assert seen[1].url.params["session_id"] == "s1"


def test_only_what_was_set_is_sent() -> None:
    handle, seen = answers(httpx2.Response(409, json={}))
    client, _ = client_of(handle)

    with pytest.raises(errors.ConflictError):
        client.sessions.create(CreateSession(session_id="s1"))
    assert json.loads(seen[0].content) == {"session_id": "s1"}


def test_every_answer_can_be_seen_as_it_came() -> None:
    document = {**run_document(), "of_tomorrow": 1}
    handle, _ = answers(httpx2.Response(200, json=document))
    kept: list[object] = []

    with Client(
        "http://daemon.test", transport=httpx2.MockTransport(handle), on_answer=kept.append
    ) as client:
        client.runs.get("run_1")

    assert kept == [document]


@pytest.mark.parametrize("url", ["", "daemon", "ftp://daemon", "http://", "http://[::1"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(errors.InvalidCall):
        Client(url)


def test_waiting_for_a_run_looks_less_and_less_often() -> None:
    running = httpx2.Response(200, json=run_document(status="running"))
    handle, _ = answers(running, running, httpx2.Response(200, json=run_document()))
    client, pauses = client_of(handle)

    assert client.runs.wait("run_1").status == "completed"
    assert pauses == sorted(pauses)
    assert len(pauses) == 2


def test_waiting_ends_when_the_time_is_over() -> None:
    handle, _ = answers(httpx2.Response(200, json=run_document(status="running")))
    client, _ = client_of(handle)

    with pytest.raises(errors.WaitTimeout, match="still running"):
        client.runs.wait("run_1", timeout_s=0)


def test_waiting_outlives_a_restart_of_the_daemon() -> None:
    running = httpx2.Response(200, json=run_document(status="running"))
    handle, _ = answers(running, *[REFUSED] * 7, httpx2.Response(200, json=run_document()))
    client, _ = client_of(handle)

    assert client.runs.wait("run_1").status == "completed"


def test_waiting_does_not_begin_without_a_daemon() -> None:
    handle, seen = answers(*[REFUSED] * 9)
    client, _ = client_of(handle)

    with pytest.raises(errors.UnreachableError):
        client.runs.wait("run_1")
    assert len(seen) == 3
