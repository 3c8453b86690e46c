"""Parts of words are found."""

import pytest

from tests.support.cpu_effort import takes_under
from understudy.retrieval.documents import Field
from understudy.retrieval.hits import MAX_PARTS, PART_POINTS, needle


def points(query: str, text: str) -> float:
    return needle(query).points(Field(name="summary", text=text))


@pytest.mark.parametrize(
    ("query", "text", "parts"),
    [
        ("Atl", "the codename is ATLAS", 1),
        ("codename  atlas", "the codename\n is Atlas", 2),
        ("atlas atlas", "atlas", 1),
        ("東京", "在東京的辦公室", 1),
        ("banana", "the codename is Atlas", 0),
        ("what is a", "this is an apple", 0),
        ("a.c (x y", "abc", 0),
        ("a.c (x y", "see a.c (x)", 1),
        ("x", "", 0),
        ("", "anything", 0),
    ],
)
def test_what_a_text_contains_earns_points(query: str, text: str, parts: int) -> None:
    share = parts / max(1, len(needle(query).parts))
    assert points(query, text) == pytest.approx(share * PART_POINTS)


def test_a_long_query_over_a_long_text_takes_no_time() -> None:
    many = " ".join(f"word{number}" for number in range(500))

    assert takes_under(1, lambda: (points("abc " * 1024, "abd " * 25_000), needle(many)))
    assert len(needle(many).parts) == MAX_PARTS
