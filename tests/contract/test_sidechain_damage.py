"""A run that cannot be read keeps no other from ending, wherever it stands in the family."""

import pytest
import sqlalchemy as sa

from tests.support.factories import ALICE
from tests.support.scenes import ask, play
from tests.support.troupe import WAIT, Troupe, spawn
from understudy.core.errors import DamagedRecord
from understudy.runs.model import RunKind, RunStatus
from understudy.testing.answers import FakeCall
from understudy.testing.answers import ModelAnswer as ModelAnswer
from understudy.testing.fake_model import FakeModel


def tear(troupe: Troupe, run_id: str, column: str = "state") -> None:
    """Leave a run's row behind as no version of ours would write it."""
    with troupe.units.engine.begin() as connection:
        statement = sa.text(f"UPDATE runs SET {column} = '{{' WHERE run_id = :run_id")
        connection.execute(statement, {"run_id": run_id})


def status(troupe: Troupe, run_id: str) -> str:
    """Where a run stands, without reading the rest of it."""
    with troupe.units.engine.connect() as connection:
        statement = sa.text("SELECT status FROM runs WHERE run_id = :run_id")
        return str(connection.execute(statement, {"run_id": run_id}).scalar_one())


async def catch_up(troupe: Troupe) -> None:
    """Do what was left to be done, until nothing is."""
    for _ in range(5):
        troupe.shop.family.catch_up()
        await troupe.work()
    assert troupe.signals() == 0


async def test_a_parent_that_cannot_be_read_does_not_keep_its_sidechain_from_ending(
    troupe: Troupe, fake: FakeModel
) -> None:
    fake.rule = play({"parent": [spawn("child"), WAIT]})
    parent = troupe.shop.submit("parent")
    behind = troupe.shop.submit("behind")
    await troupe.work(only="s1")
    tear(troupe, parent)

    await troupe.work()

    assert troupe.run_of(troupe.children()[0]).status is RunStatus.COMPLETED
    await catch_up(troupe)
    # It slept, and nobody would ever have woken it.
    assert status(troupe, parent) == "failed"
    assert troupe.shop.stored(behind).status is RunStatus.COMPLETED


async def test_a_parent_that_cannot_be_read_does_not_keep_its_sidechain_from_asking(
    troupe: Troupe, fake: FakeModel
) -> None:
    fake.rule = play({"parent": [spawn("child"), WAIT], "child": [ask("Shall I?")]})
    parent = troupe.shop.submit("parent")
    await troupe.work(only="s1")
    tear(troupe, parent)

    await troupe.work()

    assert troupe.run_of(troupe.children()[0]).status is RunStatus.WAITING_FOR_USER_QUESTION
    await catch_up(troupe)
    assert status(troupe, parent) == "failed"
    assert troupe.run_of(troupe.children()[0]).status is RunStatus.CANCELLED


@pytest.mark.parametrize("column", ["wanted", "state"])
@pytest.mark.parametrize("has_begun", [True, False])
async def test_a_sidechain_that_cannot_be_read_does_not_keep_its_parent_from_ending(
    troupe: Troupe, fake: FakeModel, column: str, has_begun: bool
) -> None:
    waiting = {"parent": [spawn("child"), WAIT], "child": [spawn("grandchild"), WAIT]}
    fake.rule = play(waiting)
    parent = troupe.shop.submit("parent")
    await troupe.work(only="s1")
    [child] = troupe.children()
    if has_begun:
        await troupe.work(only=child)
    below = troupe.run_of(child).run_id
    tear(troupe, below, column)
    troupe.shop.runs.cancel(ALICE, parent)

    await troupe.work(only="s1")

    assert troupe.shop.stored(parent).status is RunStatus.CANCELLED
    await catch_up(troupe)
    assert status(troupe, below) == "failed"


async def test_a_run_that_cannot_be_read_in_the_line_below_does_not_keep_the_others(
    troupe: Troupe, fake: FakeModel
) -> None:
    fake.rule = play({"parent": [spawn("child"), WAIT]})
    parent = troupe.shop.submit("parent")
    await troupe.work(only="s1")
    [child] = troupe.children()
    line = [troupe.run_of(child).run_id]
    line += [troupe.shop.submit("later", session_id=child) for _ in range(2)]
    tear(troupe, line[0])
    troupe.shop.runs.cancel(ALICE, parent)

    await troupe.work(only="s1")
    await catch_up(troupe)

    assert status(troupe, parent) == "cancelled"
    assert [status(troupe, run_id) for run_id in line] == ["failed", "cancelled", "cancelled"]


async def test_a_question_that_cannot_be_read_does_not_keep_the_others_from_being_clarified(
    troupe: Troupe, fake: FakeModel
) -> None:
    both = ModelAnswer(
        calls=tuple(
            FakeCall(name="spawn_sidechain", arguments={"task": task}) for task in ("one", "two")
        )
    )
    fake.rule = play({"parent": [both], "one": [ask("First?")], "two": [ask("Second?")]})
    troupe.shop.submit("parent")
    await troupe.work()
    asking = {troupe.run_of(child).run_id for child in troupe.children()}
    tear(troupe, min(asking))

    await catch_up(troupe)

    clarifying = [r for r in troupe.runs_of("s1") if r.kind is RunKind.PARENT_CLARIFICATION]
    assert [run.status for run in clarifying] == [RunStatus.COMPLETED]
    with pytest.raises(DamagedRecord):
        troupe.shop.stored(min(asking))
