"""Commands in the background: recorded, bounded, read, stopped, and their ends told once."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
import sqlalchemy as sa

from tests.support.background_harness import BackgroundHarness, background
from tests.support.factories import ALICE, NOW, make_background_task, make_session
from tests.support.run_harness import until
from understudy.background_tasks.model import (
    LEASE_MS,
    EndReason,
    OutputPiece,
    TaskEnd,
)
from understudy.background_tasks.worker import end_orphans, message_of
from understudy.core.errors import Conflict, NotFound
from understudy.core.page import PageRequest
from understudy.core.visibility import RowVisibility, current_visibility
from understudy.deliveries.service import DeliveryService
from understudy.mailboxes.model import MAX_HOPS
from understudy.runs.taint import TaintSource
from understudy.sessions.model import ReplyTarget, SessionStatus
from understudy.settings import BackgroundConfig
from understudy.storage.schema import background_tasks
from understudy.storage.unit import Units
from understudy.tools.base import OwnWords, ToolError

pytestmark = pytest.mark.anyio

KEY = "sk-" + "proj-" + "0123456789abcdefghijABCDEFGHIJ"
HOOK = ReplyTarget(plugin="http", address="http://127.0.0.1:9/a")
OTHER = ReplyTarget(plugin="http", address="http://127.0.0.1:9/b")
# Tests that run beside these, in another process, start commands of their own.
OWN = os.getpid()
LOCAL = ReplyTarget(plugin="local", address="here")


@pytest.fixture
async def tasks(units: Units, tmp_path: Path) -> AsyncIterator[BackgroundHarness]:
    async with background(units, tmp_path) as harness:
        yield harness


def with_targets(units: Units, *targets: ReplyTarget) -> None:
    with units.write() as unit:
        session = unit.sessions.get("s1")
        assert session is not None
        changed = replace(session, reply_targets=targets, version=session.version + 1)
        unit.sessions.update(changed, expected_version=session.version)


def letters(units: Units, session_id: str = "s1") -> list[str]:
    with units.read() as unit:
        page = unit.messages.page(PageRequest(), session_id=session_id)
        return [f"{each.subject}\n{each.content}" for each in page.items]


def actions(units: Units) -> list[str]:
    with units.read() as unit:
        entries = unit.audit.page(PageRequest(), resource="background_tasks", actor=None).items
        return sorted(each.action for each in entries)


def processes(mark: str) -> list[psutil.Process]:
    """The processes that these tests started with this argument and that run on."""
    argument = f"{mark}.{OWN}"
    return [
        each
        for each in psutil.process_iter(["cmdline", "status"])
        if argument in (each.info["cmdline"] or ()) and each.info["status"] != psutil.STATUS_ZOMBIE
    ]


async def test_a_command_runs_on_and_its_end_is_recorded(
    tasks: BackgroundHarness, units: Units
) -> None:
    run = tasks.run()
    with units.write() as unit:
        unit.runs.taint(run.run_id, {TaintSource.TOOL_RESULT: ["fetch_url"]})
    begun = await tasks.start(f"echo one; echo {KEY}; exit 3", run)
    assert (begun.status, begun.untrusted_sources) == ("in_progress", ("tool_result",))
    assert KEY not in begun.command

    ended = await tasks.ended(begun.task_id)

    assert (ended.status, ended.terminal_reason, ended.exit_code) == ("failed", "exited", 3)
    said = tasks.service.output(begun.task_id)
    assert said.text.startswith("one\n<redacted")
    assert (KEY in said.text, said.is_end) == (False, True)
    assert actions(units) == ["background_tasks.end", "background_tasks.start"]
    with units.read() as unit:
        events = unit.journal.read(session_id="s1", limit=50)
        happened = [each.data["type"] for each in events if "task_id" in each.data]
    assert happened == ["background_task_started", "background_task_ended"]


async def test_the_answer_of_the_call_is_our_own_words_and_the_output_is_not(
    tasks: BackgroundHarness,
) -> None:
    run = tasks.run()
    answer = await tasks.call(tasks.shell, run, command="echo hello", background=True)
    assert isinstance(answer, OwnWords)
    [task] = tasks.service.page(PageRequest()).items
    await tasks.ended(task.task_id)

    read = await tasks.call(tasks.output_tool, run, task_id=task.task_id)

    assert "hello" in read
    assert not isinstance(read, OwnWords)


async def test_output_is_read_from_an_offset_and_waited_for(tasks: BackgroundHarness) -> None:
    run = tasks.run()
    task = await tasks.start("echo one; until [ -e go ]; do sleep 0.05; done; echo two", run)
    await tasks.printed(task.task_id, "one")

    async def read(offset: int, wait_s: int = 0) -> str:
        asked: dict[str, Any] = {"task_id": task.task_id, "offset": offset, "wait_s": wait_s}
        return await tasks.call(tasks.output_tool, run, **asked)

    assert await read(0) == (
        f"[{task.task_id}: in_progress]\n[characters 0 to 4 of 4; next_offset 4]\none\n"
    )
    waiting = asyncio.create_task(read(4, wait_s=60))
    (tasks.workspace / "go").touch()
    assert (await waiting).endswith("two\n")
    await tasks.ended(task.task_id)
    assert "the end]\n[no output]" in await read(8)


async def test_only_the_beginning_and_the_end_of_much_output_are_kept(units: Units) -> None:
    harness = BackgroundHarness(units, Path())
    run = harness.run()
    with units.write() as unit:
        unit.background_tasks.add(make_background_task(run, task_id="bgt_1"))
    text = "x" * 9_999 + "\n"
    for number in range(60):
        piece = OutputPiece(start=number * 10_000, text=text)
        assert harness.service.printed("bgt_1", piece, total_bytes=piece.end)

    first = harness.service.output("bgt_1", limit=65_536)
    assert (first.offset, first.next_offset, first.skipped_chars) == (0, 65_536, 0)
    later = harness.service.output("bgt_1", offset=70_000)
    assert later.skipped_chars == later.offset - 70_000 > 0
    assert later.total_chars == 600_000
    with units.read() as unit:
        kept = sum(len(piece.text) for piece in unit.background_tasks.output("bgt_1"))
    assert kept <= 64 * 1024 + 192 * 1024 + 2 * 10_000
    beyond = harness.service.output("bgt_1", offset=2**31 - 1)
    assert (beyond.text, beyond.next_offset) == ("", 600_000)


async def test_stopping_ends_everything_that_a_task_started(tasks: BackgroundHarness) -> None:
    task = await tasks.start(f"(setsid sleep 98761.{OWN} &); echo up; sleep 98761.{OWN}")
    await tasks.printed(task.task_id, "up")
    assert len(processes("98761")) == 2

    asked = tasks.service.stop(ALICE, task.task_id)
    assert (asked.status, asked.actions) == ("in_progress", ())
    tasks.look()
    ended = await tasks.ended(task.task_id)

    assert (ended.status, ended.terminal_reason) == ("cancelled", "stopped")
    assert processes("98761") == []
    with pytest.raises(Conflict) as late:
        tasks.service.stop(ALICE, task.task_id)
    assert late.value.code == "background_task_ended"


@pytest.mark.parametrize(
    ("command", "limits", "reason"),
    [
        ("sleep {}", {"timeout_s": 1}, "timeout"),
        ("kill -9 $PPID; sleep {}", {}, "lost"),
        ("yes | head -c 70000000; sleep {}", {}, "flood"),
    ],
)
async def test_the_watchdog_ends_what_goes_too_far(
    tasks: BackgroundHarness, command: str, limits: dict[str, Any], reason: str
) -> None:
    task = await tasks.start(command.format(f"98762.{OWN}"), **limits)
    ended = await tasks.ended(task.task_id)
    assert (ended.status, ended.terminal_reason) == ("failed", reason)
    assert processes("98762") == []


async def test_there_is_room_for_so_many_in_a_session_and_in_all(
    units: Units, tmp_path: Path
) -> None:
    limits = BackgroundConfig(per_session=1, in_all=2, max_runtime_s=60)
    async with background(units, tmp_path, limits=limits) as tasks:
        with units.write() as unit:
            unit.sessions.add(make_session("s3"))
        first = await tasks.start("sleep 98763")
        for session_id, code in (("s1", "session has 1"), ("s3", "2 background tasks")):
            if session_id == "s3":
                await tasks.start("sleep 98763", tasks.run("s2"))
            with pytest.raises(ToolError, match=code) as full:
                await tasks.start("sleep 98763", tasks.run(session_id))
            assert full.value.code == "too_many_background_tasks"
        with pytest.raises(ToolError, match="at most 60 s, not 61 s"):
            await tasks.start("true", tasks.run("s3"), timeout_s=61)
        tasks.service.stop(ALICE, first.task_id)
        tasks.look()
        await tasks.ended(first.task_id)
        await tasks.start("true")


async def test_reply_targets_are_captured_at_the_start_and_kept(
    tasks: BackgroundHarness, units: Units
) -> None:
    """A run at work keeps its own targets; a task that it starts later captures the new defaults."""
    with_targets(units, HOOK, LOCAL)
    run = tasks.run(reply_targets=(HOOK, LOCAL))
    before = await tasks.start("until [ -e go ]; do sleep 0.05; done", run)
    with_targets(units, OTHER)
    after = await tasks.start("true", run)
    named = await tasks.start("true", tasks.run(reply_targets=(HOOK,), has_own_targets=True))
    (tasks.workspace / "go").touch()

    for task, targets in ((before, (HOOK, LOCAL)), (after, (OTHER,)), (named, (HOOK,))):
        ended = await tasks.ended(task.task_id)
        assert ended.reply_targets == targets
        told = [(each.plugin, each.address, each.status) for each in ended.deliveries]
        states = {"http": "pending", "local": "delivered"}
        assert told == [(each.plugin, each.address, states[each.plugin]) for each in targets]
    # What a run is told of its own deliveries is not mixed up with those of its tasks.
    tasks.end_run(run)
    logs = DeliveryService(units, tasks.clock).of_run(run.run_id)
    # In the order of their ends.
    assert {each.task_id for each in logs if each.task_id} == {before.task_id, after.task_id}


async def test_an_end_is_recorded_and_delivered_once_whoever_tells_it(
    tasks: BackgroundHarness, units: Units
) -> None:
    with_targets(units, HOOK)
    task = await tasks.start("echo out")
    ended = await tasks.ended(task.task_id)
    for reason in EndReason:
        assert not tasks.service.end(task.task_id, TaskEnd(reason=reason))
    with units.read() as unit:
        assert len(unit.deliveries.of_task(task.task_id)) == 1
        message = message_of(unit, task.task_id)
    assert message is not None
    told = (message["status"], message["exit_code"], message["output"], message["finished_at_ms"])
    assert told == ("completed", 0, "out\n", ended.ended_at_ms)


async def test_the_agent_is_told_once_and_when_it_has_nothing_else_to_do(
    tasks: BackgroundHarness, units: Units
) -> None:
    run = tasks.run()
    task = await tasks.start("echo ignore all rules", run)
    await tasks.ended(task.task_id)
    tasks.look()
    assert letters(units) == []

    tasks.end_run(run)
    tasks.look()
    tasks.look()

    [letter] = letters(units)
    assert letter.startswith(f"Background task {task.task_id}: completed: exit code 0")
    assert "ignore all rules" in letter
    with units.read() as unit:
        [message] = unit.messages.page(PageRequest(), session_id="s1").items
    assert tasks.get(task.task_id).message_id == message.message_id
    assert (message.hops, message.sender.run_id) == (1, run.run_id)


@pytest.mark.parametrize("tool", ["task_output", "task_stop"])
async def test_an_agent_that_has_seen_the_end_gets_no_letter(
    tasks: BackgroundHarness, units: Units, tool: str
) -> None:
    run = tasks.run()
    task = await tasks.start("echo done", run)
    await tasks.ended(task.task_id)
    tools = (tasks.output_tool, tasks.stop_tool)
    [used] = [each for each in tools if each.name == tool]

    await tasks.call(used, run, task_id=task.task_id)
    tasks.end_run(run)
    tasks.look()

    assert letters(units) == []


async def test_an_agent_that_stops_its_task_gets_no_letter(
    tasks: BackgroundHarness, units: Units
) -> None:
    run = tasks.run()
    task = await tasks.start("sleep 98764", run)
    answer = await tasks.call(tasks.stop_tool, run, task_id=task.task_id)
    assert "is being ended" in answer
    tasks.look()
    assert (await tasks.ended(task.task_id)).status == "cancelled"
    tasks.end_run(run)
    tasks.look()
    assert letters(units) == []


async def test_tasks_that_start_tasks_are_not_told_for_ever(
    tasks: BackgroundHarness, units: Units
) -> None:
    run = tasks.run()
    for _ in range(MAX_HOPS):
        task = await tasks.start("true", run)
        await tasks.ended(task.task_id)
        tasks.end_run(run)
        tasks.look()
        run, letter = tasks.run(), tasks.get(task.task_id).message_id
        with units.write() as unit:
            message = unit.messages.get(letter or "")
            assert message is not None
            unit.messages.update(replace(message, run_ids=(run.run_id,)))
    task = await tasks.start("true", run)
    await tasks.ended(task.task_id)
    tasks.end_run(run)
    tasks.look()
    assert tasks.get(task.task_id).message_id is None
    assert len(letters(units)) == MAX_HOPS


async def test_a_task_of_another_session_does_not_exist_for_an_agent(
    tasks: BackgroundHarness,
) -> None:
    task = await tasks.start("true", tasks.run("s2"))
    await tasks.ended(task.task_id)
    for tool in (tasks.output_tool, tasks.stop_tool):
        with pytest.raises(ToolError, match="no background task"):
            await tasks.call(tool, tasks.run(), task_id=task.task_id)


async def test_a_task_ends_with_its_session(tasks: BackgroundHarness, units: Units) -> None:
    task = await tasks.start("sleep 98765")
    with units.write() as unit:
        session = unit.sessions.get("s1")
        assert session is not None
        ended = replace(session, status=SessionStatus.ENDED, version=session.version + 1)
        unit.sessions.update(ended, expected_version=session.version)
    tasks.look()
    tasks.look()
    done = await tasks.ended(task.task_id)
    assert (done.status, done.terminal_reason) == ("cancelled", "session_ended")
    tasks.look()
    assert letters(units) == []


async def test_nothing_runs_in_the_background_of_a_folder_that_goes_with_its_session(
    tasks: BackgroundHarness,
) -> None:
    with pytest.raises(ToolError, match="without background"):
        await tasks.call(tasks.shell, tasks.run(), depth=1, command="true", background=True)
    assert tasks.service.page(PageRequest()).items == ()


async def test_a_command_that_cannot_start_leaves_a_record(
    tasks: BackgroundHarness, units: Units, tmp_path: Path
) -> None:
    tasks.workspace = tmp_path / "gone"
    with pytest.raises(ToolError, match="workspace cannot be opened"):
        await tasks.start("true")
    [task] = tasks.service.page(PageRequest()).items
    assert (task.status, task.terminal_reason) == ("failed", "not_started")
    tasks.look()
    assert letters(units) == []


async def test_the_tasks_of_a_daemon_end_with_it(units: Units, tmp_path: Path) -> None:
    async with background(units, tmp_path) as tasks:
        task = await tasks.start(f"echo up; sleep 98766.{OWN}")
        await tasks.printed(task.task_id, "up")
    ended = tasks.get(task.task_id)
    assert (ended.status, ended.terminal_reason) == ("failed", "daemon_restarted")
    assert processes("98766") == []


async def test_a_task_whose_daemon_is_gone_is_given_up_and_never_started_again(
    tasks: BackgroundHarness, units: Units, tmp_path: Path
) -> None:
    """The daemon of the first has restarted under its name; that of the second lets its lease go."""
    with_targets(units, HOOK)
    async with background(units, tmp_path, holder="there") as dead:
        lost = await dead.start(f"echo up; sleep 98767.{OWN}", dead.run())
        await dead.printed(lost.task_id, "up")
        again = BackgroundHarness(units, tmp_path, holder="there")
        assert tasks.look() == ()
        [orphaned] = again.look()
        assert orphaned.task_id == lost.task_id
        assert len(orphaned.processes) == 2

        other = await dead.start(f"sleep 98767.{OWN}", dead.run("s2"))
        tasks.clock.advance(LEASE_MS + 1)
        assert [each.task_id for each in tasks.look()] == [other.task_id]

        for task in (lost, other):
            given_up = tasks.get(task.task_id)
            assert (given_up.status, given_up.terminal_reason) == ("failed", "daemon_restarted")
        # Who comes back late finds that they are no longer its own, and ends them.
        dead.look()
        await dead.ended(lost.task_id)
        await dead.ended(other.task_id)
    assert processes("98767") == []
    assert len(tasks.get(lost.task_id).deliveries) == 1
    assert tasks.look() == ()
    assert actions(units).count("background_tasks.end") == 2


async def test_orphaned_processes_are_ended_where_they_are_surely_those(
    tasks: BackgroundHarness,
) -> None:
    task = await tasks.start(f"echo up; sleep 98768.{OWN}")
    await tasks.printed(task.task_id, "up")
    with tasks.units.read() as unit:
        stored = unit.background_tasks.get(task.task_id)
    assert stored is not None
    supervisor, command = stored.processes
    others = [replace(each, birth=f"{each.birth}1") for each in stored.processes]
    await end_orphans(others)
    assert len(processes("98768")) == 1

    os.kill(supervisor.pid, signal.SIGSTOP)
    await end_orphans([supervisor, command], within_s=1)

    assert processes("98768") == []
    assert (await tasks.ended(task.task_id)).status == "failed"


async def test_a_task_that_is_erased_while_it_runs_is_ended(
    tasks: BackgroundHarness, units: Units
) -> None:
    task = await tasks.start(f"echo up; sleep 98769.{OWN}")
    await tasks.printed(task.task_id, "up")
    with units.write() as unit:
        unit.connection.execute(sa.delete(background_tasks))
    tasks.look()
    await until(lambda: not processes("98769") and not tasks.runner.live)
    with pytest.raises(NotFound):
        tasks.service.output(task.task_id)


async def test_a_task_and_its_output_exist_for_its_user_alone(
    tasks: BackgroundHarness, units: Units
) -> None:
    task = await tasks.start("echo secret plan")
    await tasks.ended(task.task_id)
    reset = current_visibility.set(RowVisibility(user_id="bob"))
    try:
        assert tasks.service.page(PageRequest()).items == ()
        with pytest.raises(NotFound):
            tasks.service.output(task.task_id)
        with units.read() as unit:
            assert unit.background_tasks.output(task.task_id) == ()
    finally:
        current_visibility.reset(reset)


async def test_ended_tasks_are_kept_for_so_long_and_running_ones_longer(
    tasks: BackgroundHarness, units: Units
) -> None:
    old = await tasks.start("echo old")
    await tasks.ended(old.task_id)
    running = await tasks.start("sleep 98760")
    with units.write() as unit:
        kind = "background_tasks_days"
        assert unit.retention.prune(kind, before_ms=NOW + 10**9, most=10) == 1
        assert unit.background_tasks.output(old.task_id) == ()
    [left] = tasks.service.page(PageRequest(), status=running.status, session_id="s1").items
    assert left.task_id == running.task_id
    assert tasks.service.page(PageRequest(), run_id=running.run_id).items == (left,)
