"""The words of a failure."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from tests.unit.providers.asks import KEY
from understudy.providers.failures import MAX_DETAIL_CHARS, RouteErrors, retry_after


@pytest.mark.parametrize("padding", range(270, 300, 3))
def test_a_key_is_scrubbed_before_the_detail_is_cut(padding: int) -> None:
    detail = RouteErrors(KEY).error("x", "a" * padding + KEY).detail
    assert "sk-" not in detail
    assert len(detail) <= MAX_DETAIL_CHARS


def test_a_placeholder_key_leaves_the_words_alone() -> None:
    assert RouteErrors("x").malformed("an extra box").detail.endswith("an extra box")


def test_a_detail_is_one_line() -> None:
    assert RouteErrors().error("x", "a\n  b\tc").detail == "a b c"


def test_the_key_is_not_in_the_repr() -> None:
    assert KEY not in repr(RouteErrors(KEY))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 0),
        ({"retry-after": "3"}, 3),
        ({"retry-after": "-3"}, 0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "tomorrow"}, 0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0),
    ],
)
def test_retry_after_is_read_in_every_form(headers: dict[str, str], seconds: float) -> None:
    assert retry_after(headers) == seconds


def test_retry_after_may_be_a_date() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    assert 25 < retry_after({"retry-after": later}) <= 30


def test_an_error_is_scrubbed_before_it_is_cut() -> None:
    failures = RouteErrors(scrub=lambda text: text.replace("hunter22" * 4, "***"))
    detail = failures.status(500, "x" * 270 + "hunter22" * 4, {}).detail
    assert "hunter" not in detail
    assert "***" in detail


def test_half_of_a_surrogate_pair_is_replaced() -> None:
    assert RouteErrors().malformed("a\ud83d b").detail.endswith("a\ufffd b")
