"""Answers that are JSON, or nearly, but hold what nothing behind the provider can store or count."""

import json
from typing import Any

import pytest

from tests.unit.providers.asks import Listener, MakeProvider, ask, complete
from understudy.providers.base import (
    AssistantMessage,
    Provider,
    ProviderError,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from understudy.providers.failures import DeltaWriter, clean
from understudy.providers.replies import MAX_TOKENS, token_count
from understudy.testing.answers import Answer, FakeCall, call
from understudy.testing.fake_model import FakeModel

HIGH, LOW = "\ud83d", "\ude00"
DEEP = "[" * 20_000


def body(wire: str, *, usage: object, text: str = "x", **more: object) -> Answer:
    """A plain answer, written by hand."""
    if wire == "openai":
        choice = {"message": {"content": text}, "finish_reason": more.pop("finish_reason", "stop")}
        document = {"model": "m", "choices": [choice], "usage": usage, **more}
    else:
        content = [{"type": "text", "text": text}]
        stop = more.pop("finish_reason", "end_turn")
        document = {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": content,
            "stop_reason": stop,
            "usage": usage,
            **more,
        }
    return Answer(garbage=json.dumps(document).encode())


# Halves of surrogate pairs


@pytest.mark.parametrize(
    "text",
    [
        f"a{HIGH} b",
        f"a{LOW} b",
        f"{LOW}{HIGH}",
        f"{HIGH}{HIGH}{LOW}",
        f"a {HIGH}",
        HIGH,
        f"{HIGH}{LOW}",
        "\ufeffé\ufeff",
        "a\x00b",
    ],
)
@pytest.mark.parametrize("size", [1, 2, 99])
async def test_what_is_heard_is_the_reply_and_can_be_stored(
    fake: FakeModel, provider: Provider, text: str, size: int
) -> None:
    pieces = tuple(text[start : start + size] for start in range(0, len(text), size))
    fake.queue(Answer(text=text, pieces=pieces))
    listener = Listener()
    reply = await provider.complete(ask(), on_delta=listener)
    assert reply.text == listener.text == clean(text)
    assert all(listener.pieces)
    for piece in (*listener.pieces, reply.text):
        piece.encode()


def test_only_halves_are_replaced() -> None:
    assert clean(f"a{HIGH} b{LOW}") == "a\ufffd b\ufffd"
    assert clean(f"{HIGH}{LOW}") == "\U0001f600"
    assert clean("\ufeffplain é\x00") == "\ufeffplain é\x00"


def test_a_half_waits_for_the_other_one() -> None:
    heard = Listener()
    speaker = DeltaWriter(heard)
    speaker.say(f"a{HIGH}")
    speaker.say("")
    assert heard.pieces == ["a"]
    speaker.say(f"{LOW}b{HIGH}")
    assert heard.pieces == ["a", "\U0001f600b"]
    speaker.end()
    speaker.end()
    assert heard.pieces == ["a", "\U0001f600b", "\ufffd"]


async def test_tool_calls_can_be_stored(fake: FakeModel, provider: Provider) -> None:
    calls = (
        FakeCall(name=f"n{HIGH}", call_id=f"c{HIGH}", arguments=f'{{"path": "{HIGH}{LOW}{LOW}"}}'),
        FakeCall(name="n", call_id=f"c{LOW}", arguments=HIGH),
    )
    fake.queue(Answer(calls=calls))
    first, second = (await complete(provider)).tool_calls
    assert (first.name, first.call_id) == ("n\ufffd", "c\ufffd")
    assert json.loads(first.arguments) == {"path": "\U0001f600\ufffd"}
    assert second.arguments == "\ufffd"
    # Cleaned, the two ids are the same one.
    assert second.call_id not in ("", first.call_id)


async def test_model_and_finish_reason_can_be_stored(
    fake: FakeModel, provider: Provider, wire: str
) -> None:
    usage = {"input_tokens": 1, "output_tokens": 1}
    fake.queue(body(wire, usage=usage, model=f"m{HIGH}", finish_reason=f"f{LOW}"))
    reply = await complete(provider)
    assert (reply.model, reply.finish_reason) == ("m\ufffd", "f\ufffd")


@pytest.mark.parametrize("status", [400, 500])
async def test_an_error_can_be_stored(fake: FakeModel, provider: Provider, status: int) -> None:
    fake.queue(Answer(status=status, error=f"no{HIGH} {HIGH}{LOW}"))
    with pytest.raises(ProviderError, match="no\ufffd \U0001f600"):
        await complete(provider)


async def test_an_error_inside_a_stream_can_be_stored(
    fake: FakeModel, make_provider: MakeProvider
) -> None:
    said = json.dumps({"error": {"message": f"no{HIGH}"}})
    fake.queue(Answer(garbage=f"data: {said}\n\n".encode()))
    with pytest.raises(ProviderError, match="no\ufffd"):
        await complete(make_provider("openai"))


# Nesting


@pytest.mark.parametrize(
    "garbage",
    [
        DEEP,
        f'{{"choices": {DEEP}',
        f'{{"content": {DEEP}',
        f"data: {DEEP}\n\n",
        f"event: message_start\ndata: {DEEP}\n\n",
    ],
)
async def test_an_answer_that_nests_too_deep_is_malformed(
    fake: FakeModel, provider: Provider, garbage: str
) -> None:
    fake.queue(Answer(garbage=garbage.encode()))
    with pytest.raises(ProviderError) as caught:
        await complete(provider)
    assert (caught.value.code, caught.value.retryable) == ("provider_malformed", True)


@pytest.mark.parametrize("nested", [DEEP, f'{{"error": {DEEP}', "[" * 900 + "]" * 900])
async def test_an_error_that_nests_too_deep_is_told_by_its_status(
    fake: FakeModel, provider: Provider, nested: str
) -> None:
    fake.queue(Answer(status=403, garbage=nested.encode()))
    with pytest.raises(ProviderError) as caught:
        await complete(provider)
    assert caught.value.code == "provider_unauthorized"


async def test_arguments_that_nest_too_deep_are_passed_on_as_they_came(
    fake: FakeModel, provider: Provider
) -> None:
    fake.queue(call("write_file", DEEP))
    assert (await complete(provider)).tool_calls[0].arguments == DEEP


@pytest.mark.parametrize("deep", [DEEP, '{"a": ' * 5_000 + "1" + "}" * 5_000])
async def test_arguments_in_the_history_that_nest_too_deep_go_out_as_a_text(
    fake: FakeModel, provider: Provider, deep: str
) -> None:
    request = ask(
        UserMessage(text="go"),
        AssistantMessage(
            text="", tool_calls=(ToolCall(call_id="c1", name="write_file", arguments=deep),)
        ),
        ToolMessage(call_id="c1", name="write_file", content="nested too deeply"),
    )
    await complete(provider, request)
    assert '"invalid_arguments' in json.dumps(fake.requests[0].body).replace("\\", "")


# Odd numbers and shapes

COUNTS = [
    (7, 7),
    (7.0, 7),
    (5.5, 5),
    ("12", 12),
    (MAX_TOKENS, MAX_TOKENS),
    (MAX_TOKENS + 1, 0),
    (1e300, 0),
    (float("inf"), 0),
    (float("nan"), 0),
    ("1" * 5000, 0),
    ("many", 0),
    ([], 0),
    ({}, 0),
    (-3, 0),
    (None, 0),
]


@pytest.mark.parametrize(("told", "count"), COUNTS)
def test_a_token_count_is_a_whole_number_in_bounds(told: object, count: int) -> None:
    assert token_count(told) == count
    assert type(token_count(told)) is int


# What pydantic-ai says when it cannot make sense of a number, and goes on.
@pytest.mark.filterwarnings("ignore:Failed to extract usage")
@pytest.mark.parametrize("told", [told for told, _ in COUNTS])
async def test_odd_usage_does_not_spoil_an_answer(
    fake: FakeModel, provider: Provider, wire: str, told: Any
) -> None:
    prefixes = ("prompt", "completion") if wire == "openai" else ("input", "output")
    usage: dict[str, object] = {f"{prefix}_tokens": told for prefix in prefixes}
    usage["prompt_tokens_details"] = {"cached_tokens": told}
    fake.queue(body(wire, usage=usage))
    reply = await complete(provider)
    assert reply.text == "x"
    for number in (
        reply.usage.input_tokens,
        reply.usage.output_tokens,
        reply.usage.cache_read_tokens,
    ):
        assert type(number) is int
        assert 0 <= number <= MAX_TOKENS


@pytest.mark.parametrize("usage", [[1], "much", 7, {"prompt_tokens_details": "none"}])
async def test_usage_of_another_shape_counts_as_nothing(
    fake: FakeModel, make_provider: MakeProvider, usage: object
) -> None:
    fake.queue(body("openai", usage=usage))
    reply = await complete(make_provider("openai"))
    assert (reply.text, reply.usage.input_tokens) == ("x", 0)


@pytest.mark.parametrize("odd", [5, True])
async def test_odd_names_become_texts(fake: FakeModel, provider: Provider, odd: Any) -> None:
    fake.queue(Answer(calls=(FakeCall(name=odd, call_id=odd),), finish_reason=odd))
    reply = await complete(provider)
    (wanted,) = reply.tool_calls
    assert [type(text) for text in (wanted.name, wanted.call_id, reply.finish_reason)] == [str] * 3


async def test_a_call_index_below_zero_is_malformed(
    fake: FakeModel, make_provider: MakeProvider
) -> None:
    calls = [{"index": -5, "function": {"name": "a", "arguments": "{}"}}]
    choice = {"delta": {"tool_calls": calls}, "finish_reason": "tool_calls"}
    said = json.dumps({"choices": [choice]})
    fake.queue(Answer(garbage=f"data: {said}\n\ndata: [DONE]\n\n".encode()))
    with pytest.raises(ProviderError) as caught:
        await complete(make_provider("openai"))
    assert caught.value.code == "provider_malformed"
