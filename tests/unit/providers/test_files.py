"""Files in a conversation, over both wires."""

import base64
import json

import pytest

from tests.unit.providers.asks import MakeProvider, ask, complete
from understudy.providers.base import (
    AssistantMessage,
    FilePart,
    ModelRequest,
    Provider,
    ProviderError,
    TextPart,
    UserMessage,
)
from understudy.providers.files import without_optional_files
from understudy.providers.retry import RetryingProvider
from understudy.settings import RouteConfig
from understudy.testing.answers import Answer
from understudy.testing.fake_model import FakeModel

PNG = b"\x89PNG\r\n\x1a\n picture"
PDF = b"%PDF-1.7 pages"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


def image(**more: bool) -> FilePart:
    return FilePart(media_type="image/png", file_name="cat.png", data=PNG, **more)


def pdf() -> FilePart:
    return FilePart(media_type="application/pdf", file_name="bill.pdf", data=PDF)


def said(*parts: TextPart | FilePart | str) -> UserMessage:
    return UserMessage.of([TextPart(text=p) if isinstance(p, str) else p for p in parts])


def seen(fake: FakeModel, number: int = -1) -> list[tuple[str, str]]:
    """What the last request showed of the user's messages: texts, and the types of files."""
    turns = [turn for turn in fake.requests[number].turns if turn.role == "user"]
    return [(part.kind, part.text or part.media_type) for turn in turns for part in turn.parts]


def test_a_message_of_texts_alone_is_a_text() -> None:
    assert said("a", "b") == UserMessage(text="a\nb")


def test_a_message_with_files_has_its_words_as_text() -> None:
    message = said("look", image(), "and say")

    assert message.text == "look\nand say"
    assert len(message.parts) == 3


async def test_texts_and_files_reach_the_model_in_their_order(
    fake: FakeModel, provider: Provider
) -> None:
    await complete(provider, ask(said("before", image(), "between", pdf(), "after")))

    assert seen(fake) == [
        ("text", "before"),
        ("image", "image/png"),
        ("text", "between"),
        ("file", "application/pdf"),
        ("text", "after"),
    ]
    parts = fake.requests[0].turns[1].parts
    assert (parts[1].data, parts[3].data) == (PNG, PDF)


async def test_a_file_alone_is_enough(fake: FakeModel, provider: Provider) -> None:
    await complete(provider, ask(said(image())))

    assert seen(fake) == [("image", "image/png")]


async def test_files_of_earlier_turns_stay_where_they_were(
    fake: FakeModel, provider: Provider
) -> None:
    await complete(
        provider,
        ask(said("one", image()), AssistantMessage(text="a cat"), UserMessage(text="two")),
    )

    turns = [
        (turn.role, len(turn.parts)) for turn in fake.requests[0].turns if turn.role != "system"
    ]
    assert turns == [("user", 2), ("assistant", 1), ("user", 1)]


async def test_openai_gets_images_and_files_as_its_wire_has_them(
    fake: FakeModel, make_provider: MakeProvider
) -> None:
    await complete(make_provider("openai"), ask(said("see", image(), pdf())))

    assert fake.requests[0].body["messages"][1]["content"] == [
        {"type": "text", "text": "see"},
        {
            "type": "image_url",
            "image_url": {"url": f"data:image/png;base64,{base64.b64encode(PNG).decode()}"},
        },
        {
            "type": "file",
            "file": {
                "filename": "bill.pdf",
                "file_data": f"data:application/pdf;base64,{base64.b64encode(PDF).decode()}",
            },
        },
    ]


async def test_a_text_alone_stays_a_plain_string(
    fake: FakeModel, make_provider: MakeProvider
) -> None:
    await complete(make_provider("openai"), ask(UserMessage(text="hi")))

    assert fake.requests[0].body["messages"][1]["content"] == "hi"


async def test_anthropic_is_told_of_a_document_that_its_wire_cannot_carry(
    fake: FakeModel, make_provider: MakeProvider
) -> None:
    letter = FilePart(media_type=DOCX, file_name="letter.docx", data=b"PK")
    await complete(make_provider("anthropic"), ask(said("read", letter)))

    (_, (kind, note)) = seen(fake)
    assert kind == "text"
    assert "letter.docx" in note
    assert "not shown" in note


def patient(provider: Provider) -> RetryingProvider:
    route = RouteConfig(provider="openai", model="fake-1", max_attempts=1)
    return RetryingProvider(provider, route)


def conversation(*, optional: bool) -> ModelRequest:
    return ask(said("old", image(optional=optional)), said("new", pdf()))


async def test_a_refused_conversation_is_tried_again_without_the_files_of_earlier_turns(
    fake: FakeModel, provider: Provider
) -> None:
    fake.queue(Answer(status=400, error="bad image"), "fine now")

    reply = await complete(patient(provider), conversation(optional=True))

    assert reply.text == "fine now"
    shown = seen(fake)
    assert [kind for kind, _ in shown] == ["text", "text", "file"]
    assert "'cat.png' (image/png) is not shown" in shown[0][1]


async def test_a_refusal_of_the_files_at_hand_is_told(fake: FakeModel, provider: Provider) -> None:
    fake.queue(Answer(status=400, error="bad image"))

    with pytest.raises(ProviderError) as problem:
        await complete(patient(provider), conversation(optional=False))

    assert "bad image" in problem.value.detail
    assert len(fake.requests) == 1


async def test_what_is_no_refusal_costs_no_file(fake: FakeModel, provider: Provider) -> None:
    fake.queue(Answer(status=401))

    with pytest.raises(ProviderError):
        await complete(patient(provider), conversation(optional=True))

    assert len(fake.requests) == 1


def test_a_request_without_optional_files_has_no_lighter_form() -> None:
    assert without_optional_files(conversation(optional=False)) is None
    assert without_optional_files(ask(UserMessage(text="hi"))) is None


def test_the_bytes_of_a_file_are_not_in_its_words() -> None:
    assert "picture" not in repr(said("see", image()))
    assert json.dumps(repr(image()))
