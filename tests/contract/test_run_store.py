"""Runs are kept whole, counted, ordered, fenced and stopped."""

import json
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import NOW, ODD_TEXTS, make_run
from tests.support.stored_runs import stored_snapshot
from understudy.core.errors import DamagedRecord
from understudy.core.page import PageRequest
from understudy.runs.model import (
    DebugLevel,
    Delivery,
    InputItem,
    Route,
    Run,
    RunInput,
    RunKind,
    RunReports,
    RunRequest,
    RunSnapshot,
    RunStatus,
    RunUsage,
    StopRequest,
)
from understudy.sessions.model import ReplyTarget
from understudy.storage.unit import Units

FULL = make_run(
    kind=RunKind.SCHEDULED_INPUT,
    status=RunStatus.FAILED,
    request=RunRequest(source_plugin="p", source_kind="k", actor_id="x", text_preview=None),
    input=RunInput(
        items=(InputItem(type="text", text="a"), InputItem(type="asset_reference", asset_id="z")),
        metadata={"ticket": 7},
    ),
    route=Route(route_id="b", model="m", generation={"temperature": 0.1, "stop": ["x"]}),
    accepted_offset=4,
    started_at_ms=NOW + 1,
    finished_at_ms=NOW + 2,
    max_tool_iterations=9,
    debug_level=DebugLevel.FULL,
    reply_targets=(ReplyTarget(plugin="http", address="http://here"),),
    deliveries=(Delivery(plugin="http", address="http://here", status="done", attempts=2),),
    error="no",
    usage=RunUsage(
        input_tokens=1, output_tokens=2, cache_read_tokens=3, model_calls=4, tool_calls=5
    ),
    stop_request=StopRequest.CANCEL,
    attempt=3,
    crashes=2,
    progress=8,
    parked=True,
)

# A snapshot, and the JSON that stands for it in the database of every version since 0.1.
STORED: dict[str, Any] = {
    "system": "Be kind.",
    "tools": ["read_file", "write_file"],
    "withheld": ["shell"],
    "max_steps": 20,
    "memory": {"used_tokens": 0, "entries": []},
    "skills": {"offered": 0, "listed": []},
    "evolution": {"self_evolve": True, "locale": "vi"},
    "workdir": ".understudy-procedural-worktrees/a/b",
    "checkpoint": 4,
    "history_from": 7,
    "input_offset": 9,
}
SNAPSHOT = RunSnapshot(
    system="Be kind.",
    tools=("read_file", "write_file"),
    withheld=("shell",),
    max_steps=20,
    checkpoint=4,
    history_from=7,
    input_offset=9,
    workdir=".understudy-procedural-worktrees/a/b",
    reports=RunReports(
        memory={"used_tokens": 0, "entries": []},
        skills={"offered": 0, "listed": []},
        evolution={"self_evolve": True, "locale": "vi"},
    ),
)
# Those that every snapshot ever had.
FIRST_FIELDS = ("system", "tools", "max_steps", "history_from", "input_offset")


def store_snapshot(database: UnitsOnDatabase, run_id: str, text: str | None) -> None:
    with database.engine.begin() as connection:
        statement = sa.text("UPDATE runs SET snapshot = :given WHERE run_id = :run_id")
        connection.execute(statement, {"given": text, "run_id": run_id})


def add(units: Units, *runs: Run) -> None:
    with units.write() as unit:
        for run in runs:
            unit.runs.add(run)


def get(units: Units, run_id: str) -> Run | None:
    with units.read() as unit:
        return unit.runs.get(run_id)


@pytest.mark.parametrize("run", [FULL, make_run()], ids=["full", "plain"])
def test_a_run_comes_back_as_it_was_stored(units: Units, run: Run) -> None:
    add(units, run)

    assert get(units, run.run_id) == run


def test_a_run_can_change_but_what_was_asked_for_stays(units: Units) -> None:
    add(units, replace(FULL, status=RunStatus.RUNNING, finished_at_ms=None))
    with units.write() as unit:
        unit.runs.update(replace(FULL, route=Route(route_id="drifted", model="x")))

    assert get(units, FULL.run_id) == FULL


@pytest.mark.parametrize("odd", ODD_TEXTS.values(), ids=ODD_TEXTS.keys())
def test_odd_characters_survive(units: Units, odd: str) -> None:
    run = make_run(
        input=RunInput(items=(InputItem(type="text", text=odd),), metadata={odd: odd}),
        request=RunRequest(text_preview=odd),
        error=odd,
    )
    add(units, run)
    with units.write() as unit:
        unit.runs.update(run, snapshot=replace(SNAPSHOT, system=odd))

    assert get(units, run.run_id) == run
    with units.read() as unit:
        assert unit.runs.snapshot(run.run_id) == replace(SNAPSHOT, system=odd)


def test_a_snapshot_is_stored_as_json_and_read_back(units: Units) -> None:
    run = make_run()
    add(units, run)
    with units.write() as unit:
        unit.runs.update(run, snapshot=SNAPSHOT)

    with units.read() as unit:
        assert unit.runs.snapshot(run.run_id) == SNAPSHOT
        assert unit.runs.reports(run.run_id) == SNAPSHOT.reports
        assert stored_snapshot(unit, run.run_id) == STORED


def test_only_the_reports_of_a_snapshot_outlast_its_prompt(units: Units) -> None:
    run = make_run()
    add(units, run)
    with units.write() as unit:
        unit.runs.update(run, snapshot=SNAPSHOT)
        unit.runs.update(run, reports=SNAPSHOT.reports)

    with units.read() as unit:
        assert unit.runs.reports(run.run_id) == SNAPSHOT.reports
        assert stored_snapshot(unit, run.run_id).keys() == {"memory", "skills", "evolution"}
        with pytest.raises(DamagedRecord):
            unit.runs.snapshot(run.run_id)


# What a run that began under an older version may have in the database, and how it reads.
BEFORE: dict[str, tuple[dict[str, Any], RunSnapshot]] = {
    "the first of all": (
        {name: STORED[name] for name in FIRST_FIELDS},
        RunSnapshot(**{name: getattr(SNAPSHOT, name) for name in FIRST_FIELDS}),
    ),
    "without a folder and a checkpoint": (
        STORED | {"checkpoint": None, "workdir": None},
        replace(SNAPSHOT, checkpoint=None, workdir=None),
    ),
    "with a report that is none": (
        STORED | {"evolution": "on", "skills": []},
        replace(SNAPSHOT, reports=RunReports(memory=SNAPSHOT.reports.memory)),
    ),
    "with something that nobody knows": (STORED | {"later": 1}, SNAPSHOT),
}


@pytest.mark.parametrize("case", BEFORE)
def test_snapshots_of_older_versions_are_read(database: UnitsOnDatabase, case: str) -> None:
    stored, read = BEFORE[case]
    run = make_run()
    add(database.units, run)
    store_snapshot(database, run.run_id, json.dumps(stored))

    with database.units.read() as unit:
        assert unit.runs.snapshot(run.run_id) == read


@pytest.mark.parametrize("field", FIRST_FIELDS)
@pytest.mark.parametrize("value", [None, True, {}])
def test_a_snapshot_without_what_a_run_needs_is_damaged(
    database: UnitsOnDatabase, field: str, value: object
) -> None:
    run = make_run()
    add(database.units, run)
    store_snapshot(database, run.run_id, json.dumps(STORED | {field: value}))

    with database.units.read() as unit, pytest.raises(DamagedRecord, match=run.run_id):
        unit.runs.snapshot(run.run_id)


def test_queued_runs_stand_in_line_by_the_order_of_their_acceptance(units: Units) -> None:
    runs = [make_run("s1", accepted_offset=offset) for offset in (5, 3, 9)]
    add(units, *runs, make_run("s1", accepted_offset=1, status=RunStatus.RUNNING))
    other = make_run("s2")
    add(units, other)

    with units.read() as unit:
        positions = unit.runs.queued_positions(["s1", "s2"])

    assert positions == {
        runs[1].run_id: 1,
        runs[0].run_id: 2,
        runs[2].run_id: 3,
        other.run_id: 1,
    }


def test_the_line_moves_up_when_somebody_leaves_it(units: Units) -> None:
    first, second = make_run(accepted_offset=1), make_run(accepted_offset=2)
    add(units, first, second)
    with units.write() as unit:
        unit.runs.update(replace(first, status=RunStatus.CANCELLED, finished_at_ms=NOW))

        assert unit.runs.queued_positions(["s1"]) == {second.run_id: 1}


def test_only_the_current_attempt_of_an_unfinished_run_owns_it(units: Units) -> None:
    run = make_run(status=RunStatus.RUNNING, attempt=2)
    add(units, run)

    with units.write() as unit:
        assert [unit.runs.owns(run.run_id, attempt) for attempt in (1, 2, 3)] == [
            False,
            True,
            False,
        ]
        assert not unit.runs.owns("run_unknown", 2)
        unit.runs.update(replace(run, status=RunStatus.COMPLETED, finished_at_ms=NOW))
        assert not unit.runs.owns(run.run_id, 2)


def test_the_current_run_of_a_session_is_the_one_that_runs_or_waits(units: Units) -> None:
    waiting = make_run("s1", status=RunStatus.WAITING_FOR_APPROVAL, accepted_offset=2)
    add(
        units,
        make_run("s1", status=RunStatus.COMPLETED, finished_at_ms=NOW, accepted_offset=1),
        waiting,
        make_run("s1", accepted_offset=3),
        make_run("s2"),
    )

    with units.read() as unit:
        assert unit.runs.current("s1") == waiting
        assert unit.runs.current("s2") is None
        assert unit.runs.unfinished_in("s1") == 2


def test_stop_requests_are_found_for_the_runs_asked_about(units: Units) -> None:
    stopped = make_run(status=RunStatus.RUNNING, stop_request=StopRequest.INTERRUPT)
    other = make_run(stop_request=StopRequest.CANCEL)
    going = make_run()
    add(units, stopped, other, going)

    with units.read() as unit:
        found = unit.runs.stop_requests([stopped.run_id, going.run_id])

    assert found == {stopped.run_id: StopRequest.INTERRUPT}


def test_parking_marks_what_goes_on_and_leaves_the_rest_alone(units: Units) -> None:
    going = make_run(status=RunStatus.RUNNING, crashes=2, error="kept")
    ended = make_run(status=RunStatus.COMPLETED, finished_at_ms=NOW)
    add(units, going, ended)

    with units.write() as unit:
        unit.runs.park([going.run_id, ended.run_id, "run_unknown"])

    assert get(units, going.run_id) == replace(going, parked=True)
    assert get(units, ended.run_id) == ended


def test_runs_are_counted_by_status(units: Units) -> None:
    add(units, make_run(), make_run(), make_run(status=RunStatus.FAILED, finished_at_ms=NOW))

    with units.read() as unit:
        assert unit.runs.counts() == {RunStatus.QUEUED: 2, RunStatus.FAILED: 1}


def test_runs_are_counted_and_listed_for_a_session_or_an_agent(units: Units) -> None:
    helper = make_run("s2", agent_id="helper")
    add(units, make_run(), make_run("s2"), helper)

    with units.read() as unit:
        assert unit.runs.counts(session_id="s2") == {RunStatus.QUEUED: 2}
        assert unit.runs.counts(agent_id="helper") == {RunStatus.QUEUED: 1}
        assert unit.runs.counts(session_id="s1", agent_id="helper") == {}
        assert unit.runs.page(PageRequest(), agent_id="helper").items == (helper,)


def test_runs_are_listed_newest_first_by_session_and_status(units: Units) -> None:
    runs = [make_run("s1", submitted_at_ms=NOW + n // 2) for n in range(5)]
    add(units, *runs, make_run("s2", status=RunStatus.FAILED, finished_at_ms=NOW))
    seen: list[Run] = []
    after = None
    while True:
        with units.read() as unit:
            request = PageRequest.parse(limit=2, cursor=after)
            page = unit.runs.page(request, session_id="s1", statuses=[RunStatus.QUEUED])
        seen += page.items
        if (after := page.next_cursor) is None:
            break

    assert [run.run_id for run in seen] == [run.run_id for run in reversed(runs)]


@pytest.mark.parametrize("damage", ['{"half":', "[]", '"text"', "7", None])
def test_a_damaged_snapshot_is_named_and_hides_nothing_else(
    database: UnitsOnDatabase, damage: str | None
) -> None:
    run = make_run()
    add(database.units, run)
    store_snapshot(database, run.run_id, damage)

    assert get(database.units, run.run_id) == run
    with database.units.read() as unit, pytest.raises(DamagedRecord, match=run.run_id):
        unit.runs.snapshot(run.run_id)


def test_a_run_that_cannot_be_read_can_still_be_closed(database: UnitsOnDatabase) -> None:
    bad = make_run()
    add(database.units, bad)
    with database.engine.begin() as connection:
        statement = sa.text("UPDATE runs SET wanted = '{', state = '{' WHERE run_id = :run_id")
        connection.execute(statement, {"run_id": bad.run_id})

    with database.units.write() as unit:
        closed = unit.runs.close(bad.run_id, RunStatus.FAILED, reason="torn", at_ms=9)
        again = unit.runs.close(bad.run_id, RunStatus.FAILED, reason="torn", at_ms=9)

    assert (closed, again) == (bad.session_id, None)
    with database.units.read() as unit:
        assert unit.runs.unfinished_in(bad.session_id) == 0


@pytest.mark.parametrize("column", ["wanted", "state"])
@pytest.mark.parametrize("damage", ['{"half":', "[]", '"text"', "7"])
def test_a_damaged_run_is_skipped_in_lists_and_named_when_asked_for(
    database: UnitsOnDatabase, column: str, damage: str
) -> None:
    bad, good = make_run(), make_run()
    add(database.units, bad, good)
    with database.engine.begin() as connection:
        statement = sa.text(f"UPDATE runs SET {column} = :damage WHERE run_id = :run_id")
        connection.execute(statement, {"damage": damage, "run_id": bad.run_id})

    with database.units.read() as unit:
        page = unit.runs.page(PageRequest())
        with pytest.raises(DamagedRecord, match=bad.run_id):
            unit.runs.get(bad.run_id)

    assert [run.run_id for run in page.items] == [good.run_id]


def test_a_page_of_damaged_runs_still_leads_to_the_next(database: UnitsOnDatabase) -> None:
    runs = [make_run(submitted_at_ms=NOW + n) for n in range(3)]
    add(database.units, *runs)
    with database.engine.begin() as connection:
        statement = sa.text("UPDATE runs SET wanted = 'x' WHERE run_id <> :kept")
        connection.execute(statement, {"kept": runs[0].run_id})

    with database.units.read() as unit:
        first = unit.runs.page(PageRequest(limit=2))
        second = unit.runs.page(PageRequest.parse(limit=2, cursor=first.next_cursor))

    assert first.items == ()
    assert second.items == (runs[0],)
