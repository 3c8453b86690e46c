"""Counts are kept for a minute, and never too many of them."""

from understudy.retrieval.rarity import COUNT_AGE_S
from understudy.storage.term_entries import MAX_KEPT, TermCounts


class Hours:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_a_count_is_known_until_it_is_too_old() -> None:
    hours = Hours()
    counts = TermCounts(hours)
    counts.frequencies.put({b"a": 5_000})

    assert counts.frequencies.get(b"a") == 5_000
    hours.now += COUNT_AGE_S
    assert counts.frequencies.get(b"a") is None
    assert counts.frequencies.get(b"b") is None


def test_the_memory_of_counts_does_not_grow_for_ever() -> None:
    counts = TermCounts(Hours())
    for start in range(0, 3 * MAX_KEPT, 1_000):
        counts.frequencies.put({n.to_bytes(8, "big"): n for n in range(start, start + 1_000)})

        assert len(counts.frequencies) <= MAX_KEPT
    assert counts.frequencies.get((3 * MAX_KEPT - 1).to_bytes(8, "big")) is not None


def test_all_of_it_can_be_forgotten() -> None:
    counts = TermCounts(Hours())
    counts.frequencies.put({b"a": 5_000})
    counts.totals.put({"run": (9_000, 90_000)})

    counts.clear()

    assert counts.frequencies.get(b"a") is None
    assert counts.totals.get("run") is None
