"""What is searched for and how much of it is answered, within bounds."""

import pytest

from understudy.core.errors import Invalid
from understudy.retrieval.hits import excerpt
from understudy.retrieval.search import MAX_QUERY_CHARS, checked_query, clamped


@pytest.mark.parametrize(
    ("limit", "expected"), [(None, 12), (0, 1), (-5, 1), (1, 1), (50, 50), (51, 50), (10**30, 50)]
)
def test_a_limit_is_brought_within_bounds(limit: int | None, expected: int) -> None:
    assert clamped(limit) == expected


@pytest.mark.parametrize(
    ("query", "expected"), [(None, None), ("", None), (" \t\n", None), (" a b ", "a b")]
)
def test_a_blank_query_is_none(query: str | None, expected: str | None) -> None:
    assert checked_query(query) == expected


def test_a_query_is_bounded() -> None:
    assert checked_query("ü" * MAX_QUERY_CHARS)
    with pytest.raises(Invalid) as refused:
        checked_query("x" * (MAX_QUERY_CHARS + 1))

    assert (refused.value.domain, refused.value.code) == ("memory", "invalid_query")
    assert refused.value.errors[0].pointer == "/query"


def test_an_excerpt_is_one_short_line() -> None:
    assert excerpt("Request: a\nResult:  b") == "Request: a Result: b"
    assert excerpt("x" * 180) == "x" * 180
    assert excerpt("x" * 181) == "x" * 180 + "…"
