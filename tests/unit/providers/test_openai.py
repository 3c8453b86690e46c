"""The odd dialects of OpenAI's wire."""

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from tests.unit.providers.asks import MakeProvider, ask, complete
from understudy.providers import connection
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


async def test_credentials_in_the_address_are_sent_instead_of_the_key(
    fake: FakeModel, make_provider: MakeProvider
) -> None:
    address = fake.url.replace("://", "://me:secret@")
    assert (await complete(make_provider("openai", base_url=address))).text == "ok"
    assert fake.requests[0].headers["authorization"].startswith("Basic ")


@pytest.mark.parametrize("host", ["a" * 70 + ".example", "me:hunter22@127.0.0.1:99999"])
async def test_an_impossible_address_is_an_error_of_the_provider_without_its_password(
    make_provider: MakeProvider, host: str
) -> None:
    with pytest.raises(ProviderError) as caught:
        await complete(make_provider("openai", base_url=f"http://{host}/v1"))
    assert caught.value.code == "provider_unavailable"
    assert "hunter22" not in caught.value.detail


@asynccontextmanager
async def serving(answer: bytes) -> AsyncIterator[str]:
    """A server that answers every request with these bytes, or with nothing if there are none."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        with suppress(ConnectionError):
            await reader.read()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()


async def test_a_proxy_that_refuses_is_told_without_its_password(
    make_provider: MakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n") as proxy:
        monkeypatch.setenv("https_proxy", f"http://me:hunter22@{proxy}")
        provider = make_provider("openai", base_url="https://models.example/v1")
        with pytest.raises(ProviderError, match="the proxy answered 407") as caught:
            await complete(provider)
    assert "hunter22" not in caught.value.detail


async def test_a_proxy_that_is_silent_is_given_up(
    make_provider: MakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_CONNECT_S", 0.2)
    async with serving(b"") as proxy:
        monkeypatch.setenv("https_proxy", f"http://{proxy}")
        provider = make_provider("openai", base_url="https://models.example/v1")
        async with asyncio.timeout(30):
            with pytest.raises(ProviderError) as caught:
                await complete(provider)
    assert (caught.value.code, caught.value.retryable) == ("provider_unavailable", True)


async def test_a_long_header_of_an_answer_does_not_matter(make_provider: MakeProvider) -> None:
    document = json.dumps({"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]})
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(document)}\r\nX-Policy: {'x' * 20_000}\r\n\r\n"
    async with serving((head + document).encode()) as address:
        provider = make_provider("openai", base_url=f"http://{address}")
        assert (await complete(provider)).text == "hi"
        await provider.close()


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
