"""How sure a few successes make us."""

import pytest

from understudy.rollout.outcome import (
    ConfidenceInterval,
    SuccessTally,
    is_worse,
    wilson_interval,
    wilson_lower_bound,
)


def tally(successes: int, tries: int) -> SuccessTally:
    return SuccessTally(successes=successes, tries=tries)


# Worked out by hand from Wilson's formula, with z = 1.96.
KNOWN = [
    (0, 1, 0.0, 0.7935),
    (1, 1, 0.2065, 1.0),
    (5, 10, 0.2366, 0.7634),
    (9, 10, 0.5958, 0.9821),
    (10, 10, 0.7225, 1.0),
    (95, 100, 0.8882, 0.9785),
]


@pytest.mark.parametrize(("successes", "tries", "low", "high"), KNOWN)
def test_the_interval_is_wilsons(successes: int, tries: int, low: float, high: float) -> None:
    found = wilson_interval(tally(successes, tries))

    assert found.low == pytest.approx(low, abs=5e-5)
    assert found.high == pytest.approx(high, abs=5e-5)
    assert wilson_lower_bound(tally(successes, tries)) == found.low


def test_nothing_is_known_where_nothing_was_tried() -> None:
    assert wilson_interval(tally(0, 0)) == ConfidenceInterval(low=0.0, high=1.0)
    assert tally(0, 0).rate is None
    assert tally(1, 4).rate == 0.25


def test_the_rate_lies_in_its_interval_which_narrows_with_more_tries() -> None:
    for tries in range(1, 60):
        for successes in range(tries + 1):
            one, ten = (wilson_interval(tally(successes * k, tries * k)) for k in (1, 10))
            assert 0 <= one.low <= successes / tries <= one.high <= 1
            assert ten.high - ten.low < one.high - one.low


@pytest.mark.parametrize(("successes", "tries"), [(2, 1), (-1, 3), (0, -1)])
def test_there_are_no_more_successes_than_tries(successes: int, tries: int) -> None:
    with pytest.raises(ValueError, match="no tally"):
        tally(successes, tries)


@pytest.mark.parametrize(
    ("recent", "baseline", "worse"),
    [
        ((2, 10), (19, 20), True),
        ((8, 10), (19, 20), False),  # the intervals touch
        ((19, 20), (2, 10), False),  # it is better
        ((0, 1), (100, 100), True),
        ((0, 1), (1, 1), False),  # too few to tell
        ((0, 0), (100, 100), False),  # nothing was tried
        ((0, 100), (0, 0), False),
        ((0, 10), (10, 10), True),
    ],
)
def test_one_rate_is_worse_when_the_intervals_do_not_touch(
    recent: tuple[int, int], baseline: tuple[int, int], worse: bool
) -> None:
    assert is_worse(tally(*recent), tally(*baseline)) is worse
