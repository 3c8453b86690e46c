"""Arguments by a server's schema."""

from typing import Any

import pytest
from pydantic import BaseModel

from tests.support.cpu_effort import takes_under
from understudy.mcp_client.schema import rebuild
from understudy.mcp_client.tool import arguments_model
from understudy.tools.base import Approval, Effect, ToolContext, ToolError
from understudy.tools.registry import ToolRegistry

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer"},
        "unit": {"type": ["string", "null"]},
        "model_config": {"type": "object"},
    },
    "required": ["city"],
    "additionalProperties": False,
}


class Weather:
    """A tool that answers with its arguments."""

    name = "weather/forecast"
    description = "x"
    effect = Effect.READ
    approval = Approval.NEVER

    def __init__(self, schema: dict[str, Any]) -> None:
        self.parameters: type[BaseModel] = arguments_model(rebuild(schema))

    async def call(self, arguments: BaseModel, context: ToolContext) -> str:
        return str(arguments)


@pytest.fixture
def registry() -> ToolRegistry:
    return ToolRegistry([Weather(SCHEMA)])


@pytest.mark.parametrize(
    "raw",
    [
        '{"city": "Paris"}',
        '{"city": "Paris", "days": 3, "unit": null, "model_config": {"a": [1]}}',
        '{"city": "Paris", "days": 3.0}',
    ],
)
def test_arguments_that_fit_are_passed_on_as_they_are(registry: ToolRegistry, raw: str) -> None:
    arguments = registry.validate("weather__forecast", raw)

    assert arguments.model_extra == arguments.model_dump(mode="json")
    assert arguments.model_dump()["city"] == "Paris"


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("{}", "city: is required"),
        ('{"city": 3}', "city: must be string"),
        ('{"city": "x", "days": 1.5}', "days: must be integer"),
        ('{"city": "x", "days": true}', "days: must be integer"),
        ('{"city": "x", "unit": 3}', "unit: must be string or null"),
        ('{"city": "x", "town": 1}', "'town': is not a parameter"),
        ("[]", "must be a JSON object"),
    ],
)
def test_arguments_that_do_not_fit_are_explained(
    registry: ToolRegistry, raw: str, said: str
) -> None:
    with pytest.raises(ToolError) as refused:
        registry.validate("weather/forecast", raw)

    assert said in refused.value.detail
    assert refused.value.code == "invalid_arguments"


def test_a_model_is_told_the_servers_schema(registry: ToolRegistry) -> None:
    assert registry.schema("weather/forecast") == SCHEMA


def test_an_open_schema_stays_open() -> None:
    registry = ToolRegistry([Weather({"type": "object"})])

    assert registry.schema("weather/forecast")["additionalProperties"] is True
    assert registry.validate("weather/forecast", '{"any": 1}').model_extra == {"any": 1}


def test_a_schema_that_would_take_for_ever_to_check_takes_no_time() -> None:
    part: dict[str, Any] = {"type": "string", "pattern": "(a+)+$"}
    for _ in range(8):
        part = {"oneOf": [part, part]}
    registry = ToolRegistry([Weather({"properties": {"text": part}})])

    given = '{"text": "' + "a" * 60 + '!"}'

    assert takes_under(1, lambda: registry.validate("weather/forecast", given))
