"""Pages are bounded, and a cursor is either ours or refused."""

import base64
import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.core.errors import Invalid
from understudy.core.page import (
    DEFAULT_LIMIT,
    MAX_LIMIT,
    Page,
    PageRequest,
    decode_cursor,
    encode_cursor,
)

ids = st.text(max_size=40).filter(str.isprintable)


def forged(document: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(document).encode()).decode().rstrip("=")


@given(st.lists(st.integers() | ids, min_size=1).map(tuple))
def test_a_cursor_brings_the_key_back(key: tuple[int | str, ...]) -> None:
    assert decode_cursor(encode_cursor(key)) == key


@given(st.lists(st.integers() | ids, min_size=1).map(tuple))
def test_a_cursor_can_stand_in_an_address(key: tuple[int | str, ...]) -> None:
    assert set(encode_cursor(key)) <= set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    )


@pytest.mark.parametrize(
    "cursor",
    [
        pytest.param("!!!", id="not base64"),
        pytest.param("a", id="half a byte"),
        pytest.param("ключ", id="not ASCII"),
        pytest.param(base64.urlsafe_b64encode(b"\xff\xfe").decode(), id="not text"),
        pytest.param(forged("text"), id="no list"),
        pytest.param(forged([]), id="empty"),
        pytest.param(forged([1.5]), id="a fraction"),
        pytest.param(forged([True]), id="a truth"),
        pytest.param(forged([None]), id="nothing"),
        pytest.param(forged([["nested"]]), id="nested"),
        pytest.param(forged(["\x00"]), id="NUL, which PostgreSQL refuses"),
        pytest.param(forged(["\ud800"]), id="half a character, which no driver encodes"),
        pytest.param(base64.urlsafe_b64encode(b"[" * 30_000).decode(), id="too deep"),
    ],
)
def test_a_cursor_that_is_not_ours_is_the_callers_mistake(cursor: str) -> None:
    with pytest.raises(Invalid) as refused:
        decode_cursor(cursor)

    assert (refused.value.domain, refused.value.code) == ("pagination", "invalid_cursor")


@given(st.text())
def test_no_text_breaks_the_reading_of_a_cursor(cursor: str) -> None:
    with suppress(Invalid):
        assert decode_cursor(cursor)


def test_a_request_without_wishes_asks_for_the_first_default_page() -> None:
    assert PageRequest.parse(limit=None, cursor=None) == PageRequest(
        limit=DEFAULT_LIMIT, after=None
    )


def test_a_limit_above_the_maximum_is_cut_to_it() -> None:
    assert PageRequest.parse(limit=10_000, cursor=None).limit == MAX_LIMIT


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_refused(limit: int) -> None:
    with pytest.raises(Invalid) as refused:
        PageRequest.parse(limit=limit, cursor=None)

    assert refused.value.code == "invalid_limit"
    assert refused.value.errors[0].pointer == "/limit"


def test_a_page_with_more_behind_it_tells_where_to_go_on() -> None:
    page = Page.cut([1, 2, 3], PageRequest(limit=2))

    assert page.items == (1, 2)
    assert page.next_cursor is not None
    assert decode_cursor(page.next_cursor) == (2,)


@pytest.mark.parametrize("rows", [[], [1], [1, 2]])
def test_the_last_page_has_no_cursor(rows: list[int]) -> None:
    page = Page.cut(rows, PageRequest(limit=2))

    assert page == Page(items=tuple(rows))


def test_pages_of_a_list_in_memory_follow_each_other() -> None:
    seen: list[int] = []
    cursor: str | None = None
    while True:
        page = Page.cut(range(7), PageRequest.parse(limit=3, cursor=cursor))
        seen += page.items
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == list(range(7))


@pytest.mark.parametrize("after", [(99,), (-1,), ("a",), (0, 1)])
def test_a_position_outside_the_list_is_no_cursor(after: tuple[int | str, ...]) -> None:
    with pytest.raises(Invalid) as refused:
        Page.cut([1, 2, 3], PageRequest(after=after))
    assert refused.value.code == "invalid_cursor"
