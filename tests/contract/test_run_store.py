"""Runs are kept whole, counted, ordered, fenced and stopped."""

from dataclasses import replace

import pytest
import sqlalchemy as sa

from tests.contract.conftest import House
from tests.support.factories import NOW, ODD_TEXTS, make_run
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
    RunRequest,
    RunStatus,
    StopRequest,
    Usage,
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
    usage=Usage(input_tokens=1, output_tokens=2, cache_read_tokens=3, model_calls=4, tool_calls=5),
    stop_request=StopRequest.CANCEL,
    attempt=3,
    crashes=2,
    progress=8,
    parked=True,
)


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
        unit.runs.set_snapshot(run.run_id, {"system": odd})

    assert get(units, run.run_id) == run
    with units.read() as unit:
        assert unit.runs.snapshot(run.run_id) == {"system": odd}


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
    house: House, damage: str | None
) -> None:
    run = make_run()
    add(house.units, run)
    with house.engine.begin() as connection:
        statement = sa.text("UPDATE runs SET snapshot = :damage WHERE run_id = :run_id")
        connection.execute(statement, {"damage": damage, "run_id": run.run_id})

    assert get(house.units, run.run_id) == run
    with house.units.read() as unit, pytest.raises(DamagedRecord, match=run.run_id):
        unit.runs.snapshot(run.run_id)


def test_a_run_that_cannot_be_read_can_still_be_closed(house: House) -> None:
    bad = make_run()
    add(house.units, bad)
    with house.engine.begin() as connection:
        statement = sa.text("UPDATE runs SET wanted = '{', state = '{' WHERE run_id = :run_id")
        connection.execute(statement, {"run_id": bad.run_id})

    with house.units.write() as unit:
        closed = unit.runs.close(bad.run_id, RunStatus.FAILED, reason="torn", at_ms=9)
        again = unit.runs.close(bad.run_id, RunStatus.FAILED, reason="torn", at_ms=9)

    assert (closed, again) == (bad.session_id, None)
    with house.units.read() as unit:
        assert unit.runs.unfinished_in(bad.session_id) == 0


@pytest.mark.parametrize("column", ["wanted", "state"])
@pytest.mark.parametrize("damage", ['{"half":', "[]", '"text"', "7"])
def test_a_damaged_run_is_skipped_in_lists_and_named_when_asked_for(
    house: House, column: str, damage: str
) -> None:
    bad, good = make_run(), make_run()
    add(house.units, bad, good)
    with house.engine.begin() as connection:
        statement = sa.text(f"UPDATE runs SET {column} = :damage WHERE run_id = :run_id")
        connection.execute(statement, {"damage": damage, "run_id": bad.run_id})

    with house.units.read() as unit:
        page = unit.runs.page(PageRequest())
        with pytest.raises(DamagedRecord, match=bad.run_id):
            unit.runs.get(bad.run_id)

    assert [run.run_id for run in page.items] == [good.run_id]


def test_a_page_of_damaged_runs_still_leads_to_the_next(house: House) -> None:
    runs = [make_run(submitted_at_ms=NOW + n) for n in range(3)]
    add(house.units, *runs)
    with house.engine.begin() as connection:
        statement = sa.text("UPDATE runs SET wanted = 'x' WHERE run_id <> :kept")
        connection.execute(statement, {"kept": runs[0].run_id})

    with house.units.read() as unit:
        first = unit.runs.page(PageRequest(limit=2))
        second = unit.runs.page(PageRequest.parse(limit=2, cursor=first.next_cursor))

    assert first.items == ()
    assert second.items == (runs[0],)
