"""The rarest terms of a question are looked up first, as far as the budget goes."""

from collections.abc import Mapping

import pytest

from understudy.retrieval.documents import TermStatistics
from understudy.retrieval.rarity import POSTINGS_BUDGET, PostingsPlan, plan, weight


def statistics(frequencies: Mapping[str, int], *, documents: int = 1_000_000) -> TermStatistics:
    return TermStatistics(documents=documents, average_length=60.0, frequencies=frequencies)


def looked_up(made: PostingsPlan) -> list[str]:
    return [lookup.term for lookup in made.whole]


def test_the_rarest_come_first_and_equally_rare_ones_by_name() -> None:
    made = plan("cab", statistics({"a": 5, "b": 5, "c": 1}), in_scope=1_000_000)

    assert looked_up(made) == ["c", "a", "b"]


def test_terms_that_nothing_holds_are_not_looked_up() -> None:
    assert plan(["x", "y"], statistics({"y": 0}), in_scope=9) == PostingsPlan()
    assert plan([], statistics({}), in_scope=9) == PostingsPlan()


def test_a_term_that_is_asked_twice_counts_once() -> None:
    assert looked_up(plan("aa", statistics({"a": 3}), in_scope=9)) == ["a"]


@pytest.mark.parametrize(
    ("rest", "expected"), [(40_000, ["a", "b"]), (40_001, ["a"])], ids=["just fits", "does not fit"]
)
def test_terms_are_taken_while_they_fit_into_the_budget(rest: int, expected: list[str]) -> None:
    made = plan("ba", statistics({"a": 10_000, "b": rest}), in_scope=1_000_000)

    assert looked_up(made) == expected
    assert made.too_common is None


def test_a_term_costs_no_more_than_there_are_entries_in_scope() -> None:
    frequencies = dict.fromkeys("abcdefgh", 900_000)

    assert looked_up(plan("abcdefgh", statistics(frequencies), in_scope=1_000)) == list("abcdefgh")


def test_where_even_the_rarest_is_too_common_it_is_the_only_one() -> None:
    frequencies = {"a": POSTINGS_BUDGET + 2, "b": POSTINGS_BUDGET + 1}

    assert plan("ab", statistics(frequencies), in_scope=1_000_000) == PostingsPlan(too_common="b")


def test_a_rarer_term_weighs_more_and_every_term_something() -> None:
    weights = [weight(frequency, 1_000_000) for frequency in (1, 10, 1_000, 1_000_000)]

    assert weights == sorted(weights, reverse=True)
    assert len(set(weights)) == 4
    assert min(weights) > 0
