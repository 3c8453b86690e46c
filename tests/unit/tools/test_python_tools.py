"""Functions of other packages as tools: declared, described by their signature, called."""

from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field

from understudy.tools.base import Approval, Effect, ToolContext, ToolError, schema_of
from understudy.tools.python import PythonTool, tool


@tool(effect="read", approval="never")
def stock(
    item: Annotated[str, Field(description="what is asked for")], shelf: int = 1
) -> dict[str, Any]:
    """How many of an item are on a shelf."""
    if item == "ghost":
        raise LookupError("no such item")
    return {"item": item, "shelf": shelf}


@tool(effect="once", approval="always", name="order_item")
async def order(item: str, context: ToolContext) -> str:
    """Order an item."""
    return f"{context.user_id} ordered {item}"


@tool(effect="read", approval="never")
def places() -> dict[Any, str]:
    """What no JSON can say."""
    return {(1, 2): "nut"}


CONTEXT = ToolContext(
    session_id="s",
    run_id="r",
    agent_id="a",
    user_id="ann",
    call_id="1",
    call_key="k",
    workspace=Path("/nowhere"),
)


async def called(function: Any, **arguments: Any) -> str:
    made = PythonTool.of(function, "entry")
    return await made.call(made.parameters.model_validate(arguments), CONTEXT)


def test_a_tool_is_what_its_function_says() -> None:
    made = PythonTool.of(stock, "stock")
    assert (made.name, made.effect, made.approval) == ("stock", Effect.READ, Approval.NEVER)
    assert made.description == "How many of an item are on a shelf."
    schema: Any = schema_of(made.parameters)
    assert schema["required"] == ["item"]
    assert schema["properties"]["item"]["description"] == "what is asked for"
    assert schema["additionalProperties"] is False
    other = PythonTool.of(order, "entry")
    assert (other.name, other.effect, other.approval) == ("order_item", Effect.ONCE, "always")
    assert "context" not in str(schema_of(other.parameters)["properties"])


async def test_a_tool_answers_text_or_json_and_its_failures_are_for_the_model() -> None:
    assert await called(stock, item="nut") == '{"item": "nut", "shelf": 1}'
    assert await called(order, item="nut") == "ann ordered nut"
    with pytest.raises(ToolError, match="LookupError: no such item"):
        await called(stock, item="ghost")
    with pytest.raises(ToolError, match="TypeError: keys must be"):
        await called(places)


def undeclared(item: str) -> str:
    """It does not say what a repeat does."""
    return item


@tool(effect="read", approval="never")
def undescribed(item: str) -> str:
    return item


@tool(effect="read", approval="never")
def untyped(item, *more):
    """Nobody knows what it takes."""


@tool(effect="read", approval="never", name="a/b")
def misnamed() -> str:
    """A name that tools of servers have."""
    return ""


@tool(effect="read", approval="never")
def positional(item: str, /) -> str:
    """Its parameter cannot be given by name."""
    return item


@pytest.mark.parametrize("function", [misnamed, positional, undeclared, undescribed, untyped])
def test_a_function_that_says_too_little_is_no_tool(function: Any) -> None:
    with pytest.raises(TypeError):
        PythonTool.of(function, "entry")
