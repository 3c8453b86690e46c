"""The same calls, awaited."""

import json
from collections.abc import Callable

import httpx2
import pytest

from tests.unit.client.fake_daemon import answers, pages, run_document, sse
from understudy.client import AsyncClient, AsyncRetries, errors
from understudy.client.operation import ClientOperation, Every
from understudy.client.operations import Operations

REFUSED = httpx2.ConnectError("connection refused")


def client_of(
    handler: Callable[[httpx2.Request], httpx2.Response],
) -> tuple[AsyncClient, list[float]]:
    """The client, and the pauses it made."""
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    retries = AsyncRetries(delays_s=(0.1, 0.2), sleep=sleep)
    transport = httpx2.MockTransport(handler)
    return AsyncClient("http://daemon.test", "secret", retries=retries, transport=transport), pauses


async def test_a_call_is_awaited_and_sent_again_under_the_same_key() -> None:
    handle, seen = answers(REFUSED, httpx2.Response(202, json=run_document(status="queued")))
    client, pauses = client_of(handle)

    async with client:
        run = await client.runs.submit("s1", "hello", key="k1")

    assert run.status == "queued"
    assert pauses == [0.1]
    assert [request.headers["Idempotency-Key"] for request in seen] == ["k1", "k1"]
    assert seen[0].headers["Authorization"] == "Bearer secret"
    assert json.loads(seen[0].content) == {"content": "hello"}


async def test_a_problem_that_a_retry_cannot_help_is_raised_at_once() -> None:
    handle, seen = answers(httpx2.Response(429, json={"code": "too_many"}))
    client, pauses = client_of(handle)

    with pytest.raises(errors.UnavailableError):
        await client.runs.get("run_1")
    assert (len(seen), pauses) == (1, [])


async def test_lists_are_read_page_by_page() -> None:
    handle, seen = answers(*pages([run_document("r1")], [run_document("r2")]))
    client, _ = client_of(handle)

    assert [run.run_id async for run in client.runs.list(session_id="s1")] == ["r1", "r2"]
    assert [dict(request.url.params) for request in seen] == [
        {"session_id": "s1"},
        {"session_id": "s1", "cursor": "c0"},
    ]


async def test_a_run_is_waited_for_over_a_restart_of_the_daemon() -> None:
    running = httpx2.Response(200, json=run_document(status="running"))
    handle, _ = answers(running, *[REFUSED] * 7, httpx2.Response(200, json=run_document()))
    client, _ = client_of(handle)

    assert (await client.runs.wait("run_1")).status == "completed"


async def test_waiting_ends_when_the_time_is_over() -> None:
    handle, _ = answers(httpx2.Response(200, json=run_document(status="running")))
    client, _ = client_of(handle)

    with pytest.raises(errors.WaitTimeout, match="still running"):
        await client.runs.wait_settled("run_1", timeout_s=0)


async def test_a_stream_goes_on_after_the_last_event_when_the_connection_is_lost() -> None:
    def updated(status: str) -> str:
        where = {"run_id": "run_1", "session_id": "s1", "agent_id": "a", "timestamp_ms": 1}
        return json.dumps({**where, "status": status, "event": {"type": status, "status": status}})

    handle, seen = answers(
        httpx2.Response(200, content=sse(("1", "run_updated", updated("running")))),
        REFUSED,
        httpx2.Response(200, content=sse(("2", "run_updated", updated("completed")))),
    )
    client, pauses = client_of(handle)
    away: list[bool] = []

    events = [
        event async for event in client.runs.stream("run_1", on_away=lambda: away.append(True))
    ]

    assert [event.id for event in events] == ["1", "2"]
    assert seen[2].headers["Last-Event-ID"] == "1"
    assert (len(pauses), away) == (2, [True])


async def test_a_refused_stream_is_a_problem() -> None:
    handle, _ = answers(httpx2.Response(404, json={"code": "run_not_found", "detail": "no run"}))
    client, _ = client_of(handle)

    with pytest.raises(errors.NotFoundError):
        [event async for event in client.sessions.stream("s1")]


async def test_the_daemon_is_asked_whether_it_is_ready() -> None:
    handle, _ = answers(httpx2.Response(200), httpx2.Response(503))
    client, _ = client_of(handle)

    assert [await client.daemon.is_ready(), await client.daemon.is_ready()] == [True, False]


def test_every_operation_can_read_its_answer() -> None:
    groups = [*vars(Operations(None)).values()]  # type: ignore[type-var]
    groups += [each for group in groups for each in getattr(group, "__dict__", {}).values()]
    operations = [
        each
        for group in groups
        for kind in type(group).__mro__
        for each in vars(kind).values()
        if isinstance(each, ClientOperation | Every)
    ]

    assert len(operations) > 150
    for each in operations:
        operation = each if isinstance(each, ClientOperation) else each.page
        assert operation._adapter is not None
