"""How long a run waits for a skill that is carried out beside it."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.model_scripts import play
from tests.support.skill_runs import ANN, LEARNER, OK_MD, SkillRuns, author, make_skill_runs
from understudy.core.principal import Role
from understudy.runs.model import RunStatus
from understudy.runs.submission import Submission
from understudy.settings import Settings
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.runtime_settings import RUNTIME_FILE
from understudy.skills.tools.use import MAX_WAIT_MS, WAIT_MS
from understudy.testing.answers import Answer, call
from understudy.testing.fake_model import FakeModel


class Waiting:
    """Works the queue off one by one, and lets the time go by in between."""

    def __init__(self, skilled: SkillRuns) -> None:
        self.skilled = skilled
        self.harness = skilled.harness

    def submit(self, *lines: Answer) -> str:
        """A run that says these lines, while its fork would answer at once."""
        self.skilled.fake.rule = play({"go": lines, "Carry out": ["all done"]})
        self.skilled.roles["ann"] = Role.OPERATOR
        return self.harness.runs.submit(ANN, LEARNER, Submission(content="go")).run.run_id

    async def next(self) -> str:
        """Execute what comes next in the queue."""
        run_id, _ = self.skilled.queued.pop(0)
        await self.harness.executor.execute(run_id)
        return run_id

    def later(self, ms: int) -> None:
        """Let some time go by, and have everything done that is to be done by then."""
        self.harness.clock.advance(ms)
        replace(self.harness.family, clock=self.harness.clock).catch_up()

    def told(self, run_id: str) -> list[dict[str, Any]]:
        """What its tools answered so far."""
        return [json.loads(result["content"]) for result in self.harness.results(run_id)]


@pytest.fixture
async def waiting(
    database: UnitsOnDatabase, settings: Settings, fake: FakeModel
) -> AsyncIterator[Waiting]:
    skilled = make_skill_runs(database.units, database.queued, settings, fake)
    bundle = Bundle({"SKILL.md": OK_MD.encode(), RUNTIME_FILE: b"context: fork\n"})
    skilled.service.keep(author(ANN), bundle, action="skills.upload")
    yield Waiting(skilled)
    await skilled.harness.providers.close()


def use(**more: object) -> Answer:
    return call("use_skill", {"name": "weekly-report", **more})


@pytest.mark.parametrize("given", [{"wait": False}, {"timeout_ms": 0}])
async def test_who_does_not_wait_is_told_at_once_what_has_begun(
    waiting: Waiting, given: dict[str, object]
) -> None:
    run_id = waiting.submit(use(**given))

    await waiting.next()

    [told] = waiting.told(run_id)
    assert waiting.harness.stored(run_id).status is RunStatus.COMPLETED
    assert (told["action"], told["name"]) == ("fork", "weekly-report")
    spawn = told["spawn"]
    assert (spawn["agent_id"], spawn["status"]) == (LEARNER, "queued")
    assert "final_output" not in spawn
    assert "wait_sidechain" in told["note"]
    assert await waiting.next() == spawn["launch_run_id"]
    assert waiting.harness.stored(spawn["launch_run_id"]).status is RunStatus.COMPLETED
    assert waiting.skilled.uses() == 1


@pytest.mark.parametrize(
    ("given", "waits_ms"),
    [
        ({}, WAIT_MS),
        ({"timeout_ms": 500}, 500),
        ({"wait": None, "timeout_ms": None}, WAIT_MS),
    ],
)
async def test_who_waited_long_enough_is_told_how_it_stands_and_the_fork_goes_on(
    waiting: Waiting, given: dict[str, object], waits_ms: int
) -> None:
    run_id = waiting.submit(use(**given), call("wait_sidechain"))
    await waiting.next()

    waiting.later(waits_ms - 1)
    assert waiting.harness.stored(run_id).asleep
    waiting.later(1)
    assert not waiting.harness.stored(run_id).asleep
    [(child, _), woken] = waiting.skilled.queued
    waiting.skilled.queued[:] = [woken]
    await waiting.next()

    [told] = waiting.told(run_id)
    assert (told["spawn"]["launch_run_id"], told["spawn"]["status"]) == (child, "queued")
    await waiting.harness.executor.execute(child)
    await waiting.next()
    assert waiting.told(run_id)[1]["sidechains"][0]["output"] == "all done"
    assert waiting.skilled.uses() == 1


async def test_a_fork_that_ends_in_time_is_told_with_its_result(waiting: Waiting) -> None:
    run_id = waiting.submit(use(timeout_ms=MAX_WAIT_MS))
    await waiting.next()

    waiting.later(MAX_WAIT_MS - 1)
    await waiting.next()
    await waiting.next()

    assert waiting.told(run_id)[0]["spawn"]["final_output"] == "all done"
    # What was written down for later finds nothing to do any more.
    waiting.later(1)
    assert waiting.skilled.queued == []


async def test_the_time_runs_from_when_the_fork_began_whoever_wakes_the_run(
    waiting: Waiting,
) -> None:
    run_id = waiting.submit(use(timeout_ms=1_000))
    await waiting.next()
    waiting.skilled.queued.clear()
    with waiting.skilled.units.write() as unit:
        # As if the daemon had been killed before it could put the run to sleep.
        run = unit.runs.get(run_id, lock=True)
        assert run is not None
        unit.runs.update(replace(run, asleep=False))

    waiting.harness.clock.advance(1_000)
    await waiting.harness.executor.execute(run_id)

    assert waiting.told(run_id)[0]["spawn"]["status"] == "queued"
    assert waiting.harness.stored(run_id).status is RunStatus.COMPLETED


@pytest.mark.parametrize("given", [{"timeout_ms": -1}, {"timeout_ms": MAX_WAIT_MS + 1}])
async def test_nobody_waits_for_less_than_no_time_or_for_too_long(
    waiting: Waiting, given: dict[str, object]
) -> None:
    run_id = waiting.submit(use(**given))

    await waiting.next()

    [result] = waiting.harness.results(run_id)
    assert "timeout_ms" in result["content"]
    assert waiting.skilled.queued == []
