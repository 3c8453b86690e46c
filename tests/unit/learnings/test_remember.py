"""The kind of a statement for which nobody named one."""

import pytest

from understudy.learnings.model import Kind
from understudy.learnings.remember import kind_of


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("I always want metric units.", Kind.PREFERENCE),
        ("The user prefers short answers.", Kind.PREFERENCE),
        ("Never push to main.", Kind.PREFERENCE),
        ("我喜欢喝茶", Kind.PREFERENCE),
        ("Tôi rất thích trà.", Kind.PREFERENCE),
        ("The roof is red.", Kind.FACT),
        ("We use Kafka.", Kind.FACT),
        ("办公室在上海", Kind.FACT),
        ("Văn phòng ở Đà Nẵng.", Kind.FACT),
    ],
)
def test_a_wish_or_an_order_is_a_preference(content: str, kind: Kind) -> None:
    assert kind_of(content) is kind


def test_what_is_marked_as_standing_is_a_preference() -> None:
    assert kind_of("The roof is red.", is_standing=True) is Kind.PREFERENCE
