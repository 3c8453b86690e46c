"""What stops with what, also where others hold the rows."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest
import sqlalchemy as sa

from tests.support.factories import ALICE
from tests.support.model_scripts import ask, play, said
from tests.support.run_harness import restarted
from tests.support.sidechain_runs import WAIT, SidechainRuns, spawn
from understudy.core.errors import Conflict
from understudy.core.page import PageRequest
from understudy.runs.model import RunStatus
from understudy.runs.sidechain_tools import SpawnSidechain
from understudy.runs.sidechains import SidechainService, SidechainWish
from understudy.sessions.journal import EventKind
from understudy.sessions.model import Spawn
from understudy.storage.unit import Units
from understudy.testing.answers import Answer as Answer
from understudy.testing.answers import SeenRequest, call
from understudy.testing.fake_model import FakeModel

pytestmark = pytest.mark.one_database


@pytest.fixture
def nested(fake: FakeModel) -> None:
    """A parent with a child with a grandchild that asks; each waits for the next."""
    fake.rule = play(
        {
            "parent": [spawn("child"), WAIT],
            "child": [spawn("grandchild"), WAIT],
            "grandchild": [ask("Shall I?")],
        }
    )


def family_of(sidechain_runs: SidechainRuns) -> list[str]:
    [child] = sidechain_runs.children()
    [grandchild] = sidechain_runs.children(child)
    return ["s1", child, grandchild]


@pytest.mark.usefixtures("nested")
@pytest.mark.parametrize("how", ["cancel", "interrupt"])
async def test_stopping_a_run_stops_all_that_worked_for_it(
    sidechain_runs: SidechainRuns, how: str
) -> None:
    parent = sidechain_runs.harness.submit("parent")
    await sidechain_runs.work(only="s1")
    [child] = sidechain_runs.children()
    await sidechain_runs.work(only=child)
    line = family_of(sidechain_runs)
    waiting = [sidechain_runs.run_of(session_id).status for session_id in line]
    assert waiting == [RunStatus.RUNNING, RunStatus.RUNNING, RunStatus.QUEUED]

    if how == "cancel":
        sidechain_runs.harness.runs.cancel(ALICE, parent)
    else:
        sidechain_runs.harness.runs.interrupt(ALICE, "s1")
    await sidechain_runs.work()

    ended = [sidechain_runs.run_of(session_id) for session_id in line]
    expected = RunStatus.CANCELLED if how == "cancel" else RunStatus.INTERRUPTED
    assert [run.status for run in ended] == [expected, RunStatus.CANCELLED, RunStatus.CANCELLED]
    assert "together with the run" in (ended[1].error or "")


async def test_a_parent_that_fails_takes_its_sidechains_with_it(
    sidechain_runs: SidechainRuns, fake: FakeModel
) -> None:
    fake.rule = play({"parent": [spawn("child"), Answer(status=400)]})
    sidechain_runs.harness.submit("parent")
    await sidechain_runs.work(only="s1")
    [child] = sidechain_runs.children()

    await sidechain_runs.work()

    assert sidechain_runs.run_of("s1").status is RunStatus.FAILED
    assert sidechain_runs.run_of(child).status is RunStatus.CANCELLED
    assert len(fake.requests) == 2


async def test_a_sidechain_can_be_cancelled_by_its_parent(
    sidechain_runs: SidechainRuns, fake: FakeModel
) -> None:
    def cancel(seen: SeenRequest) -> Answer:
        return call("cancel_sidechain", {"session_id": said(seen)["session_id"]})

    fake.rule = play({"parent": [spawn("child"), cancel, WAIT]})
    parent = sidechain_runs.harness.submit("parent")
    await sidechain_runs.work()

    results = sidechain_runs.harness.results(parent)
    [child] = sidechain_runs.children()
    assert results[1]["content"] == f"stopping {sidechain_runs.run_of(child).run_id}"
    assert json.loads(results[2]["content"])["sidechains"][0]["status"] == "cancelled"
    assert sidechain_runs.run_of("s1").status is RunStatus.COMPLETED
    assert sidechain_runs.harness.sidechains.cancel(ALICE, "s1", child) == ()


@pytest.mark.every_database
@pytest.mark.usefixtures("nested")
async def test_what_has_not_begun_below_leaves_the_line_without_beginning(
    sidechain_runs: SidechainRuns,
) -> None:
    parent = sidechain_runs.harness.submit("parent")
    await sidechain_runs.work(only="s1")
    [child] = sidechain_runs.children()
    await sidechain_runs.work(only=child)
    later = [sidechain_runs.harness.submit("later", session_id=child) for _ in range(2)]
    sidechain_runs.harness.runs.cancel(ALICE, parent)
    await sidechain_runs.work(only="s1")

    for run_id in later:
        left = sidechain_runs.harness.stored(run_id)
        assert (left.status, left.started_at_ms) == (RunStatus.CANCELLED, None)
        assert "together with the run" in (left.error or "")
        assert types(sidechain_runs, run_id) == ["accepted", "queued", "cancelled"]
    await sidechain_runs.work()
    assert [run.status for run in sidechain_runs.runs_of(child)] == [RunStatus.CANCELLED] * 3
    assert {parent, *(run.run_id for run in sidechain_runs.runs_of(child))} < audited(
        sidechain_runs
    )


def types(sidechain_runs: SidechainRuns, run_id: str) -> list[str]:
    return [event.data["type"] for event in sidechain_runs.harness.journal(run_id, EventKind.RUN)]


def audited(sidechain_runs: SidechainRuns) -> set[str]:
    with sidechain_runs.units.read() as unit:
        entries = unit.audit.page(PageRequest(), resource="runs", actor=None).items
    return {entry.resource_id for entry in entries if entry.action == "runs.cancel"}


# A run that ends while it makes a sidechain


@pytest.mark.parametrize("has_ended", [True, False])
async def test_a_run_that_is_stopped_makes_no_sidechain(
    sidechain_runs: SidechainRuns, fake: FakeModel, has_ended: bool
) -> None:
    fake.rule = play({"parent": [ask("Shall I?")]})
    parent = sidechain_runs.harness.submit("parent")
    await sidechain_runs.work()
    sidechain_runs.harness.runs.cancel(ALICE, parent)
    if has_ended:
        await sidechain_runs.work()

    with pytest.raises(Conflict) as refused:
        sidechain_runs.harness.sidechains.spawn(ALICE, parent, "key", SidechainWish(task="child"))

    assert refused.value.code == "run_state_conflict"
    assert sidechain_runs.children() == []


async def test_a_stop_waits_for_the_sidechain_that_is_being_made(
    sidechain_runs: SidechainRuns, fake: FakeModel
) -> None:
    reached, go_on = threading.Event(), threading.Event()
    service = sidechain_runs.harness.sidechains

    class SlowService:
        def spawn(self, *arguments: Any) -> Spawn:
            reached.set()
            go_on.wait(10)
            return service.spawn(*arguments)

    fake.rule = play({"parent": [spawn("child")]})
    slow = SpawnSidechain(cast("SidechainService", SlowService()))
    harness = restarted(sidechain_runs.harness, tools=(slow,))
    parent = harness.submit("parent")
    working = harness.begin(parent)
    assert await asyncio.to_thread(reached.wait, 10)
    harness.runs.cancel(ALICE, parent)
    await asyncio.sleep(0.1)
    assert not working.done()

    go_on.set()
    await working

    assert harness.stored(parent).status is RunStatus.CANCELLED
    assert sidechain_runs.children() == []


# Where rows are held by others


@contextmanager
def held_by_another(units: Units, run_id: str) -> Iterator[None]:
    with units.engine.connect() as connection, connection.begin():
        statement = sa.text("SELECT run_id FROM runs WHERE run_id = :run_id FOR UPDATE")
        connection.execute(statement, {"run_id": run_id})
        yield


@contextmanager
def session_held_by_another(units: Units, session_id: str) -> Iterator[sa.Connection]:
    with units.engine.connect() as connection, connection.begin():
        statement = sa.text("SELECT 1 FROM sessions WHERE session_id = :session_id FOR UPDATE")
        connection.execute(statement, {"session_id": session_id})
        yield connection


only_where_rows_are_held = pytest.mark.parametrize(
    "migrated_url", [pytest.param("postgresql", marks=pytest.mark.postgres)], indirect=True
)


@only_where_rows_are_held
async def test_a_parent_whose_row_is_held_is_woken_a_moment_later(
    sidechain_runs: SidechainRuns, fake: FakeModel
) -> None:
    fake.rule = play({"parent": [spawn("child"), WAIT]})
    parent = sidechain_runs.harness.submit("parent")
    await sidechain_runs.work(only="s1")

    with held_by_another(sidechain_runs.units, parent):
        await sidechain_runs.work()
        assert sidechain_runs.run_of(sidechain_runs.children()[0]).status is RunStatus.COMPLETED
        assert sidechain_runs.harness.stored(parent).asleep
        assert sidechain_runs.harness.family.catch_up() == 1
    assert sidechain_runs.harness.family.catch_up() == 0
    await sidechain_runs.work()

    assert sidechain_runs.harness.stored(parent).status is RunStatus.COMPLETED
    assert sidechain_runs.signals() == 0


@pytest.mark.every_database
@only_where_rows_are_held
async def test_a_child_whose_row_is_held_is_stopped_a_moment_later(
    sidechain_runs: SidechainRuns, fake: FakeModel
) -> None:
    fake.rule = play({"parent": [spawn("child"), WAIT]})
    parent = sidechain_runs.harness.submit("parent")
    await sidechain_runs.work(only="s1")
    [child] = sidechain_runs.children()
    sidechain_runs.harness.runs.cancel(ALICE, parent)

    with held_by_another(sidechain_runs.units, sidechain_runs.run_of(child).run_id):
        await sidechain_runs.work(only="s1")
        assert sidechain_runs.harness.stored(parent).status is RunStatus.CANCELLED
    assert sidechain_runs.run_of(child).stop_request is None
    sidechain_runs.harness.family.catch_up()
    await sidechain_runs.work()

    assert sidechain_runs.run_of(child).status is RunStatus.CANCELLED


@only_where_rows_are_held
async def test_what_has_not_begun_in_a_session_that_is_held_leaves_the_line_a_moment_later(
    sidechain_runs: SidechainRuns, fake: FakeModel
) -> None:
    fake.rule = play({"parent": [spawn("child"), WAIT]})
    parent = sidechain_runs.harness.submit("parent")
    await sidechain_runs.work(only="s1")
    [child] = sidechain_runs.children()
    sidechain_runs.harness.runs.cancel(ALICE, parent)

    with session_held_by_another(sidechain_runs.units, child):
        await sidechain_runs.work(only="s1")
        assert sidechain_runs.harness.stored(parent).status is RunStatus.CANCELLED
    assert sidechain_runs.run_of(child).status is RunStatus.QUEUED
    sidechain_runs.harness.family.catch_up()

    assert sidechain_runs.run_of(child).status is RunStatus.CANCELLED
    assert types(sidechain_runs, sidechain_runs.run_of(child).run_id) == [
        "accepted",
        "queued",
        "cancelled",
    ]


@pytest.mark.every_database
@only_where_rows_are_held
async def test_a_run_that_ends_before_its_sidechain_is_stored_gets_none(
    sidechain_runs: SidechainRuns, fake: FakeModel
) -> None:
    fake.rule = play({"parent": [ask("Shall I?")]})
    parent = sidechain_runs.harness.submit("parent")
    await sidechain_runs.work()

    with session_held_by_another(sidechain_runs.units, "s1") as connection:
        making = asyncio.create_task(
            asyncio.to_thread(
                sidechain_runs.harness.sidechains.spawn,
                ALICE,
                parent,
                "key",
                SidechainWish(task="child"),
            )
        )
        await asyncio.sleep(0.3)
        assert not making.done()
        ended = "UPDATE runs SET status = 'cancelled', finished_at_ms = 1 WHERE run_id = :parent"
        connection.execute(sa.text(ended), {"parent": parent})
    with pytest.raises(Conflict):
        await making

    assert sidechain_runs.children() == []
