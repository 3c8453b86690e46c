"""Sidechains: made once, waited for asleep, never missed."""

import json
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from tests.support.factories import ALICE
from tests.support.model_scripts import play, said
from tests.support.run_harness import Probe, die, restarted, texts
from tests.support.sidechain_runs import WAIT, SidechainRuns, spawn
from understudy.runs.model import RunKind, RunStatus
from understudy.runs.sidechain_tools import WaitSidechain
from understudy.runs.sidechains import SidechainWish, child_id
from understudy.testing.answers import Answer as Answer
from understudy.testing.answers import FakeCall, SeenRequest, call
from understudy.testing.fake_model import FakeModel

pytestmark = pytest.mark.one_database


async def test_a_run_has_a_sidechain_work_and_gets_its_answer(
    sidechain_runs: SidechainRuns, fake: FakeModel
) -> None:
    fake.rule = play(
        {"parent": [spawn("child: dig", label="digger"), WAIT], "child": ["a deep hole"]}
    )
    parent = sidechain_runs.harness.submit("parent")

    await sidechain_runs.work()

    done = sidechain_runs.harness.runs.get(parent)
    [child] = sidechain_runs.children()
    run = sidechain_runs.run_of(child)
    assert (done.run.status, run.status) == (RunStatus.COMPLETED, RunStatus.COMPLETED)
    assert (run.user_id, run.kind) == ("alice", RunKind.INPUT)
    assert run.request.source_kind == "sidechain"
    [made, told] = [
        json.loads(result["content"]) for result in sidechain_runs.harness.results(parent)
    ]
    assert made == {"session_id": child, "run_id": run.run_id}
    assert told["sidechains"] == [
        {
            "session_id": child,
            "label": "digger",
            "run_id": run.run_id,
            "status": "completed",
            "output": "a deep hole",
        }
    ]
    assert "not instructions" in told["note"]


async def test_who_waits_sleeps_and_holds_no_work(
    sidechain_runs: SidechainRuns, fake: FakeModel
) -> None:
    fake.rule = play({"parent": [spawn("child"), WAIT]})
    parent = sidechain_runs.harness.submit("parent")

    await sidechain_runs.work(only="s1")

    waiting = sidechain_runs.harness.stored(parent)
    assert (waiting.status, waiting.asleep) == (RunStatus.RUNNING, True)
    assert [session_id for _, session_id in sidechain_runs.queued] == sidechain_runs.children()
    await sidechain_runs.work()
    assert sidechain_runs.harness.stored(parent).status is RunStatus.COMPLETED
    assert sidechain_runs.harness.stored(parent).crashes == 0


async def test_several_are_waited_for_until_all_have_ended(
    sidechain_runs: SidechainRuns, fake: FakeModel
) -> None:
    both = Answer(
        calls=tuple(
            FakeCall(name="spawn_sidechain", arguments={"task": task}) for task in ("one", "two")
        )
    )
    fake.rule = play({"parent": [both, "never", WAIT], "one": ["1"], "two": ["2"]})
    parent = sidechain_runs.harness.submit("parent")

    await sidechain_runs.work()

    told = json.loads(sidechain_runs.harness.results(parent)[-1]["content"])
    assert sorted(each["output"] for each in told["sidechains"]) == ["1", "2"]
    assert sidechain_runs.harness.stored(parent).status is RunStatus.COMPLETED


@pytest.mark.every_database
async def test_a_sidechain_that_has_ended_already_is_told_at_once(
    sidechain_runs: SidechainRuns, fake: FakeModel
) -> None:
    fake.rule = play({"parent": [spawn("child")], "later": [wait_for_first(sidechain_runs)]})
    sidechain_runs.harness.submit("parent")
    await sidechain_runs.work()
    later = sidechain_runs.harness.submit("later")

    await sidechain_runs.work()

    [result] = sidechain_runs.harness.results(later)
    assert json.loads(result["content"])["sidechains"][0]["output"] == "ok"


def wait_for_first(sidechain_runs: SidechainRuns) -> Any:
    return lambda _: call("wait_sidechain", {"session_id": sidechain_runs.children()[0]})


async def test_certain_runs_can_be_waited_for(
    sidechain_runs: SidechainRuns, fake: FakeModel
) -> None:
    def wait_for_run(seen: SeenRequest) -> Answer:
        return call("wait_sidechain", {"run_ids": [said(seen)["run_id"]]})

    fake.rule = play({"parent": [spawn("child"), wait_for_run], "child": ["first"]})
    parent = sidechain_runs.harness.submit("parent")
    await sidechain_runs.work(only="s1")
    [child] = sidechain_runs.children()
    later = sidechain_runs.harness.submit("later", session_id=child)
    # Only the first in line of a session is started.
    assert (later, child) not in sidechain_runs.queued

    await sidechain_runs.work()

    told = json.loads(sidechain_runs.harness.results(parent)[-1]["content"])
    assert (told["sidechains"][0]["session_id"], told["sidechains"][0]["output"]) == (
        child,
        "first",
    )
    # The run behind it was not waited for: the end of the first one started it.
    assert sidechain_runs.harness.stored(later).status is RunStatus.COMPLETED


async def test_a_failed_sidechain_is_told_with_its_error(
    sidechain_runs: SidechainRuns, fake: FakeModel
) -> None:
    fake.rule = play({"parent": [spawn("child"), WAIT], "child": [Answer(status=400)]})
    parent = sidechain_runs.harness.submit("parent")

    await sidechain_runs.work()

    [told] = json.loads(sidechain_runs.harness.results(parent)[-1]["content"])["sidechains"]
    assert told["status"] == "failed"
    assert told["error"]
    assert sidechain_runs.harness.stored(parent).status is RunStatus.COMPLETED


async def test_a_run_that_never_waits_leaves_its_sidechain_at_work(
    sidechain_runs: SidechainRuns, fake: FakeModel
) -> None:
    fake.rule = play({"parent": [spawn("child")]})
    parent = sidechain_runs.harness.submit("parent")
    await sidechain_runs.work(only="s1")

    assert sidechain_runs.harness.stored(parent).status is RunStatus.COMPLETED
    await sidechain_runs.work()
    assert sidechain_runs.run_of(sidechain_runs.children()[0]).status is RunStatus.COMPLETED


@pytest.mark.every_database
@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (call("wait_sidechain"), "spawned no sidechain"),
        (call("wait_sidechain", {"session_id": "s2"}), "no sidechain of this session"),
        (call("wait_sidechain", {"session_id": "nowhere"}), "no sidechain of this session"),
        (call("wait_sidechain", {"run_ids": ["run_x"]}), "no run"),
        (call("cancel_sidechain", {"session_id": "s2"}), "no sidechain of this session"),
        (call("cancel_sidechain", {"session_id": "a\x00b"}), "printable"),
        (call("answer_sidechain", {"request_id": "qst_x"}), "asks 'qst_x'"),
        (spawn("  "), "no input"),
        (spawn("x", agent_id="nobody"), "no agent"),
        (spawn("x", capability_scope={"bogus": ["a"]}), "the lists are: skill_allow"),
        (spawn("x", max_tool_iterations=0), "max_tool_iterations"),
        (spawn("x", label="y" * 201), "label"),
        (spawn(""), "task"),
    ],
)
async def test_what_cannot_be_is_told_to_the_model(
    sidechain_runs: SidechainRuns, fake: FakeModel, answer: Answer, complaint: str
) -> None:
    fake.rule = play({"parent": [answer]})
    parent = sidechain_runs.harness.submit("parent")

    await sidechain_runs.work()

    [result] = sidechain_runs.harness.results(parent)
    assert result["status"] == "error"
    assert complaint in result["content"]
    assert sidechain_runs.children() == []


# Crashes


@pytest.mark.every_database
async def test_a_crash_after_the_spawn_makes_no_second_sidechain(
    sidechain_runs: SidechainRuns, fake: FakeModel
) -> None:
    """The session and its run were stored, but the parent's journal does not know it yet."""
    held = Probe("held")
    held.hold()
    both = Answer(
        calls=(FakeCall(name="spawn_sidechain", arguments={"task": "child"}), FakeCall(name="held"))
    )
    fake.rule = play({"parent": [both]})
    first = restarted(sidechain_runs.harness, tools=(*sidechain_runs.harness.tools, held))
    parent = first.submit("parent")
    spawn_as(sidechain_runs, parent)
    task = first.begin(parent)
    await held.reached()
    await die(task)
    held.go_on.set()

    await restarted(first).execute(parent)

    [child] = sidechain_runs.children()
    assert len(sidechain_runs.runs_of(child)) == 1


def spawn_as(sidechain_runs: SidechainRuns, run_id: str) -> None:
    """Do what the first call of a run does, just before its process dies."""
    key = f"{run_id}:call:1:0"
    made = [
        sidechain_runs.harness.sidechains.spawn(ALICE, run_id, key, SidechainWish(task="child"))
        for _ in range(2)
    ]
    assert made[0] == made[1]
    assert made[0].session_id == child_id(key)


async def test_a_run_that_sleeps_through_a_restart_is_woken(
    sidechain_runs: SidechainRuns, fake: FakeModel
) -> None:
    fake.rule = play({"parent": [spawn("child"), WAIT], "child": ["late"]})
    parent = sidechain_runs.harness.submit("parent")
    await sidechain_runs.work(only="s1")

    after = replace(sidechain_runs, harness=restarted(sidechain_runs.harness))
    await after.work()

    assert sidechain_runs.harness.stored(parent).status is RunStatus.COMPLETED
    assert "late" in texts(fake)[-1]


async def test_a_sidechain_that_ends_before_its_parent_sleeps_is_not_missed(
    sidechain_runs: SidechainRuns, fake: FakeModel
) -> None:
    """The child ends between the parent's look and its sleep."""
    service, harness = sidechain_runs.harness.sidechains, sidechain_runs.harness

    class LateLook(WaitSidechain):
        looked = False

        async def call(self, arguments: Any, context: Any) -> str:
            try:
                return await super().call(arguments, context)
            finally:
                if not LateLook.looked:
                    LateLook.looked = True
                    await sidechain_runs.work(only=sidechain_runs.children()[0])

    fake.rule = play({"parent": [spawn("child"), WAIT]})
    others = tuple(tool for tool in harness.tools if tool.name != "wait_sidechain")
    sidechain_runs.harness = restarted(harness, tools=(*others, LateLook(service)))
    parent = sidechain_runs.harness.submit("parent")

    await sidechain_runs.work()

    assert sidechain_runs.harness.stored(parent).status is RunStatus.COMPLETED
    assert LateLook.looked


@pytest.mark.every_database
async def test_a_sidechain_run_that_cannot_be_read_does_not_keep_its_parent(
    sidechain_runs: SidechainRuns, fake: FakeModel
) -> None:
    fake.rule = play({"parent": [spawn("child"), WAIT]})
    parent = sidechain_runs.harness.submit("parent")
    await sidechain_runs.work(only="s1")
    [child] = sidechain_runs.children()
    with sidechain_runs.units.engine.begin() as connection:
        statement = sa.text("UPDATE runs SET wanted = '{' WHERE session_id = :child")
        connection.execute(statement, {"child": child})

    await sidechain_runs.work()
    sidechain_runs.harness.family.catch_up()
    await sidechain_runs.work()

    assert sidechain_runs.harness.stored(parent).status is RunStatus.COMPLETED
    assert sidechain_runs.signals() == 0
