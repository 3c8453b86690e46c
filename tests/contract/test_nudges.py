"""What a run is told when its budget runs low: when, in which place, and that nobody keeps it."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.evolving_runs import (
    DONE,
    EVOLVING,
    EvolvingRuns,
    has_whole_groups,
    make_evolving_runs,
    working,
)
from tests.support.factories import make_session
from tests.support.run_harness import arrived, die, restarted
from tests.support.run_memory_reads import record_of
from understudy.evolution.nudges import nudge_text
from understudy.runs.model import RunStatus
from understudy.settings import Settings
from understudy.testing.fake_model import FakeModel

SEVENTY, NINETY = (nudge_text(name, "en") for name in ("70", "90"))
FOREVER = 1000


@pytest.fixture
async def coached(
    database: UnitsOnDatabase, settings: Settings, fake: FakeModel
) -> AsyncIterator[EvolvingRuns]:
    coached = make_evolving_runs(database.units, settings, fake)
    yield coached
    await coached.harness.providers.close()


def first(coached: EvolvingRuns, text: str) -> int | None:
    """The first request with a text, counted from 1."""
    numbers = [number for number, sent in enumerate(coached.sent(), 1) if text in sent]
    return numbers[0] if numbers else None


async def test_each_comes_once_in_its_place_and_stays_for_the_rest_of_the_run(
    coached: EvolvingRuns,
) -> None:
    coached.fake.rule = working(FOREVER)

    done = await coached.run()

    assert (first(coached, SEVENTY), first(coached, NINETY)) == (14, 18)
    assert coached.sent()[-1] == [SEVENTY, NINETY]
    assert len(coached.fake.requests) == 20
    assert all(map(has_whole_groups, coached.fake.requests))
    # Behind the results of steps 13 and 17, and at the end what is said of the budget.
    roles = [turn.role for turn in coached.fake.requests[-1].turns if turn.role != "system"]
    assert [at for at, role in enumerate(roles) if role == "user"] == [0, 27, 36, 41]
    assert coached.remarks(done.run.run_id)[:2] == [
        {"nudge": "70", "step": 14, "agent_id": EVOLVING, "locale": "en"},
        {"nudge": "90", "step": 18, "agent_id": EVOLVING, "locale": "en"},
    ]


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("budget", "firsts"),
    [
        *[(1, (None, None)), (2, (None, 2)), (3, (None, 3)), (4, (3, 4))],
        # The last call of a budget has no tools, but its answer can offer a skill.
        *[(5, (4, 5)), (7, (5, 7)), (9, (7, 9)), (10, (7, 9)), (11, (8, 10))],
        *[(15, (11, 14)), (20, (14, 18)), (25, (18, 23)), (30, (21, 27)), (50, (35, 45))],
        (100, (70, 90)),
    ],
)
async def test_the_budget_decides_when(
    coached: EvolvingRuns, budget: int, firsts: tuple[int | None, int | None]
) -> None:
    coached.change(max_tool_iterations=budget)
    coached.fake.rule = working(FOREVER)

    await coached.run()

    assert (first(coached, SEVENTY), first(coached, NINETY)) == firsts
    assert len(coached.fake.requests) == budget


@pytest.mark.one_database
@pytest.mark.parametrize(("of_agent", "of_run"), [(20, 10), (10, 20)])
async def test_the_smaller_of_the_limits_counts(
    coached: EvolvingRuns, of_agent: int, of_run: int
) -> None:
    coached.change(max_tool_iterations=of_agent)
    coached.fake.rule = working(FOREVER)

    await coached.run(max_tool_iterations=of_run)

    assert (first(coached, SEVENTY), first(coached, NINETY)) == (7, 9)


@pytest.mark.one_database
async def test_a_run_that_ends_early_hears_nothing(coached: EvolvingRuns) -> None:
    coached.fake.rule = working(12)

    await coached.run()

    assert len(coached.fake.requests) == 13
    assert coached.sent() == [[]] * 13


@pytest.mark.one_database
@pytest.mark.parametrize("switches", [{}, {"self_evolve": True}, {"skill_evolve": "yes"}])
async def test_without_the_switch_nothing_is_said(
    coached: EvolvingRuns, switches: dict[str, Any]
) -> None:
    coached.switch(**switches)
    coached.fake.rule = working(FOREVER)

    done = await coached.run()

    assert coached.sent() == [[]] * 20
    assert coached.remarks(done.run.run_id) == []


@pytest.mark.one_database
async def test_what_only_tries_something_out_is_told_nothing(coached: EvolvingRuns) -> None:
    with coached.harness.units.write() as unit:
        unit.sessions.add(make_session("trial", agent_id=EVOLVING, trial_id="trl_1"))
    coached.fake.rule = working(FOREVER)

    done = await coached.run("trial")

    assert coached.sent() == [[]] * 20
    assert coached.remarks(done.run.run_id) == []


@pytest.mark.one_database
async def test_the_interval_of_the_postscript_has_no_say(coached: EvolvingRuns) -> None:
    coached.switch(skill_evolve=True, skill_nudge_interval=0)
    coached.fake.rule = working(FOREVER)

    await coached.run()

    assert coached.sent()[-1] == [SEVENTY, NINETY]


@pytest.mark.one_database
async def test_the_next_run_of_the_session_may_hear_them_again(coached: EvolvingRuns) -> None:
    coached.fake.rule = working(FOREVER)
    await coached.run()
    coached.fake.requests.clear()

    await coached.run()

    assert (first(coached, SEVENTY), first(coached, NINETY)) == (14, 18)
    assert coached.sent()[-1] == [SEVENTY, NINETY]


@pytest.mark.one_database
async def test_calls_side_by_side_are_never_parted_from_their_results(
    coached: EvolvingRuns,
) -> None:
    coached.fake.rule = working(FOREVER, at_once=3)

    await coached.run()

    assert coached.sent()[-1] == [SEVENTY, NINETY]
    assert all(map(has_whole_groups, coached.fake.requests))


async def test_no_history_holds_them(coached: EvolvingRuns) -> None:
    coached.fake.rule = working(FOREVER)
    run = (await coached.run()).run

    kept = [json.dumps(dict(event.data)) for event in coached.harness.journal(run.run_id)]
    record = repr(record_of(coached.harness.units, run.run_id))
    coached.fake.requests.clear()
    coached.fake.rule = working(0)
    await coached.run()

    assert DONE in kept[-3]
    for text in (SEVENTY, NINETY):
        # What the journal escapes is still told by its first words.
        assert not any(text[:30] in data for data in kept)
        assert text[:30] not in record
        assert text[:30] not in json.dumps(coached.fake.requests[0].body)


async def test_a_run_that_is_taken_up_again_repeats_nothing(coached: EvolvingRuns) -> None:
    coached.fake.rule = working(FOREVER)
    coached.probe.hold("15")
    run_id = coached.harness.submit(session_id=EVOLVING)
    task = coached.harness.begin(run_id)
    await coached.probe.reached()
    await die(task)
    assert first(coached, SEVENTY) == 14
    coached.probe.go_on.set()
    coached.fake.requests.clear()

    again = restarted(coached.harness)
    await again.execute(run_id)

    assert again.stored(run_id).status is RunStatus.COMPLETED
    # Request 16 is the first after the restart; the later one is still to come, and comes once.
    assert coached.sent() == [[], [], [NINETY], [NINETY], [NINETY]]
    assert [each["nudge"] for each in coached.remarks(run_id)[:2]] == ["70", "90"]


@pytest.mark.one_database
async def test_a_process_that_dies_while_it_says_it_has_said_it(coached: EvolvingRuns) -> None:
    coached.fake.rule = working(FOREVER)
    coached.probe.hold("13")
    run_id = coached.harness.submit(session_id=EVOLVING)
    task = coached.harness.begin(run_id)
    await coached.probe.reached()
    coached.fake.hold()
    coached.probe.go_on.set()
    await arrived(coached.fake, 14)
    await die(task)
    coached.fake.release()
    assert coached.sent()[-1] == [SEVENTY]
    coached.fake.requests.clear()

    await restarted(coached.harness).execute(run_id)

    assert len(coached.fake.requests) == 7
    assert first(coached, SEVENTY) is None
    assert first(coached, NINETY) == 5


@pytest.mark.one_database
async def test_the_language_of_the_run_decides(coached: EvolvingRuns) -> None:
    coached.change(max_tool_iterations=10)
    coached.fake.rule = working(FOREVER)

    for asked, spoken in (("vi-VN", "vi"), ("ZH_hans_CN", "zh"), ("xx", "en"), (None, "en")):
        done = await coached.run(locale=asked)

        assert done.run.locale == spoken
        assert coached.sent()[-1] == [nudge_text("70", spoken), nudge_text("90", spoken)]
