"""What a week of runs suggests: candidates that a person decides on, each said once."""

from typing import Any

import pytest
import sqlalchemy as sa

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import ALICE, NOW, make_agent, make_session
from tests.support.skill_factories import make_skill
from tests.support.suggestion_week import SKILL_ID, STEPS, Week
from understudy.core.clock import DAY_MS
from understudy.core.page import PageRequest
from understudy.evolution.usage_review import (
    COOLDOWN_MS,
    KEPT_MS,
)
from understudy.evolution.usage_rules import WINDOW_MS
from understudy.learnings.candidates import CandidateService
from understudy.learnings.decisions import expire_in_batches
from understudy.learnings.model import CandidateState, CapturePath, Kind, Origin
from understudy.learnings.service import LearningService
from understudy.runs.model import RunStatus
from understudy.sessions.journal import EventKind, NewEvent
from understudy.sessions.learning_scopes import WORKSPACE
from understudy.skills.model import SkillOrigin, SkillStatus, Visibility


@pytest.fixture
def week(database: UnitsOnDatabase) -> Week:
    return Week(database.units)


def test_a_skill_whose_runs_mostly_fail_is_to_be_improved(week: Week) -> None:
    week.keep()
    failed = [week.use() for _ in range(4)]
    week.use(RunStatus.COMPLETED)

    assert week.look() == 1

    [found] = week.candidates
    assert (found.kind, found.scope, found.origin) == (Kind.PROCEDURE, WORKSPACE, Origin.DAEMON)
    assert (found.state, found.capture_path) == (CandidateState.PENDING, CapturePath.USAGE)
    assert found.derived_from_untrusted
    assert SKILL_ID in found.content
    note, *runs = found.evidence_refs
    assert note.note == ("within 7 days: offered 0, used 5, succeeded 1, failed 4, abandoned 0")
    assert {each.run_id for each in runs[:4]} == set(failed)
    with week.units.read() as unit:
        assert unit.review_queue.size() == 1
        [entry] = unit.audit.page(PageRequest(), resource=None, actor=None).items
    assert (entry.actor, entry.action) == ("daemon", "learning_candidates.create")


def test_a_skill_that_nobody_uses_is_to_be_told_better(week: Week) -> None:
    week.keep(visibility=Visibility.PUBLIC)
    week.offer(20)

    assert week.look() == 1
    assert "the skill weekly" in week.candidates[0].content


def test_steps_that_several_runs_share_are_to_be_a_skill(week: Week) -> None:
    runs = [week.run(*STEPS) for _ in range(3)]
    with week.units.write() as unit:
        unit.sessions.add(make_session("side", parent_session_id="s1"))
    for _ in range(5):
        # None of these counts: what failed, what is long ago, what is a part of something else.
        week.run("a", "b", "c", "d", "e", status=RunStatus.FAILED)
        week.run("a", "b", "c", "d", "e", submitted_at_ms=NOW - WINDOW_MS - 1)
        week.run("a", "b", "c", "d", "e", session_id="side")

    assert week.look() == 1

    [found] = week.candidates
    assert "list_files, read_file, shell, write_file, fetch_url" in found.content
    assert found.source.agent_id == "default"
    assert {each.run_id for each in found.evidence_refs[1:]} == set(runs)


def test_runs_that_had_a_skill_for_it_suggest_none(week: Week) -> None:
    week.keep()
    for _ in range(4):
        run_id = week.use(RunStatus.COMPLETED)
        results = [
            NewEvent(
                kind=EventKind.TOOL_RESULT,
                run_id=run_id,
                data={"step": step, "name": name, "executed": True},
            )
            for step, name in enumerate(STEPS)
        ]
        with week.units.write() as unit:
            unit.journal.append("s1", results, at_ms=NOW)

    assert week.look() == 0


def test_calls_that_were_refused_and_the_order_of_parallel_ones_do_not_count(week: Week) -> None:
    for turn in (("x", "a"), ("a", "x"), ("x", "a")):
        run_id = week.run()
        calls = [(1, turn[0]), (1, turn[1]), (2, "b"), (3, "c"), (4, "d")]
        results = [
            NewEvent(
                kind=EventKind.TOOL_RESULT,
                run_id=run_id,
                data={"step": step, "name": name, "executed": name != "x"},
            )
            for step, name in [*calls, (5, "e")]
        ]
        with week.units.write() as unit:
            unit.journal.append("s1", results, at_ms=NOW)

    assert week.look() == 1
    assert "tools a, b, c, d, e in this order" in week.candidates[0].content


def test_nothing_is_said_twice_while_it_waits(week: Week) -> None:
    week.keep()
    for _ in range(5):
        week.use()
    week.offer(30, ref=SKILL_ID, version=2)
    for _ in range(3):
        week.run(*STEPS)
    assert week.look() == 2

    for _ in range(3):
        week.use()
        week.run(*STEPS, "probe")
    assert week.look() == 0


def test_after_a_review_the_same_rests_for_a_week(week: Week) -> None:
    week.keep()
    for _ in range(5):
        week.use()
    week.look()
    week.reject()

    week.clock.advance(COOLDOWN_MS - 1)
    for _ in range(5):
        week.use()
    assert week.look() == 0

    week.clock.advance(1)
    assert week.look() == 1
    again = week.candidates[-1]
    assert again.declined_before
    assert again.reproposal_of == week.candidates[0].candidate_id


def test_the_same_runs_are_no_new_reason_after_somebody_said_no(week: Week) -> None:
    for _ in range(3):
        week.run(*STEPS, submitted_at_ms=NOW + COOLDOWN_MS)
    week.look()
    week.reject()
    week.clock.advance(COOLDOWN_MS)

    assert week.look() == 0


def test_what_was_published_is_not_suggested_until_it_is_taken_back(week: Week) -> None:
    week.keep()
    for _ in range(5):
        week.use()
    week.look()
    [found] = week.candidates
    service = CandidateService(week.units, week.clock)
    learning = service.publish(ALICE, found.candidate_id).learning
    # How long people had to decide says nothing of how long it holds.
    assert (found.expires_at_ms, learning.expires_at_ms) == (NOW + KEPT_MS, None)

    week.clock.advance(3 * COOLDOWN_MS)
    for _ in range(5):
        week.use()
    assert week.look() == 0

    LearningService(week.units, week.clock).revoke(ALICE, learning.learning_id, reason="done")
    assert week.look() == 1


def test_what_nobody_decides_on_goes_and_may_come_back(week: Week) -> None:
    week.keep()
    for _ in range(5):
        week.use()
    week.look()

    week.clock.advance(KEPT_MS)
    list(expire_in_batches(week.units, week.clock))
    for _ in range(5):
        week.use()
    assert week.look() == 0
    week.clock.advance(COOLDOWN_MS)
    assert week.look() == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"origin": SkillOrigin.SYSTEM},
        {"enabled": False},
        {"status": SkillStatus.DELETED},
        {"version": 2},
    ],
    ids=str,
)
def test_a_skill_that_nobody_could_change_for_the_better_is_left_alone(
    week: Week, fields: dict[str, Any]
) -> None:
    week.keep(**fields)
    for _ in range(9):
        week.use()

    assert week.look() == 0


def test_last_week_does_not_count(week: Week) -> None:
    week.keep()
    for _ in range(9):
        week.use()
    # The day that a week ago was on counts as a whole.
    week.clock.advance(WINDOW_MS + DAY_MS)

    assert week.look() == 0


def test_what_lies_in_a_folder_is_looked_at_as_well(week: Week) -> None:
    local = make_skill("weekly", skill_id="local:weekly", origin=SkillOrigin.LOCAL, version=0)
    week.offer(20, ref="local:weekly", version=0)
    week.offer(20, ref="local:gone", version=0)

    assert week.look(local_skill={"local:weekly": local}.get) == 1


def test_each_agent_has_steps_of_its_own(week: Week) -> None:
    with week.units.write() as unit:
        unit.agents.add(make_agent("other"))
    for agent_id in ("default", "other"):
        for _ in range(3):
            week.run(*STEPS, agent_id=agent_id)

    assert week.look() == 2
    assert {each.source.agent_id for each in week.candidates} == {"default", "other"}


def test_a_name_that_no_candidate_may_hold_costs_only_its_own(week: Week) -> None:
    hidden = ("list\u202efiles", *STEPS[1:])
    with week.units.write() as unit:
        unit.agents.add(make_agent("other"))
    for _ in range(3):
        week.run(*hidden, agent_id="default")
        week.run(*STEPS, agent_id="other")

    assert week.look() == 1


def test_nothing_at_all_happens_by_itself(week: Week) -> None:
    before = week.keep()
    for _ in range(9):
        week.use()
    week.look()

    with week.units.read() as unit:
        assert unit.skills.get(SKILL_ID) == before
        assert unit.learnings.count_by_status() == {}


def test_a_record_that_cannot_be_read_rests(week: Week) -> None:
    week.keep()
    for _ in range(5):
        week.use()
    week.look()
    with week.units.write() as unit:
        unit.connection.execute(sa.text("UPDATE learning_candidates SET body = '{'"))
    week.clock.advance(COOLDOWN_MS)
    for _ in range(5):
        week.use()

    assert week.look() == 0
