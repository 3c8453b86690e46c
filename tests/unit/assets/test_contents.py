"""From base64 to a file that can be kept."""

import base64
import hashlib

import pytest

from understudy.assets.contents import draft_of, draft_of_bytes
from understudy.assets.model import MAX_ASSET_BYTES
from understudy.core.errors import Invalid, LimitExceeded


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def test_a_draft_has_the_bytes_their_hash_and_their_type() -> None:
    draft = draft_of(file_name="a/b.txt", media_type=None, content_base64=encoded(b"hello"))

    assert (draft.file_name, draft.media_type, draft.data) == ("b.txt", "text/plain", b"hello")
    assert draft.sha256 == hashlib.sha256(b"hello").hexdigest()


def test_the_bytes_are_not_in_the_words_of_a_draft() -> None:
    assert "hello" not in repr(draft_of_bytes(b"hello", file_name="x"))


def test_base64_may_be_broken_into_lines() -> None:
    content = "\r\n".join(encoded(b"hello world")[n : n + 4] for n in range(0, 16, 4)) + "\n"

    draft = draft_of(file_name="x", media_type=None, content_base64=content)

    assert draft.data == b"hello world"


@pytest.mark.parametrize(
    "content",
    [
        "a",
        "ab",
        "abc",
        "abcde",
        "aGk",
        "!!!!",
        "aGk=aGk=",
        "data:text/plain;base64,aGk=",
        "aG-_",
        "é" * 4,
    ],
)
def test_what_is_not_base64_is_refused_with_its_place(content: str) -> None:
    with pytest.raises(Invalid) as problem:
        draft_of(file_name="x", media_type=None, content_base64=content, pointer="/input_items/1")

    assert (problem.value.domain, problem.value.code) == ("assets", "invalid_base64")
    assert problem.value.errors[0].pointer == "/input_items/1/content_base64"


@pytest.mark.parametrize(
    "content",
    [
        "",
        " \n",
    ],
)
def test_an_empty_file_is_refused(content: str) -> None:
    with pytest.raises(Invalid) as problem:
        draft_of(file_name="x", media_type=None, content_base64=content)

    assert problem.value.code == "asset_empty"


def test_the_largest_file_is_taken_and_one_byte_more_is_not() -> None:
    largest = b"x" * MAX_ASSET_BYTES

    assert len(draft_of(file_name="x", media_type=None, content_base64=encoded(largest)).data)
    for size in (1, 2, 3, 1024):
        with pytest.raises(LimitExceeded) as problem:
            draft_of(file_name="x", media_type=None, content_base64=encoded(largest + b"x" * size))
        assert problem.value.code == "asset_too_large"
