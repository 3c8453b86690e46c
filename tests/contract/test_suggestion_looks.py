"""How often the daemon looks for suggestions, how many it makes at once, and what a look costs."""

from contextlib import nullcontext
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import ALICE, NOW, make_agent, make_run
from tests.support.suggestion_week import SKILL_ID, STEPS, Week, tool_result
from understudy.core.clock import DAY_MS
from understudy.evolution.usage_review import MOST_AT_ONCE, MOST_OPEN, PER_AGENT, REST_MS
from understudy.learnings.candidates import CandidateService
from understudy.runs.model import RunStatus
from understudy.storage.postgres import SUGGESTIONS_LOCK


@pytest.fixture
def week(database: UnitsOnDatabase) -> Week:
    return Week(database.units)


def test_one_look_says_no_more_than_people_read_and_the_strongest_first(week: Week) -> None:
    for number in range(MOST_AT_ONCE + 3):
        skill = week.keep(f"idle-{number}", skill_id=f"skl_{number:02}")
        week.offer(20 + number, ref=skill.skill_id)

    assert week.look() == MOST_AT_ONCE
    assert {f"skl_{number:02}" for number in range(3, MOST_AT_ONCE + 3)} == told_of(week)
    assert week.look() == 3
    assert week.look() == 0


def test_each_rule_has_its_turn(week: Week) -> None:
    for number in range(MOST_AT_ONCE + 3):
        skill = week.keep(f"idle-{number}", skill_id=f"skl_{number:02}")
        week.offer(50, ref=skill.skill_id)
    week.keep()
    for _ in range(5):
        week.use()
    for _ in range(3):
        week.run(*STEPS)

    assert week.look() == MOST_AT_ONCE
    assert SKILL_ID in told_of(week)
    assert any(each.source.agent_id == "default" for each in week.candidates)


def told_of(week: Week) -> set[str]:
    """The skills that candidates speak of."""
    words = (word.rstrip(":,") for each in week.candidates for word in each.content.split())
    return {word for word in words if word.startswith("skl_")}


def test_nothing_is_said_on_top_of_many_that_wait(week: Week) -> None:
    for number in range(MOST_OPEN + 5):
        skill = week.keep(f"idle-{number}", skill_id=f"skl_{number:02}")
        week.offer(20, ref=skill.skill_id)
    looks = [week.look() for _ in range(MOST_OPEN // MOST_AT_ONCE)]
    assert sum(looks) == MOST_OPEN

    assert week.look() == 0
    one, other, *_ = week.candidates
    for each in (one, other):
        CandidateService(week.units, week.clock).reject(ALICE, each.candidate_id)
    assert week.look() == 2


def test_a_look_that_finds_nothing_new_writes_nothing_and_asks_little(
    week: Week, database: UnitsOnDatabase
) -> None:
    def looked() -> list[str]:
        asked: list[str] = []

        def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
            asked.append(statement)

        sa.event.listen(database.engine, "before_cursor_execute", note)
        assert suggester.look_now() == 0
        sa.event.remove(database.engine, "before_cursor_execute", note)
        return asked

    suggester = week.suggester()
    for number in range(MOST_AT_ONCE):
        skill = week.keep(f"idle-{number}", skill_id=f"skl_{number:02}")
        week.offer(20, ref=skill.skill_id)
    for _ in range(3):
        week.run(*STEPS)
    suggester.look_now()
    suggester.look_now()

    asked = looked()

    assert not [each for each in asked if not each.lstrip().startswith("SELECT")]
    # Neither what rests nor what runs did is read one by one.
    assert len(asked) < MOST_AT_ONCE
    assert not [each for each in asked if "journal.data" in each]


def test_one_look_serves_all_daemons_for_a_minute(week: Week) -> None:
    week.keep()
    assert week.suggester().look() == 0
    for _ in range(5):
        week.use()

    week.clock.advance(REST_MS - 1)
    assert week.suggester().look() == 0
    week.clock.advance(1)
    assert week.suggester().look() == 1


def test_a_clock_that_was_set_back_holds_up_no_look(week: Week) -> None:
    week.suggester().look()
    week.clock.advance(-DAY_MS)
    week.keep()
    for _ in range(5):
        week.use()

    assert week.suggester().look() == 1


def test_who_finds_another_daemon_looking_does_not(week: Week, database: UnitsOnDatabase) -> None:
    week.keep()
    for _ in range(5):
        week.use()

    assert week.suggester(if_free=lambda: nullcontext(enter_result=False)).look() == 0
    with week.units.read() as unit:
        assert unit.suggestions.looked_at_ms() is None
    assert week.suggester(if_free=partial(database.units.if_free, SUGGESTIONS_LOCK)).look() == 1


def test_neither_runs_without_tools_nor_other_agents_hide_what_an_agent_does(week: Week) -> None:
    for _ in range(3):
        week.run(*STEPS)
    week.clock.advance(1)
    ended: dict[str, Any] = {"status": RunStatus.COMPLETED, "submitted_at_ms": week.clock.now_ms()}
    idle, busy = (
        [make_run(agent_id=agent_id, **ended) for _ in range(151)]
        for agent_id in ("default", "busy")
    )
    with week.units.write() as unit:
        unit.agents.add(make_agent("busy"))
        for run in (*idle, *busy):
            unit.runs.add(run)
        results = [tool_result(run.run_id, 1, "shell") for run in busy]
        unit.journal.append("s1", results, at_ms=NOW)

    assert week.look() == 1
    assert week.candidates[0].source.agent_id == "default"


def test_of_a_busy_agent_only_the_newest_runs_count(week: Week) -> None:
    for _ in range(3):
        week.run(*STEPS)
    week.clock.advance(1)
    for _ in range(PER_AGENT - 2):
        week.run("shell")

    with week.units.read() as unit:
        found = unit.suggestions.tool_runs(since_ms=NOW, per_agent=PER_AGENT)
    assert len(found["default"]) == PER_AGENT
    assert week.look() == 0


def test_the_end_of_a_run_wakes_who_looks(week: Week) -> None:
    woken: list[str] = []
    suggester = week.suggester(wake=lambda: woken.append("now"))

    with week.units.write() as unit:
        suggester.ended(unit, make_run())
        assert woken == []
    assert woken == ["now"]
