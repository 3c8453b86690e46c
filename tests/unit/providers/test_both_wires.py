"""What every real provider does, whatever wire it speaks."""

import json
from dataclasses import replace

import pytest

from tests.unit.providers.asks import KEY, WRITE_FILE, Listener, MakeProvider, ask, complete
from understudy.providers.base import (
    AssistantMessage,
    Provider,
    ProviderError,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from understudy.testing.answers import Answer, FakeCall, call
from understudy.testing.fake_model import FakeModel


async def test_a_streamed_text_arrives_in_pieces_that_join_to_the_reply(
    fake: FakeModel, provider: Provider
) -> None:
    fake.queue("one two three")
    listener = Listener()
    reply = await provider.complete(ask(), on_delta=listener)
    assert listener.pieces == ["one ", "two ", "three"]
    assert reply.text == listener.text
    assert fake.requests[0].streams


async def test_a_plain_body_serves_as_well_as_a_stream(fake: FakeModel, provider: Provider) -> None:
    calls = (FakeCall(name="write_file", arguments={"path": "a"}),)
    fake.queue(Answer(text="not streamed", calls=calls, plain=True))
    listener = Listener()
    reply = await provider.complete(ask(), on_delta=listener)
    assert (reply.text, listener.text) == ("not streamed", "not streamed")
    assert [json.loads(c.arguments) for c in reply.tool_calls] == [{"path": "a"}]
    assert reply.usage.input_tokens == 10


async def test_a_tool_call_arrives_whole(fake: FakeModel, provider: Provider) -> None:
    fake.queue(call("write_file", {"path": "a", "content": "b"}))
    reply = await complete(provider)
    (wanted,) = reply.tool_calls
    assert wanted.name == "write_file"
    assert json.loads(wanted.arguments) == {"path": "a", "content": "b"}
    assert wanted.call_id


async def test_several_tool_calls_keep_their_order_beside_a_text(
    fake: FakeModel, provider: Provider
) -> None:
    names = ("write_file", "read_file", "write_file")
    fake.queue(Answer(text="let me", calls=tuple(FakeCall(name=name) for name in names)))
    reply = await complete(provider)
    assert reply.text == "let me"
    assert tuple(c.name for c in reply.tool_calls) == names


async def test_usage_and_model_are_reported(fake: FakeModel, provider: Provider) -> None:
    fake.queue(Answer(text="x", input_tokens=123, output_tokens=45))
    reply = await complete(provider, ask(model="fake-7"))
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (123, 45)
    assert reply.model == "fake-7"


async def test_the_conversation_reaches_the_model(fake: FakeModel, provider: Provider) -> None:
    wanted = ToolCall(call_id="c1", name="write_file", arguments='{"path": "a"}')
    request = ask(
        UserMessage(text="save it"),
        AssistantMessage(text="saving", tool_calls=(wanted,)),
        ToolMessage(call_id="c1", name="write_file", content="saved"),
        UserMessage(text="thanks"),
    )
    await complete(provider, request)
    turns = [(turn.role, turn.text, turn.calls) for turn in fake.requests[0].turns]
    assert turns == [
        ("system", "Be brief.", 0),
        ("user", "save it", 0),
        ("assistant", "saving", 1),
        ("tool", "saved", 0),
        ("user", "thanks", 0),
    ]


async def test_invalid_arguments_are_passed_on_as_they_came(
    fake: FakeModel, provider: Provider
) -> None:
    fake.queue(call("write_file", '{"path": "a", oops'))
    reply = await complete(provider)
    assert reply.tool_calls[0].arguments == '{"path": "a", oops'


async def test_invalid_arguments_in_the_history_go_out_as_valid_json(
    fake: FakeModel, provider: Provider
) -> None:
    broken = ToolCall(call_id="c1", name="write_file", arguments="{oops")
    request = ask(
        UserMessage(text="go"),
        AssistantMessage(text="", tool_calls=(broken,)),
        ToolMessage(call_id="c1", name="write_file", content="these are not valid arguments"),
    )
    await complete(provider, request)
    assert '"invalid_arguments' in json.dumps(fake.requests[0].body).replace("\\", "")


async def test_an_unknown_tool_name_is_left_to_the_loop(
    fake: FakeModel, provider: Provider
) -> None:
    fake.queue(call("no_such_tool", {}))
    assert (await complete(provider)).tool_calls[0].name == "no_such_tool"


async def test_missing_and_repeated_call_ids_are_replaced(
    fake: FakeModel, provider: Provider
) -> None:
    ids = ("", "same", "same", "")
    calls = tuple(FakeCall(name="write_file", call_id=call_id) for call_id in ids)
    fake.queue(Answer(calls=calls))
    reply = await complete(provider)
    found = [c.call_id for c in reply.tool_calls]
    assert all(found)
    assert len(set(found)) == 4
    assert found[1] == "same"


async def test_a_call_without_arguments_means_an_empty_object(
    fake: FakeModel, provider: Provider
) -> None:
    fake.queue(call("list_files", ""))
    assert (await complete(provider)).tool_calls[0].arguments == "{}"


async def test_an_unknown_finish_reason_is_no_problem(fake: FakeModel, provider: Provider) -> None:
    fake.queue(Answer(text="fine", finish_reason="cosmic_ray"))
    reply = await complete(provider)
    assert (reply.text, reply.finish_reason) == ("fine", "cosmic_ray")


async def test_generation_settings_reach_the_model(
    fake: FakeModel, provider: Provider, wire: str
) -> None:
    generation = {"temperature": 0.5, "top_p": 0.9, "max_tokens": 77, "stop": ["END"], "seed": None}
    await complete(provider, ask(generation=generation))
    body = fake.requests[0].body
    assert (body["temperature"], body["top_p"], body["max_tokens"]) == (0.5, 0.9, 77)
    assert body["stop" if wire == "openai" else "stop_sequences"] == ["END"]


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (400, "provider_rejected", False),
        (401, "provider_unauthorized", False),
        (403, "provider_unauthorized", False),
        (404, "provider_not_found", False),
        (422, "provider_rejected", False),
        (429, "provider_rate_limited", True),
        (500, "provider_unavailable", True),
        (503, "provider_unavailable", True),
    ],
)
async def test_an_http_error_says_whether_trying_again_may_help(
    fake: FakeModel, provider: Provider, status: int, code: str, retryable: bool
) -> None:
    fake.queue(Answer(status=status, error="the reason", headers={"Retry-After": "7"}))
    with pytest.raises(ProviderError) as caught:
        await complete(provider)
    assert (caught.value.code, caught.value.retryable) == (code, retryable)
    assert "the reason" in caught.value.detail
    assert caught.value.retry_after_s == 7
    assert len(fake.requests) == 1


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (Answer(text="a longer text in pieces", cut=True), "provider_unavailable"),
        (Answer(), "provider_empty"),
        (Answer(text="  \n "), "provider_empty"),
        (Answer(garbage=b"<html>sorry</html>"), "provider_malformed"),
        (Answer(garbage=b'{"choices": [{"delta": 4'), "provider_malformed"),
        (Answer(garbage=b'{"choices": 7, "content": 7}'), "provider_malformed"),
        (Answer(garbage=b""), "provider_malformed"),
        (Answer(garbage=b"[1, 2]"), "provider_malformed"),
        (Answer(garbage=b"\xff\xfe\x00"), "provider_malformed"),
        (Answer(garbage=b"data: {oops}\n\n"), "provider_malformed"),
    ],
)
async def test_a_broken_answer_may_be_tried_again(
    fake: FakeModel, provider: Provider, answer: Answer, code: str
) -> None:
    fake.queue(answer)
    with pytest.raises(ProviderError) as caught:
        await complete(provider)
    assert (caught.value.code, caught.value.retryable) == (code, True)


@pytest.mark.parametrize("plain", [True, False])
async def test_an_empty_answer_is_one_where_the_request_says_so(
    fake: FakeModel, provider: Provider, plain: bool
) -> None:
    asked = replace(ask(), may_be_empty=True)
    fake.queue(Answer(plain=plain), Answer(finish_reason="max_tokens", plain=plain))

    reply = await provider.complete(asked, on_delta=Listener())

    assert (reply.text, reply.tool_calls) == ("", ())
    with pytest.raises(ProviderError) as caught:
        await provider.complete(asked, on_delta=Listener())
    assert caught.value.code == "provider_empty"


async def test_a_reply_without_a_word_is_left_out_of_the_history(
    fake: FakeModel, provider: Provider
) -> None:
    fake.queue("ok")
    calls = (ToolCall(call_id="c1", name="write_file", arguments="{}"),)
    history = (
        UserMessage(text="go"),
        AssistantMessage(text="", tool_calls=calls),
        ToolMessage(call_id="c1", name="write_file", content="done"),
        AssistantMessage(text=" \n"),
        UserMessage(text="and?"),
    )
    await complete(provider, ask(*history))

    turns = fake.requests[0].turns
    assert [turn.calls for turn in turns if turn.role == "assistant"] == [1]
    assert (turns[-1].role, turns[-1].text) == ("user", "and?")


async def test_a_provider_that_failed_answers_the_next_call(
    fake: FakeModel, provider: Provider
) -> None:
    fake.queue(Answer(text="a longer text in pieces", cut=True), "whole again")
    with pytest.raises(ProviderError):
        await complete(provider)
    assert (await complete(provider)).text == "whole again"


async def test_an_unreachable_server_is_retryable(make_provider: MakeProvider, wire: str) -> None:
    with FakeModel() as gone:
        url = gone.url
    with pytest.raises(ProviderError) as caught:
        await complete(make_provider(wire, base_url=url))
    assert (caught.value.code, caught.value.retryable) == ("provider_unavailable", True)


@pytest.mark.parametrize("padding", [0, 280])
async def test_no_error_shows_the_key_or_runs_on(
    fake: FakeModel, provider: Provider, padding: int
) -> None:
    fake.queue(Answer(status=401, error=f"{'x' * padding} bad key {KEY} " + "and so on " * 100))
    with pytest.raises(ProviderError) as caught:
        await complete(provider)
    assert KEY not in caught.value.detail
    assert KEY[:10] not in caught.value.detail
    assert len(caught.value.detail) <= 300


async def test_the_key_goes_out_in_a_header_and_nowhere_else(
    fake: FakeModel, provider: Provider
) -> None:
    await complete(provider)
    seen = fake.requests[0]
    # Anthropic's own client has used both headers over the years.
    sent = {seen.headers.get("authorization"), seen.headers.get("x-api-key")}
    assert sent & {f"Bearer {KEY}", KEY}
    assert KEY not in seen.path + json.dumps(seen.body)


async def test_the_tools_reach_the_model_with_their_schema(
    fake: FakeModel, provider: Provider, wire: str
) -> None:
    await complete(provider)
    (tool,) = fake.requests[0].body["tools"]
    if wire == "openai":
        assert tool["function"]["parameters"] == WRITE_FILE.parameters
    else:
        assert tool["input_schema"] == WRITE_FILE.parameters
