"""When a run is told how much of its budget is used."""

from itertools import pairwise

import pytest

from tests.support.tables import every_row
from understudy.evolution.nudges import TENTHS, nudge_due, nudge_text
from understudy.i18n.locales import LOCALES

# The first iterations at which each appears, by the budget, where tools are never taken away.
TABLE = {
    1: (None, 1),
    2: (None, 2),
    3: (None, 3),
    4: (3, 4),
    5: (4, 5),
    6: (5, 6),
    7: (5, 7),
    8: (6, 8),
    9: (7, 9),
    10: (7, 9),
    11: (8, 10),
    12: (9, 11),
    15: (11, 14),
    20: (14, 18),
    25: (18, 23),
    30: (21, 27),
    40: (28, 36),
    50: (35, 45),
    100: (70, 90),
}
NONE: frozenset[str] = frozenset()


def run_through(budget: int, *, toolless_end: bool = False) -> list[tuple[int, str]]:
    """Every nudge of a run that uses its whole budget, with its iteration."""
    sent: list[tuple[int, str]] = []
    for iteration in range(1, budget + 1):
        due = nudge_due(
            iteration,
            budget,
            sent=frozenset(nudge for _, nudge in sent),
            tools_removed=toolless_end and iteration == budget,
        )
        if due:
            sent.append((iteration, due))
    return sent


@pytest.mark.parametrize(("budget", "firsts"), TABLE.items())
def test_the_table_of_first_iterations_holds(
    budget: int, firsts: tuple[int | None, int | None]
) -> None:
    sent = {nudge: iteration for iteration, nudge in run_through(budget)}

    assert (sent.get("70"), sent.get("90")) == firsts


@every_row("budget", range(1, 101))
def test_whole_numbers_decide_as_shares_would(budget: int) -> None:
    sent: set[str] = set()
    expected: list[tuple[int, str]] = []
    for iteration in range(1, budget + 1):
        share = iteration / budget
        for name, least in (("90", 0.9), ("70", 0.7)):
            if share >= least and name not in sent:
                expected.append((iteration, name))
                sent.add(name)
                break

    assert run_through(budget) == expected


def test_each_comes_at_most_once_and_never_two_together() -> None:
    for budget in range(1, 301):
        sent = run_through(budget)

        assert [nudge for _, nudge in sent] in (["90"], ["70", "90"])
        assert all(earlier < later for (earlier, _), (later, _) in pairwise(sent))


@every_row("budget", range(2, 101))
def test_the_last_nudge_is_heard_although_the_tools_are_gone(budget: int) -> None:
    kept = [nudge for nudge in run_through(budget) if nudge != (budget, "70")]

    assert run_through(budget, toolless_end=True) == kept


def test_small_budgets_hear_the_last_nudge_before_the_answer() -> None:
    assert run_through(5, toolless_end=True) == [(4, "70"), (5, "90")]
    assert run_through(9, toolless_end=True) == [(7, "70"), (9, "90")]
    assert run_through(10, toolless_end=True) == [(7, "70"), (9, "90")]


def test_a_run_of_one_call_without_tools_hears_nothing() -> None:
    assert run_through(1, toolless_end=True) == []


def test_a_run_that_goes_on_after_a_crash_repeats_nothing() -> None:
    assert nudge_due(15, 20, sent=frozenset({"70"}), tools_removed=False) is None
    assert nudge_due(18, 20, sent=frozenset({"70"}), tools_removed=False) == "90"
    assert nudge_due(19, 20, sent=frozenset({"70", "90"}), tools_removed=False) is None


def test_the_earlier_one_never_follows_the_later_one() -> None:
    assert nudge_due(19, 20, sent=frozenset({"90"}), tools_removed=False) is None


def test_a_run_that_was_asleep_gets_the_later_one_only() -> None:
    assert nudge_due(19, 20, sent=NONE, tools_removed=False) == "90"


@pytest.mark.parametrize("budget", [0, -1])
def test_without_a_budget_there_is_no_share_of_it(budget: int) -> None:
    assert nudge_due(1, budget, sent=NONE, tools_removed=False) is None


@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize("nudge", [name for name, _ in TENTHS])
def test_the_words_come_from_the_system_in_every_language(locale: str, nudge: str) -> None:
    text = nudge_text("70" if nudge == "70" else "90", locale)

    assert text.startswith("[System] ")
    assert f"{nudge}%" in text
    assert "\n" not in text
