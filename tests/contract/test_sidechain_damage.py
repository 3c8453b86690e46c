"""A run that cannot be read keeps no other from ending, wherever it stands in the family."""

import pytest
import sqlalchemy as sa

from tests.support.factories import ALICE
from tests.support.model_scripts import ask, play
from tests.support.sidechain_runs import WAIT, SidechainRuns, spawn
from understudy.core.errors import DamagedRecord
from understudy.runs.model import RunKind, RunStatus
from understudy.testing.answers import Answer as Answer
from understudy.testing.answers import FakeCall
from understudy.testing.fake_model import FakeModel


def tear(sidechain_runs: SidechainRuns, run_id: str, column: str = "state") -> None:
    """Leave a run's row behind as no version of ours would write it."""
    with sidechain_runs.units.engine.begin() as connection:
        statement = sa.text(f"UPDATE runs SET {column} = '{{' WHERE run_id = :run_id")
        connection.execute(statement, {"run_id": run_id})


def status(sidechain_runs: SidechainRuns, run_id: str) -> str:
    """Where a run stands, without reading the rest of it."""
    with sidechain_runs.units.engine.connect() as connection:
        statement = sa.text("SELECT status FROM runs WHERE run_id = :run_id")
        return str(connection.execute(statement, {"run_id": run_id}).scalar_one())


async def catch_up(sidechain_runs: SidechainRuns) -> None:
    """Do what was left to be done, until nothing is."""
    for _ in range(5):
        sidechain_runs.harness.family.catch_up()
        await sidechain_runs.work()
    assert sidechain_runs.signals() == 0


async def test_a_parent_that_cannot_be_read_does_not_keep_its_sidechain_from_ending(
    sidechain_runs: SidechainRuns, fake: FakeModel
) -> None:
    fake.rule = play({"parent": [spawn("child"), WAIT]})
    parent = sidechain_runs.harness.submit("parent")
    behind = sidechain_runs.harness.submit("behind")
    await sidechain_runs.work(only="s1")
    tear(sidechain_runs, parent)

    await sidechain_runs.work()

    assert sidechain_runs.run_of(sidechain_runs.children()[0]).status is RunStatus.COMPLETED
    await catch_up(sidechain_runs)
    # It slept, and nobody would ever have woken it.
    assert status(sidechain_runs, parent) == "failed"
    assert sidechain_runs.harness.stored(behind).status is RunStatus.COMPLETED


async def test_a_parent_that_cannot_be_read_does_not_keep_its_sidechain_from_asking(
    sidechain_runs: SidechainRuns, fake: FakeModel
) -> None:
    fake.rule = play({"parent": [spawn("child"), WAIT], "child": [ask("Shall I?")]})
    parent = sidechain_runs.harness.submit("parent")
    await sidechain_runs.work(only="s1")
    tear(sidechain_runs, parent)

    await sidechain_runs.work()

    assert (
        sidechain_runs.run_of(sidechain_runs.children()[0]).status
        is RunStatus.WAITING_FOR_USER_QUESTION
    )
    await catch_up(sidechain_runs)
    assert status(sidechain_runs, parent) == "failed"
    assert sidechain_runs.run_of(sidechain_runs.children()[0]).status is RunStatus.CANCELLED


@pytest.mark.parametrize("column", ["wanted", "state"])
@pytest.mark.parametrize("has_begun", [True, False])
async def test_a_sidechain_that_cannot_be_read_does_not_keep_its_parent_from_ending(
    sidechain_runs: SidechainRuns, fake: FakeModel, column: str, has_begun: bool
) -> None:
    waiting = {"parent": [spawn("child"), WAIT], "child": [spawn("grandchild"), WAIT]}
    fake.rule = play(waiting)
    parent = sidechain_runs.harness.submit("parent")
    await sidechain_runs.work(only="s1")
    [child] = sidechain_runs.children()
    if has_begun:
        await sidechain_runs.work(only=child)
    below = sidechain_runs.run_of(child).run_id
    tear(sidechain_runs, below, column)
    sidechain_runs.harness.runs.cancel(ALICE, parent)

    await sidechain_runs.work(only="s1")

    assert sidechain_runs.harness.stored(parent).status is RunStatus.CANCELLED
    await catch_up(sidechain_runs)
    assert status(sidechain_runs, below) == "failed"


async def test_a_run_that_cannot_be_read_in_the_line_below_does_not_keep_the_others(
    sidechain_runs: SidechainRuns, fake: FakeModel
) -> None:
    fake.rule = play({"parent": [spawn("child"), WAIT]})
    parent = sidechain_runs.harness.submit("parent")
    await sidechain_runs.work(only="s1")
    [child] = sidechain_runs.children()
    line = [sidechain_runs.run_of(child).run_id]
    line += [sidechain_runs.harness.submit("later", session_id=child) for _ in range(2)]
    tear(sidechain_runs, line[0])
    sidechain_runs.harness.runs.cancel(ALICE, parent)

    await sidechain_runs.work(only="s1")
    await catch_up(sidechain_runs)

    assert status(sidechain_runs, parent) == "cancelled"
    assert [status(sidechain_runs, run_id) for run_id in line] == [
        "failed",
        "cancelled",
        "cancelled",
    ]


async def test_a_question_that_cannot_be_read_does_not_keep_the_others_from_being_clarified(
    sidechain_runs: SidechainRuns, fake: FakeModel
) -> None:
    both = Answer(
        calls=tuple(
            FakeCall(name="spawn_sidechain", arguments={"task": task}) for task in ("one", "two")
        )
    )
    fake.rule = play({"parent": [both], "one": [ask("First?")], "two": [ask("Second?")]})
    sidechain_runs.harness.submit("parent")
    await sidechain_runs.work()
    asking = {sidechain_runs.run_of(child).run_id for child in sidechain_runs.children()}
    tear(sidechain_runs, min(asking))

    await catch_up(sidechain_runs)

    clarifying = [r for r in sidechain_runs.runs_of("s1") if r.kind is RunKind.PARENT_CLARIFICATION]
    assert [run.status for run in clarifying] == [RunStatus.COMPLETED]
    with pytest.raises(DamagedRecord):
        sidechain_runs.harness.stored(min(asking))
