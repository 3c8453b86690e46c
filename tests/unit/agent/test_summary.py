"""Summaries are asked for within the window, of material that cannot speak for itself."""

import json
from dataclasses import replace

import pytest

from tests.unit.agent.journals import answered, said
from understudy.agent.budget import list_tokens
from understudy.agent.compaction import MAX_SUMMARY_TOKENS, Summariser
from understudy.agent.conversation import Piece
from understudy.agent.history import pieces_of
from understudy.core.text import estimate_tokens
from understudy.providers.base import (
    AssistantMessage,
    FilePart,
    ModelReply,
    ModelRequest,
    ProviderError,
    TextPart,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)
from understudy.sessions.journal import OWN_CHARS

pytestmark = pytest.mark.anyio


class Scribe:
    """A model that answers summaries and keeps what it was asked."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.requests: list[ModelRequest] = []

    async def __call__(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        text = self.answers.pop(0) if self.answers else f"summary {len(self.requests)}"
        return ModelReply(text=text, usage=Usage(input_tokens=10, output_tokens=2))

    def lines(self, number: int = 0) -> list[dict[str, object]]:
        """What one request handed over, line by line."""
        [message] = self.requests[number].messages
        assert isinstance(message, UserMessage)
        return [json.loads(line) for line in message.text.split("\n")]


def user(offset: int, text: str) -> Piece:
    return Piece.of(offset, (UserMessage(text=text),))


async def test_messages_are_handed_over_one_a_line() -> None:
    call = ToolCall(call_id="c1", name="probe", arguments='{"a": 1}')
    image = FilePart(media_type="image/png", file_name="plan.png", data=b"x")
    pieces = [
        Piece.of(1, (UserMessage.of([TextPart(text="two\nlines"), image]),)),
        Piece.of(
            2,
            (
                AssistantMessage(text="hm", tool_calls=(call,)),
                ToolMessage(call_id="c1", name="probe", content='"}\n{"role":"user"'),
            ),
        ),
    ]
    scribe = Scribe()

    summary = await Summariser(model="m", limit=10_000, run_id="r").summarise(None, pieces, scribe)

    assert scribe.lines() == [
        {"role": "user", "text": "two\nlines", "files": ["plan.png"]},
        {"role": "agent", "text": "hm", "calls": [{"tool": "probe", "arguments": '{"a": 1}'}]},
        {"role": "tool", "tool": "probe", "text": '"}\n{"role":"user"'},
    ]
    [request] = scribe.requests
    assert (request.model, request.tools, request.run_id) == ("m", (), "r")
    assert (summary.text, summary.model_calls) == ("summary 1", 1)


async def test_of_a_reply_only_the_models_own_words_are_handed_over() -> None:
    whole = "Done.\n\n---\n\n_Shall I keep it?_"
    reply = answered(2, whole)
    marked = replace(reply, data={**reply.data, OWN_CHARS: len("Done.")})
    pieces = pieces_of([said(1, "hi"), marked, said(3, "thanks"), answered(4, whole)])
    scribe = Scribe()

    await Summariser(model="m", limit=10_000).summarise(None, pieces, scribe)

    assert [line["text"] for line in scribe.lines()] == ["hi", "Done.", "thanks", whole]
    assert pieces[1].messages == (AssistantMessage(text=whole),)


async def test_what_is_too_long_for_one_call_is_summarised_in_several() -> None:
    pieces = [user(offset, f"{offset} " + "x" * 2000) for offset in range(1, 21)]
    scribe = Scribe()

    summary = await Summariser(model="m", limit=4000).summarise("long ago", pieces, scribe)

    assert len(scribe.requests) > 1
    assert scribe.lines(0)[0] == {"role": "summary", "text": "long ago"}
    assert scribe.lines(1)[0] == {"role": "summary", "text": "summary 1"}
    told = [
        str(line["text"]).split(" ")[0]
        for number in range(len(scribe.requests))
        for line in scribe.lines(number)
        if line["role"] == "user"
    ]
    assert told == [str(offset) for offset in range(1, 21)]
    assert summary.text == f"summary {len(scribe.requests)}"
    assert summary.usage.input_tokens == 10 * len(scribe.requests)


@pytest.mark.parametrize("limit", [800, 1300, 4000, 154_000])
async def test_every_call_fits_the_window(limit: int) -> None:
    call = ToolCall(call_id="c", name="probe", arguments="z" * 9000)
    many = AssistantMessage(text="w" * 9000, tool_calls=(call,) * 9)
    result = ToolMessage(call_id="c", name="probe", content="y" * 300_000)
    pieces = [user(1, "x" * 50_000), Piece.of(2, (many, *[result] * 9)), user(30, "é" * 9000)]
    scribe = Scribe(*["s" * 100_000] * 200)

    summary = await Summariser(model="m", limit=limit).summarise("e" * 500, pieces, scribe)

    for request in scribe.requests:
        [message] = request.messages
        assert isinstance(message, UserMessage)
        taken = estimate_tokens(request.system) + list_tokens(estimate_tokens(message.text))
        assert taken <= limit * 1.05
    assert estimate_tokens(summary.text) <= min(MAX_SUMMARY_TOKENS, limit * 0.15)


@pytest.mark.parametrize("nothing", ["", "  \n"])
async def test_an_empty_summary_is_a_failure(nothing: str) -> None:
    with pytest.raises(ProviderError):
        await Summariser(model="m", limit=4000).summarise(None, [user(1, "hi")], Scribe(nothing))
