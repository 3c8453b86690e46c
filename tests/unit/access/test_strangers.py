"""Refused callers without a token, counted by address and minute."""

from understudy.access.strangers import MAX_ADDRESSES, MINUTE_MS, OTHERS, StrangerCounts
from understudy.testing.clock import FrozenClock


def test_an_address_has_one_entry_a_minute_which_counts_the_others() -> None:
    clock = FrozenClock(10 * MINUTE_MS)
    strangers = StrangerCounts(clock)

    assert strangers.refused("10.0.0.1") == "from 10.0.0.1"
    assert [strangers.refused("10.0.0.1") for _ in range(3)] == [None] * 3
    assert strangers.number("10.0.0.1") == 4
    assert strangers.refused("10.0.0.2") == "from 10.0.0.2"

    clock.advance(MINUTE_MS)
    assert strangers.number("10.0.0.1") == 0
    assert strangers.refused("10.0.0.1") == "from 10.0.0.1, 3 more before"


def test_ever_new_addresses_share_a_count() -> None:
    strangers = StrangerCounts(FrozenClock(10 * MINUTE_MS))
    told = [strangers.refused(f"10.0.{n // 256}.{n % 256}") for n in range(MAX_ADDRESSES + 50)]

    assert sum(each is not None for each in told) == MAX_ADDRESSES + 1
    assert told[MAX_ADDRESSES] == f"from {OTHERS}"
