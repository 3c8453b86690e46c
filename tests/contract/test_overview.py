"""Activity by day and usage by agent and model, on both databases."""

from typing import Any

import pytest
import sqlalchemy as sa

from tests.contract.conftest import UnitsOnDatabase
from tests.contract.test_learning_plans import read_by
from tests.support.candidate_factories import make_candidate
from tests.support.factories import NOW, make_agent, make_run, make_session
from understudy.core.clock import DAY_MS
from understudy.daemon.overview import OverviewReport
from understudy.learnings.model import (
    AutomationReview,
    CandidateState,
    LearningUse,
    Mode,
    ReviewAction,
)
from understudy.runs.model import Route, RunStatus, RunUsage
from understudy.settings import RouteConfig
from understudy.storage.unit import Units
from understudy.testing.clock import FrozenClock
from understudy.wire.overview import OverviewView

TODAY = NOW // DAY_MS * DAY_MS


@pytest.fixture
def units(empty_database: UnitsOnDatabase) -> Units:
    units = empty_database.units
    with units.write() as unit:
        for agent_id in ("desk", "press"):
            unit.agents.add(make_agent(agent_id))
        unit.sessions.add(make_session("s1", agent_id="desk"))
    return units


def overview(units: Units, days: int = 3) -> OverviewView:
    route = RouteConfig(provider="openai", model="model-b", input_price=2, output_price=10)
    return OverviewReport(units, FrozenClock(NOW), {"b": route})(days)


def add_run(units: Units, days_ago: int, status: RunStatus, **fields: Any) -> str:
    at_ms = NOW - days_ago * DAY_MS
    run = make_run("s1", status=status, submitted_at_ms=at_ms, **({"agent_id": "desk"} | fields))
    with units.write() as unit:
        unit.runs.add(run)
    return run.run_id


def test_days_without_anything_are_there_too(units: Units) -> None:
    found = overview(units)
    assert [day.day_at_ms for day in found.runs] == [TODAY - 2 * DAY_MS, TODAY - DAY_MS, TODAY]
    assert {day.completed + day.open for day in found.runs} == {0}
    assert found.usage == []


def test_runs_are_counted_on_their_day_by_how_they_stand(units: Units) -> None:
    add_run(units, 0, RunStatus.COMPLETED)
    add_run(units, 0, RunStatus.COMPLETED)
    add_run(units, 0, RunStatus.WAITING_FOR_APPROVAL)
    add_run(units, 1, RunStatus.CANCELLED)
    add_run(units, 1, RunStatus.INTERRUPTED)
    add_run(units, 2, RunStatus.FAILED)
    add_run(units, 3, RunStatus.FAILED)
    days = [(day.completed, day.failed, day.stopped, day.open) for day in overview(units).runs]
    assert days == [(0, 1, 0, 0), (0, 0, 2, 0), (2, 0, 0, 1)]


def test_candidates_are_counted_when_they_are_proposed_and_when_they_are_decided(
    units: Units,
) -> None:
    before = NOW - DAY_MS
    decided = {"created_at_ms": before, "decided_at_ms": NOW}
    told: dict[str, dict[str, Any]] = {
        "The sea is blue.": {"created_at_ms": NOW},
        "The sky is blue.": {**decided, "state": CandidateState.PUBLISHED},
        "The sun is red.": {**decided, "state": CandidateState.REJECTED},
        "The moon is old.": {
            **decided,
            "state": CandidateState.REJECTED,
            "decided_by": "daemon",
            "decision_reason": "expired",
        },
    }
    with units.write() as unit:
        for content, fields in told.items():
            unit.candidates.add(make_candidate(content, **fields))
    days = [
        (day.proposed, day.published, day.rejected, day.expired) for day in overview(units).learning
    ]
    assert days == [(0, 0, 0, 0), (3, 0, 0, 0), (1, 1, 2, 1)]


def test_a_run_that_was_told_of_two_learnings_is_told_once(units: Units) -> None:
    done = add_run(units, 0, RunStatus.COMPLETED)
    failed = add_run(units, 0, RunStatus.FAILED)
    told = [("lrn_1", done), ("lrn_2", done), ("lrn_1", failed)]
    with units.write() as unit:
        unit.learning_uses.add(
            [
                LearningUse(
                    learning_id=learning_id,
                    learning_version=1,
                    run_id=run_id,
                    session_id="s1",
                    at_ms=NOW,
                )
                for learning_id, run_id in told
            ]
        )
    today = overview(units).learning[-1]
    assert (today.told_runs, today.helped_runs) == (2, 1)


def test_usage_is_added_up_by_agent_and_model_and_a_damaged_run_counts_without_tokens(
    units: Units, empty_database: UnitsOnDatabase
) -> None:
    large = RunUsage(input_tokens=100, output_tokens=10)
    press: dict[str, Any] = {"agent_id": "press", "route": Route(route_id="b", model="model-b")}
    add_run(units, 0, RunStatus.COMPLETED, usage=RunUsage(input_tokens=1, output_tokens=2))
    add_run(units, 0, RunStatus.FAILED, usage=large, **press)
    add_run(units, 0, RunStatus.COMPLETED, usage=large, **press)
    torn = add_run(units, 0, RunStatus.COMPLETED, usage=large, **press)
    with empty_database.engine.begin() as connection:
        connection.execute(
            sa.text("UPDATE runs SET state = '{' WHERE run_id = :torn"), {"torn": torn}
        )
    first, second = overview(units).usage
    assert (first.agent_id, first.route_id, first.model) == ("press", "b", "model-b")
    assert (first.runs, first.failed_runs) == (3, 1)
    assert (first.input_tokens, first.output_tokens) == (200, 20)
    assert (second.agent_id, second.runs, second.input_tokens) == ("desk", 1, 1)
    assert (first.cost_usd, second.cost_usd) == (0.0006, None)


def test_decisions_of_people_are_compared_with_what_automation_would_have_decided(
    units: Units,
) -> None:
    published, rejected = CandidateState.PUBLISHED, CandidateState.REJECTED
    decided: dict[str, tuple[ReviewAction, CandidateState, str]] = {
        "The sea is blue.": (ReviewAction.PUBLISH_ACTIVE, published, "ann"),
        "The sky is blue.": (ReviewAction.PUBLISH_PROVISIONAL, rejected, "ann"),
        "The sun is red.": (ReviewAction.REJECT, rejected, "ann"),
        "The moon is old.": (ReviewAction.MANUAL_REVIEW, published, "ann"),
        "The hill is high.": (ReviewAction.REJECT, rejected, "daemon"),
    }
    with units.write() as unit:
        for content, (action, state, by) in decided.items():
            review = AutomationReview(
                mode=Mode.SHADOW, action=action, reviewed_at_ms=NOW, reason="r", policy_revision=1
            )
            unit.candidates.add(
                make_candidate(
                    content,
                    state=state,
                    decided_by=by,
                    decided_at_ms=NOW,
                    automation_review=review,
                )
            )
        unit.candidates.add(make_candidate("No opinion.", state=rejected, decided_at_ms=NOW))
    days = [(day.agreed, day.disagreed) for day in overview(units).learning]
    assert days == [(0, 0), (0, 0), (2, 1)]


def test_no_aggregate_reads_a_whole_table(empty_database: UnitsOnDatabase) -> None:
    if empty_database.engine.dialect.name != "sqlite":
        pytest.skip("PostgreSQL plans by what is in the table")
    looks = {
        "runs": ("COVERING INDEX ix_runs_status", lambda unit: unit.overview.runs(NOW)),
        "usage": ("ix_runs_newest", lambda unit: unit.overview.usage(NOW, limit=9)),
        "agreement": (
            "ix_learning_candidates_decided",
            lambda unit: unit.overview.agreement(NOW, limit=9),
        ),
    }
    for name, (index, look) in looks.items():
        reads = [read for read in read_by(empty_database, look) if "TEMP B-TREE" not in read]
        assert reads, name
        assert all(index in read for read in reads), (name, reads)
    learning = read_by(empty_database, lambda unit: unit.overview.learning(NOW))
    assert not [read for read in learning if read.startswith("SCAN")], learning
