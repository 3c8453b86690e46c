"""What an input takes of the model's window."""

import pytest

from tests.support.factories import make_run
from understudy.agent.inputs import (
    IMAGE_TOKENS,
    MAX_TEXT_CHARS,
    NOTE_TOKENS,
    input_tokens,
    items_of,
)
from understudy.core.text import estimate_tokens
from understudy.runs.model import InputItem, RunInput


def asset(media_type: str | None, size: int | None = 100) -> dict[str, object]:
    return {"type": "asset_reference", "asset_id": "ast_1", "media_type": media_type, "size": size}


def test_texts_count_by_their_length() -> None:
    texts = [{"type": "text", "text": "hello"}, {"type": "text", "text": "wörld"}]

    assert input_tokens(texts) == estimate_tokens("hello") + estimate_tokens("wörld")
    assert input_tokens([]) == 0


@pytest.mark.parametrize("size", [1, 12 * 1024 * 1024])
def test_an_image_counts_the_same_whatever_its_size(size: int) -> None:
    assert input_tokens([asset("image/png", size)]) == IMAGE_TOKENS


def test_a_document_counts_by_its_size() -> None:
    small, large = (input_tokens([asset("application/pdf", n)]) for n in (10, 1_000_000))

    assert small == IMAGE_TOKENS
    assert large == 20_000


def test_a_text_file_counts_as_far_as_it_is_shown() -> None:
    short, long, longer = (
        input_tokens([asset("text/csv", n)]) for n in (1_000, MAX_TEXT_CHARS, 10 * MAX_TEXT_CHARS)
    )

    assert NOTE_TOKENS < short < long == longer


@pytest.mark.parametrize("item", [asset("application/zip"), asset(None, None), {}])
def test_what_is_not_shown_counts_as_a_note(item: dict[str, object]) -> None:
    assert input_tokens([item]) == NOTE_TOKENS


def test_the_input_of_a_run_has_the_form_of_the_journal() -> None:
    reference = InputItem(
        type="asset_reference", asset_id="ast_1", file_name="a.png", media_type="image/png", size=7
    )
    run = make_run(input=RunInput(items=(InputItem(type="text", text="see"), reference)))

    assert items_of(run) == [
        {"type": "text", "text": "see"},
        {"type": "asset_reference", "asset_id": "ast_1", "media_type": "image/png", "size": 7},
    ]
