"""Ages and durations as pages show them: an age is never mistaken for a duration."""

import pytest

from understudy.console.rendering import _ago, _took

NOW = 1_800_000_000_000


@pytest.mark.parametrize(
    ("language", "seconds", "shown"),
    [
        ("en", 49, "49 s ago"),
        ("en", 3 * 60 + 5, "3 min ago"),
        ("en", -7200, "in 2 h"),
        ("vi", 49, "49 giây trước"),
        ("vi", -3 * 86_400, "sau 3 ngày"),
        ("zh", 49, "49 秒前"),
        ("zh", 2 * 3600, "2 小时前"),
        ("en", 90 * 86_400, "2026-10-17"),
    ],
)
def test_an_age_says_before_or_after(language: str, seconds: int, shown: str) -> None:
    assert _ago(language, NOW - seconds * 1000, now=NOW) == shown


def test_a_moment_that_never_was_is_a_dash() -> None:
    assert _ago("en", None, now=NOW) == "–"


def test_a_duration_has_no_direction() -> None:
    assert [_took(ms) for ms in (756, 2100, 200_000)] == ["756 ms", "2.1 s", "3 min 20 s"]
