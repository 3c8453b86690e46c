"""Patience: which failures are tried again, how often, after what wait."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tests.unit.providers.asks import Listener, MakeProvider, ask, complete
from understudy.providers.base import ModelRequest, ProviderError
from understudy.providers.registry import output_limit
from understudy.providers.retry import LONGEST_RETRY_AFTER_S, RetryingProvider
from understudy.settings import RouteConfig
from understudy.testing.answers import Answer
from understudy.testing.fake_model import FakeModel

Patient = Callable[..., RetryingProvider]


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def patient(make_provider: MakeProvider, waits: list[float]) -> Patient:
    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    def make(
        sleep: Callable[[float], Awaitable[None]] = sleep,
        limit: int | None = None,
        **fields: object,
    ) -> RetryingProvider:
        route = RouteConfig.model_validate({"provider": "openai", "model": "fake-1", **fields})
        return RetryingProvider(
            make_provider("openai"),
            route,
            sleep=sleep,
            jitter=lambda: 1.0,
            max_output_tokens=limit,
        )

    return make


@pytest.mark.parametrize("status", [429, 500, 502, 503])
async def test_a_passing_failure_is_tried_again(
    fake: FakeModel, patient: Patient, status: int
) -> None:
    fake.fail(status, times=2)
    assert (await complete(patient())).text == "ok"
    assert len(fake.requests) == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404])
async def test_a_lasting_failure_is_told_at_once(
    fake: FakeModel, patient: Patient, status: int, waits: list[float]
) -> None:
    fake.fail(status)
    with pytest.raises(ProviderError) as caught:
        await complete(patient(fallback_model="fake-2"))
    assert not caught.value.retryable
    assert (len(fake.requests), waits) == (1, [])


async def test_waits_double_and_end_with_the_last_attempt(
    fake: FakeModel, patient: Patient, waits: list[float]
) -> None:
    fake.fail(503, times=9)
    with pytest.raises(ProviderError, match="attempt 4") as caught:
        await complete(patient(max_attempts=4))
    assert caught.value.code == "provider_unavailable"
    assert waits == [0.5, 1.0, 2.0]
    assert len(fake.requests) == 4


async def test_a_provider_may_ask_for_a_longer_wait_within_bounds(
    fake: FakeModel, patient: Patient, waits: list[float]
) -> None:
    fake.fail(429, retry_after="7")
    fake.fail(429, retry_after="86400")
    fake.fail(429, retry_after="soon")
    await complete(patient())
    assert waits == [7.0, LONGEST_RETRY_AFTER_S, 2.0]


async def test_the_fallback_model_gets_one_try_without_a_wait(
    fake: FakeModel, patient: Patient, waits: list[float]
) -> None:
    fake.fail(503, times=2)
    reply = await complete(patient(max_attempts=2, fallback_model="fake-2"))
    assert [request.model for request in fake.requests] == ["fake-1", "fake-1", "fake-2"]
    assert reply.model == "fake-2"
    assert len(waits) == 1


async def test_a_failing_fallback_is_the_end(fake: FakeModel, patient: Patient) -> None:
    fake.fail(503, times=3)
    with pytest.raises(ProviderError, match="fake-2"):
        await complete(patient(max_attempts=2, fallback_model="fake-2"))
    assert len(fake.requests) == 3


async def test_a_half_told_answer_is_taken_back_before_the_next_try(
    fake: FakeModel, patient: Patient
) -> None:
    fake.queue(Answer(text="this will not be finished", cut=True), "this will")
    listener = Listener()
    reply = await patient().complete(ask(), on_delta=listener)
    assert listener.resets == 1
    assert listener.text == reply.text == "this will"


async def test_nothing_is_taken_back_when_nothing_was_said(
    fake: FakeModel, patient: Patient
) -> None:
    fake.fail(503)
    listener = Listener()
    await patient().complete(ask(), on_delta=listener)
    assert listener.resets == 0


async def test_a_stream_that_stalls_runs_into_the_time_limit(
    fake: FakeModel, patient: Patient
) -> None:
    fake.queue(Answer(text="and then silence fell over us", stall=True), "awake")
    listener = Listener()
    reply = await patient(timeout_s=0.2).complete(ask(), on_delta=listener)
    assert (reply.text, listener.resets) == ("awake", 1)


async def test_a_server_that_never_answers_ends_in_a_timeout(
    fake: FakeModel, patient: Patient
) -> None:
    fake.hold()
    with pytest.raises(ProviderError) as caught:
        await complete(patient(timeout_s=0.1, max_attempts=1))
    assert (caught.value.code, caught.value.retryable) == ("provider_timeout", True)


async def test_an_empty_answer_is_tried_again(fake: FakeModel, patient: Patient) -> None:
    fake.queue(Answer(), "something")
    assert (await complete(patient())).text == "something"


async def test_a_cancelled_call_is_neither_caught_nor_repeated(
    fake: FakeModel, patient: Patient
) -> None:
    fake.hold()
    task = asyncio.create_task(complete(patient()))
    await asyncio.to_thread(fake.wait_for_requests, 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    fake.release()
    assert len(fake.requests) == 1


async def test_a_cancel_during_the_wait_passes_through(fake: FakeModel, patient: Patient) -> None:
    waiting = asyncio.Event()

    async def sleep(_: float) -> None:
        waiting.set()
        await asyncio.Event().wait()

    fake.fail(503)
    task = asyncio.create_task(complete(patient(sleep=sleep)))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(fake.requests) == 1


async def test_every_request_is_told_before_it_is_sent(fake: FakeModel, patient: Patient) -> None:
    told: list[tuple[str, int]] = []

    async def on_send(request: ModelRequest) -> None:
        told.append((request.model, len(fake.requests)))

    fake.fail(503, times=2)
    provider = patient(max_attempts=2, fallback_model="fake-2")
    await provider.complete(ask(), on_delta=Listener(), on_send=on_send)
    assert told == [("fake-1", 0), ("fake-1", 1), ("fake-2", 2)]


async def test_telling_takes_no_time_from_the_answer(fake: FakeModel, patient: Patient) -> None:
    async def on_send(_: ModelRequest) -> None:
        await asyncio.sleep(0.3)

    provider = patient(timeout_s=0.2, max_attempts=1)
    assert (await provider.complete(ask(), on_delta=Listener(), on_send=on_send)).text == "ok"
    fake.hold()
    with pytest.raises(ProviderError) as caught:
        await provider.complete(ask(), on_delta=Listener(), on_send=on_send)
    assert caught.value.code == "provider_timeout"


@pytest.mark.parametrize("problem", [RuntimeError, ValueError])
async def test_who_is_told_can_stop_the_call(
    fake: FakeModel, wire: str, make_provider: MakeProvider, problem: type[Exception]
) -> None:
    async def on_send(_: ModelRequest) -> None:
        raise problem("stop")

    route = RouteConfig.model_validate({"provider": wire, "model": "fake-1"})
    provider = RetryingProvider(make_provider(wire), route)
    with pytest.raises(problem, match="stop"):
        await provider.complete(ask(), on_delta=Listener(), on_send=on_send)
    assert fake.requests == []


async def test_an_answer_is_limited_where_the_request_names_no_limit(
    fake: FakeModel, patient: Patient
) -> None:
    provider = patient(limit=2_000)
    await complete(provider)
    await complete(provider, ask(generation={"max_tokens": 7}))
    assert [it.body["max_tokens"] for it in fake.requests] == [2_000, 7]


async def test_a_model_that_allows_fewer_tokens_is_asked_without_the_limit(
    fake: FakeModel, patient: Patient
) -> None:
    refusal = "max_tokens is too large: 16384. This model supports at most 4096"
    fake.queue(Answer(status=400, error=refusal), "ok", "ok")
    provider = patient(limit=16_384)
    for _ in range(2):
        assert (await complete(provider)).text == "ok"
    assert ["max_tokens" in it.body for it in fake.requests] == [True, False, False]


@pytest.mark.parametrize(
    ("fields", "limit"),
    [
        ({"model": "smollm2", "context_window": 8_192}, 2_048),
        ({"model": "gpt-4o"}, 16_384),
        ({"model": "gpt-4o", "max_output_tokens": 500}, 500),
    ],
)
def test_the_default_limit_is_a_part_of_the_window(fields: dict[str, object], limit: int) -> None:
    assert output_limit(RouteConfig.model_validate({"provider": "openai", **fields})) == limit
