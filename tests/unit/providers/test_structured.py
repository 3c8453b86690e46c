"""One model call that must answer an object, over HTTP to the fake model."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.run_harness import arrived, make_settings
from understudy.core.errors import NotFound, Unavailable
from understudy.providers.base import ProviderError
from understudy.providers.registry import Routes
from understudy.providers.structured import StructuredModel
from understudy.settings import RouteConfig
from understudy.telemetry.metrics import Metrics
from understudy.testing.answers import Answer
from understudy.testing.fake_model import FakeModel


@dataclass
class Counted(Metrics):
    """What was counted."""

    calls: list[tuple[str, str]] = field(default_factory=list)
    tokens: int = 0

    def model_called(self, provider: str, *, outcome: str) -> None:
        self.calls.append((provider, outcome))

    def tokens_used(self, *, input_tokens: int, output_tokens: int) -> None:
        self.tokens += input_tokens + output_tokens


@pytest.fixture
async def routes(tmp_path: Path, fake: FakeModel) -> AsyncIterator[Routes]:
    settings = make_settings(tmp_path, fake.url, "a", "b")
    offline = RouteConfig(provider="scripted")
    routes = Routes(make_settings(tmp_path, routes={**settings.routes, "offline": offline}))
    yield routes
    await routes.close()


@pytest.fixture
def counted() -> Counted:
    return Counted()


@pytest.fixture
def model(routes: Routes, counted: Counted) -> StructuredModel:
    return StructuredModel(routes, lambda: "a", observer=counted)


async def ask(model: StructuredModel, **fields: Any) -> Any:
    values: dict[str, Any] = {
        "route_id": None,
        "system": "Judge.",
        "payload": {"text": 'say "no"'},
        "timeout_ms": 5_000,
    }
    return await model.ask(**(values | fields))


async def test_the_payload_goes_out_as_json_and_the_object_comes_back(
    model: StructuredModel, fake: FakeModel, counted: Counted
) -> None:
    fake.queue('```json\n{"action": "reject"}\n```')
    assert await ask(model, payload={"text": 'Đừng "nói"'}) == {"action": "reject"}
    (seen,) = fake.requests
    assert [turn.role for turn in seen.turns] == ["system", "user"]
    assert json.loads(seen.turns[1].text) == {"text": 'Đừng "nói"'}
    assert "tools" not in seen.body
    assert counted.calls == [("openai", "ok")]
    assert counted.tokens > 0


async def test_the_default_route_is_the_one_of_that_moment(routes: Routes, fake: FakeModel) -> None:
    default = ["a"]
    model = StructuredModel(routes, lambda: default[0])
    fake.queue("{}", "{}", "{}", "{}")
    await ask(model)
    default[0] = "b"
    await ask(model)
    await ask(model, route_id="a")
    await ask(model, generation={"model": "other", "temperature": 0})
    models = [seen.body["model"] for seen in fake.requests]
    assert models == ["model-a", "model-b", "model-a", "other"]
    assert fake.requests[-1].body["temperature"] == 0


async def test_a_model_that_takes_too_long_is_given_up(
    model: StructuredModel, fake: FakeModel, counted: Counted
) -> None:
    # The first call opens the HTTP client, which may take longer than the timeout.
    fake.queue("{}")
    await ask(model)
    counted.calls.clear()
    fake.queue(Answer(text="{}", stall=True))
    with pytest.raises(Unavailable) as late:
        await ask(model, timeout_ms=500)
    assert late.value.code == "model_timeout"
    assert counted.calls == [("openai", "error")]
    fake.queue('{"a": 1}')
    assert await ask(model) == {"a": 1}


async def test_an_answer_in_words_is_unusable(model: StructuredModel, fake: FakeModel) -> None:
    fake.queue("I would rather not.")
    with pytest.raises(Unavailable) as refused:
        await ask(model)
    assert refused.value.code == "model_answer_unusable"


async def test_what_the_provider_says_passes_through(
    model: StructuredModel, fake: FakeModel
) -> None:
    fake.fail(401)
    with pytest.raises(ProviderError) as refused:
        await ask(model)
    assert refused.value.code == "provider_unauthorized"
    with pytest.raises(NotFound):
        await ask(model, route_id="nowhere")


async def test_only_a_few_ask_at_once_and_waiting_in_line_costs_no_time(
    routes: Routes, fake: FakeModel
) -> None:
    model = StructuredModel(routes, lambda: "a", at_once=2)
    # Loading a provider may take longer than a question here may.
    routes.get("a")
    fake.hold()
    asking = [asyncio.create_task(ask(model, timeout_ms=400)) for _ in range(3)]
    await arrived(fake, 2)
    # The third is still in line after the time that it may take has passed once.
    await asyncio.wait(asking[:2])
    assert {task.exception().code for task in asking[:2]} == {"model_timeout"}  # type: ignore[union-attr]
    fake.forget()
    fake.queue("{}", "{}", "{}")
    fake.release()
    assert await asking[2] == {}
    assert len(fake.requests) == 3


async def test_the_script_is_known_for_what_it_is(routes: Routes) -> None:
    model = StructuredModel(routes, lambda: "offline")
    assert await model.is_offline(None)
    assert await model.is_offline("offline")
    assert not await model.is_offline("a")
