"""Background calls are under the rules of foreground calls: skills in use, playbooks, destructive commands."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.contract.test_active_skills import Desk
from tests.contract.test_playbooks_and_flows import Stage
from tests.contract.test_playbooks_and_flows import stage as stage
from tests.support.background_harness import BackgroundHarness, background
from tests.support.run_harness import RunHarness, restarted
from tests.support.skill_runs import LEARNER, make_skill_runs
from understudy.agent.offers import CatalogueSkills
from understudy.background_tasks.model import BackgroundTask
from understudy.core.page import PageRequest
from understudy.settings import Settings
from understudy.storage.unit import Units
from understudy.testing.answers import call
from understudy.testing.fake_model import FakeModel

pytestmark = [pytest.mark.anyio, pytest.mark.one_database]

SLEEP = {"command": "sleep 60", "background": True}
ALLOWED = {"rules": [{"tool": "*", "decision": "allow"}]}


@pytest.fixture
async def tasks(units: Units, settings: Settings) -> AsyncIterator[BackgroundHarness]:
    async with background(units, settings.workspace) as harness:
        yield harness


def with_background(harness: RunHarness, tasks: BackgroundHarness) -> RunHarness:
    """The harness with the tools of background tasks, each allowed without a question."""
    more = (tasks.shell, tasks.output_tool, tasks.stop_tool)
    with harness.units.write() as unit:
        for session_id in ("s1", LEARNER):
            session = unit.sessions.get(session_id)
            if session is not None:
                allowed = replace(session, permissions=ALLOWED, version=session.version + 1)
                unit.sessions.update(allowed, expected_version=session.version)
    return restarted(harness, tools=(*harness.tools, *more))


@pytest.fixture
async def desk(
    database: UnitsOnDatabase, settings: Settings, fake: FakeModel, tasks: BackgroundHarness
) -> AsyncIterator[Desk]:
    skilled = make_skill_runs(database.units, database.queued, settings, fake)
    with_tools = with_background(skilled.harness, tasks)
    skilled.harness = replace(with_tools, skills=CatalogueSkills(skilled.catalogue))
    yield Desk(skilled)
    await skilled.harness.providers.close()


def running(tasks: BackgroundHarness) -> Sequence[BackgroundTask]:
    return tasks.service.page(PageRequest()).items


async def test_a_skill_in_use_holds_background_calls_to_its_tools(
    desk: Desk, tasks: BackgroundHarness
) -> None:
    await desk.skilled.run(call("shell", SLEEP))
    [task] = running(tasks)
    desk.keep(runtime="allowed_tools: [list_files]\n")
    desk.activate()
    named: dict[str, Any] = {"task_id": task.task_id}

    told = await desk.skilled.told(
        call("shell", {"command": "true"}),
        call("shell", SLEEP),
        call("task_output", named),
        call("task_stop", named),
    )

    reason = "denied: the skill weekly-report, which this run follows, uses only list_files"
    assert told == [reason] * 4
    assert [(each.task_id, each.has_ended) for each in running(tasks)] == [(task.task_id, False)]


async def test_a_skill_that_blocks_the_shell_blocks_it_in_the_background(
    desk: Desk, tasks: BackgroundHarness
) -> None:
    desk.keep(runtime="blocked_tools: [shell, task_*]\n")
    desk.activate()

    told = await desk.skilled.told(call("shell", SLEEP), call("task_output", {"task_id": "bgt_x"}))

    assert told == ["denied: the skill weekly-report, which this run follows, blocks it"] * 2
    assert running(tasks) == ()


@pytest.mark.parametrize(
    "policy",
    [{"deny": ["shell", "task_output", "task_stop"]}, {"allow": ["list_files"]}],
    ids=["denied", "not among the allowed"],
)
async def test_a_playbook_holds_background_calls_to_its_policy(
    stage: Stage, fake: FakeModel, tasks: BackgroundHarness, policy: dict[str, list[str]]
) -> None:
    harness = with_background(stage.runs.harness, tasks)
    stage.runs.harness = harness
    starter = replace(stage.starter, intake=harness.intake, tool_names=harness.registry.names)
    stage.playbooks = replace(stage.playbooks, tool_names=harness.registry.names)
    stage.starter = starter
    ref = stage.publish(phases=[], tools={"enforce": True, **policy})
    named = {"task_id": "bgt_x"}
    fake.queue(
        call("shell", {"command": "true"}),
        call("shell", SLEEP),
        call("task_output", named),
        call("task_stop", named),
        "done",
    )
    [run_id] = (await stage.play(ref)).reading.primitive_refs.run_ids

    told = [str(result["content"]) for result in harness.results(run_id)]
    assert len(told) == 4
    assert all("the playbook release does not use it" in each for each in told)
    assert running(tasks) == ()


async def test_a_destructive_command_is_refused_in_the_background_as_well(
    desk: Desk, tasks: BackgroundHarness
) -> None:
    told = await desk.skilled.told(
        call("shell", {"command": "rm -rf /"}),
        call("shell", {"command": "rm -rf /", "background": True}),
    )

    assert told[0] == told[1]
    assert told[0].startswith("denied")
    assert running(tasks) == ()
