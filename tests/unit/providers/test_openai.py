"""The odd dialects of OpenAI's wire."""

import asyncio
import json
import socket
import threading

import pytest

from tests.unit.providers.asks import MakeProvider, ask, complete
from understudy.providers.base import ModelRequest, ProviderError
from understudy.testing.answers import Answer, SeenRequest
from understudy.testing.fake_model import FakeModel


def sse(*documents: object, done: bool = True, line_end: str = "\n") -> Answer:
    lines = [f"data: {json.dumps(document)}" for document in documents]
    lines += ["data: [DONE]"] if done else []
    return Answer(garbage=(line_end * 2).join([*lines, ""]).encode())


def chunk(finish_reason: str | None = None, **delta: object) -> dict[str, object]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}


async def test_a_stream_under_a_wrong_content_type_is_still_a_stream(
    fake: FakeModel, make_provider: MakeProvider
) -> None:
    fake.queue(sse(chunk(content="hi "), chunk(content="you"), chunk("stop"), line_end="\r\n"))
    assert (await complete(make_provider("openai"))).text == "hi you"


async def test_comments_and_a_missing_done_do_not_matter_once_the_answer_finished(
    fake: FakeModel, make_provider: MakeProvider
) -> None:
    answer = sse(chunk(content="hi"), chunk("stop"), done=False)
    fake.queue(Answer(garbage=b": keep-alive\n\n" + (answer.garbage or b"")))
    assert (await complete(make_provider("openai"))).text == "hi"


async def test_a_stream_that_just_ends_is_incomplete(
    fake: FakeModel, make_provider: MakeProvider
) -> None:
    fake.queue(sse(chunk(content="half of"), done=False))
    with pytest.raises(ProviderError) as caught:
        await complete(make_provider("openai"))
    assert (caught.value.code, caught.value.retryable) == ("provider_incomplete", True)


async def test_an_error_inside_the_stream_is_told_in_its_words(
    fake: FakeModel, make_provider: MakeProvider
) -> None:
    fake.queue(sse(chunk(content="half"), {"error": {"message": "out of memory"}}))
    with pytest.raises(ProviderError, match="out of memory") as caught:
        await complete(make_provider("openai"))
    assert caught.value.retryable


async def test_calls_that_all_have_index_zero_are_told_apart_by_id(
    fake: FakeModel, make_provider: MakeProvider
) -> None:
    calls = [
        {"index": 0, "id": name, "function": {"name": name, "arguments": f'{{"n": "{name}"}}'}}
        for name in ("a", "b")
    ]
    fake.queue(sse(*(chunk(tool_calls=[call]) for call in calls), chunk("tool_calls")))
    reply = await complete(make_provider("openai"))
    assert [(c.name, c.arguments) for c in reply.tool_calls] == [
        ("a", '{"n": "a"}'),
        ("b", '{"n": "b"}'),
    ]


async def test_arguments_sent_as_an_object_become_text(
    fake: FakeModel, make_provider: MakeProvider
) -> None:
    message = {"tool_calls": [{"function": {"name": "a", "arguments": {"n": 1}}}]}
    body = {"choices": [{"message": message, "finish_reason": "tool_calls"}]}
    fake.queue(Answer(garbage=json.dumps(body).encode()))
    (call,) = (await complete(make_provider("openai"))).tool_calls
    assert call.arguments == '{"n": 1}'
    assert call.call_id


async def test_a_call_without_a_name_is_malformed(
    fake: FakeModel, make_provider: MakeProvider
) -> None:
    fake.queue(sse(chunk(tool_calls=[{"index": 0, "id": "x", "function": {}}]), chunk("stop")))
    with pytest.raises(ProviderError, match="no name"):
        await complete(make_provider("openai"))


async def test_a_server_that_does_not_know_stream_options_is_asked_without_them(
    fake: FakeModel, make_provider: MakeProvider
) -> None:
    def old_server(request: SeenRequest) -> Answer | str:
        if "stream_options" in request.body:
            return Answer(status=400, error="unknown field stream_options")
        return "fine"

    fake.rule = old_server
    provider = make_provider("openai")
    assert [(await complete(provider)).text for _ in range(2)] == ["fine", "fine"]
    assert len(fake.requests) == 3


async def test_the_request_without_the_unknown_option_is_told_as_well(
    fake: FakeModel, make_provider: MakeProvider
) -> None:
    told: list[ModelRequest] = []

    async def on_send(request: ModelRequest) -> None:
        told.append(request)

    fake.queue(Answer(status=400, error="unknown field stream_options"), "fine")
    await make_provider("openai").complete(ask(), on_delta=lambda _: None, on_send=on_send)
    assert len(told) == len(fake.requests) == 2


async def test_without_a_key_no_authorization_is_sent(
    fake: FakeModel, make_provider: MakeProvider
) -> None:
    await complete(make_provider("openai", api_key=None))
    assert "authorization" not in fake.requests[0].headers


async def test_no_system_text_means_no_system_message(
    fake: FakeModel, make_provider: MakeProvider
) -> None:
    await complete(make_provider("openai"), ask(system=""))
    assert [turn.role for turn in fake.requests[0].turns] == ["user"]


async def test_a_server_that_keeps_the_line_open_after_the_end_is_not_waited_for(
    make_provider: MakeProvider,
) -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    asked = threading.Event()

    def serve() -> None:
        connection, _ = listening.accept()
        connection.recv(65536)
        body = sse(chunk(content="hi"), chunk("stop")).garbage or b""
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + body)
        asked.wait(60)
        connection.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        provider = make_provider("openai", base_url=f"http://127.0.0.1:{port}")
        async with asyncio.timeout(30):
            assert (await complete(provider)).text == "hi"
    finally:
        asked.set()
        thread.join()
        listening.close()
