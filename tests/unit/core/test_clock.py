"""Times as people read them."""

from understudy.core.clock import shown_time


def test_a_time_is_shown_however_far_away_it_is() -> None:
    assert shown_time(1_786_000_000_000) == "2026-08-06 07:06 UTC"
    assert shown_time(2**62) == "9999-12-31"
