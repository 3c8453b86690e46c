"""Tasks are kept whole, numbered, guarded by their dependencies, and made once per tool call."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import ALICE, ODD_TEXTS, make_task
from understudy.core.errors import Conflict, Invalid, InvalidTransition, NotFound, StaleVersion
from understudy.core.page import PageRequest
from understudy.sessions.service import SessionService
from understudy.sessions.task_service import NewTask, TaskChange, TaskService
from understudy.sessions.task_tools import Tasks, TasksParameters
from understudy.sessions.tasks import MAX_TASKS, TaskStatus
from understudy.storage.unit import Units
from understudy.testing.clock import FrozenClock
from understudy.tools.base import ToolContext, ToolError
from understudy.tools.registry import ToolRegistry


@pytest.fixture
def tasks(units: Units) -> TaskService:
    return TaskService(units, FrozenClock())


def add(tasks: TaskService, title: str = "dig", *after: str, **fields: Any) -> str:
    detail = tasks.create(ALICE, "s1", NewTask(title=title, depends_on=after, **fields))
    return detail.task_id


def become(tasks: TaskService, reference: str, status: str) -> None:
    tasks.update(ALICE, "s1", reference, TaskChange(status=TaskStatus(status)))


# The store


def test_a_task_comes_back_as_it_was_stored(units: Units) -> None:
    full = make_task(
        2,
        description="deep",
        status=TaskStatus.BLOCKED,
        depends_on=("tsk_1",),
        run_id="run_1",
        call_digest="d",
        version=3,
    )
    with units.write() as unit:
        for task in (full, make_task(1), make_task(1, session_id="s2", task_id="tsk_other")):
            unit.tasks.add(task)

        assert unit.tasks.all("s1") == (make_task(1), full)
        assert unit.tasks.of_call("d") == full
        assert unit.tasks.of_call("e") is None
        assert unit.tasks.count("s1") == 2


@pytest.mark.parametrize("odd", ODD_TEXTS.values(), ids=ODD_TEXTS.keys())
def test_odd_characters_survive(units: Units, odd: str) -> None:
    task = make_task(title=odd, description=odd, created_by=odd)
    with units.write() as unit:
        unit.tasks.add(task)

        assert unit.tasks.all("s1") == (task,)


def test_a_task_changed_meanwhile_is_not_overwritten(units: Units) -> None:
    with units.write() as unit:
        unit.tasks.add(make_task())
    with pytest.raises(StaleVersion), units.write() as unit:
        unit.tasks.update(make_task(title="other", version=9), expected_version=8)


def test_a_damaged_task_costs_itself_and_what_waits_for_it(
    database: UnitsOnDatabase, tasks: TaskService
) -> None:
    broken = add(tasks, "broken")
    add(tasks, "waits", "1")
    with database.engine.begin() as connection:
        connection.execute(
            sa.text("UPDATE tasks SET body = '{' WHERE task_id = :id"), {"id": broken}
        )

    assert [detail.title for detail in tasks.list("s1")] == ["waits"]
    with pytest.raises(Conflict, match=broken):
        become(tasks, "2", "in_progress")
    assert tasks.create(ALICE, "s1", NewTask(title="next")).number == 3


# The rules


def test_tasks_are_numbered_within_their_session(tasks: TaskService) -> None:
    for title in ("one", "two"):
        add(tasks, title)
    other = tasks.create(ALICE, "s2", NewTask(title="elsewhere"))

    assert [detail.number for detail in tasks.list("s1")] == [1, 2]
    assert other.number == 1
    with pytest.raises(NotFound):
        tasks.get("s1", other.task_id)


def test_many_who_add_at_once_each_get_a_number_of_their_own(tasks: TaskService) -> None:
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda n: add(tasks, f"task {n}"), range(12)))

    assert [detail.number for detail in tasks.list("s1")] == list(range(1, 13))


def test_a_task_begins_when_what_it_depends_on_is_completed(tasks: TaskService) -> None:
    add(tasks, "dig")
    add(tasks, "plant", "1")
    add(tasks, "water", "1", "2")

    for status in ("in_progress", "completed"):
        with pytest.raises(Conflict, match=r"task 3 waits for task 1 \(pending\), task 2") as no:
            become(tasks, "3", status)
        assert no.value.code == "dependencies_unfinished"
    become(tasks, "3", "blocked")
    for number in ("1", "2"):
        become(tasks, number, "in_progress")
        become(tasks, number, "completed")
    become(tasks, "3", "in_progress")

    assert tasks.get("s1", "3").waits_for == ()
    with pytest.raises(InvalidTransition):
        become(tasks, "1", "pending")


def test_a_failed_dependency_can_be_tried_again_or_taken_away(tasks: TaskService) -> None:
    add(tasks, "dig")
    add(tasks, "plant", "1")
    become(tasks, "1", "failed")
    with pytest.raises(Conflict, match="failed"):
        become(tasks, "2", "in_progress")

    tasks.update(ALICE, "s1", "2", TaskChange(depends_on=()))
    become(tasks, "2", "in_progress")
    become(tasks, "1", "in_progress")

    with pytest.raises(Conflict):
        tasks.update(ALICE, "s1", "2", TaskChange(depends_on=("1",)))


def test_dependencies_stay_in_the_session_and_in_no_ring(tasks: TaskService) -> None:
    first = add(tasks, "a")
    add(tasks, "b", first)
    add(tasks, "c", "2")
    elsewhere = tasks.create(ALICE, "s2", NewTask(title="x")).task_id

    for wish, code in (
        (("3",), "dependency_cycle"),
        (("1",), "dependency_cycle"),
        ((elsewhere,), "unknown_dependency"),
        (("4",), "unknown_dependency"),
    ):
        with pytest.raises(Invalid) as refused:
            tasks.update(ALICE, "s1", first, TaskChange(depends_on=wish))
        assert refused.value.code == code
    assert tasks.get("s1", first).depends_on == ()


def test_a_change_that_changes_nothing_writes_nothing(units: Units, tasks: TaskService) -> None:
    add(tasks, "dig", description="deep")

    same = tasks.update(ALICE, "s1", "1", TaskChange(title=" dig ", status=TaskStatus.PENDING))
    cleared = tasks.update(ALICE, "s1", "1", TaskChange(description=""))

    assert (same.version, cleared.version) == (1, 2)
    assert cleared.description is None
    with units.read() as unit:
        entries = unit.audit.page(PageRequest(), resource="tasks", actor=None).items
        events = unit.journal.read(session_id="s1")
    assert [entry.action for entry in entries] == ["tasks.update", "tasks.create"]
    assert [event.data["type"] for event in events] == ["task_created", "task_updated"]


def test_stopping_cancels_what_goes_on_and_leaves_what_has_ended(tasks: TaskService) -> None:
    add(tasks, "one")
    add(tasks, "two")
    become(tasks, "2", "completed")

    stopped = [tasks.stop(ALICE, "s1", number) for number in ("1", "1", "2")]

    assert [(task.status, task.version) for task in stopped] == [
        (TaskStatus.CANCELLED, 2),
        (TaskStatus.CANCELLED, 2),
        (TaskStatus.COMPLETED, 2),
    ]


def test_a_session_has_a_limited_number_of_tasks(units: Units, tasks: TaskService) -> None:
    with units.write() as unit:
        for number in range(1, MAX_TASKS + 1):
            unit.tasks.add(make_task(number))

    with pytest.raises(Conflict) as refused:
        add(tasks)

    assert refused.value.code == "task_limit"


def test_an_ended_session_keeps_its_tasks_as_they_are(units: Units, tasks: TaskService) -> None:
    add(tasks)
    SessionService(units, FrozenClock(), lambda _: True).end(ALICE, "s1", None)

    for change in (
        lambda: add(tasks),
        lambda: become(tasks, "1", "completed"),
        lambda: tasks.stop(ALICE, "s1", "1"),
    ):
        with pytest.raises(Conflict) as refused:
            change()
        assert refused.value.code == "session_ended"
    assert len(tasks.list("s1")) == 1


def test_tasks_of_an_unknown_session_are_not_found(tasks: TaskService) -> None:
    for look in (
        lambda: tasks.list("nowhere"),
        lambda: tasks.get("nowhere", "1"),
        lambda: tasks.create(ALICE, "nowhere", NewTask(title="x")),
    ):
        with pytest.raises(NotFound):
            look()


# The tool

CONTEXT = ToolContext(
    session_id="s1",
    run_id="run_1",
    agent_id="default",
    user_id="alice",
    call_id="call_1",
    call_key="run_1:call_1",
    workspace=Path(),
)


async def use(tasks: TaskService, call_key: str = "k", **arguments: Any) -> str:
    tool = Tasks(tasks)
    checked = ToolRegistry([tool]).validate("tasks", json.dumps(arguments))
    assert isinstance(checked, TasksParameters)
    return await tool.call(checked, replace(CONTEXT, call_key=call_key))


async def test_an_agent_keeps_the_list(tasks: TaskService) -> None:
    created = await use(tasks, "k1", action="create", title="dig")
    await use(tasks, "k2", action="create", title="plant", description="roses", depends_on=[1])
    await use(tasks, "k3", action="update", task=1, status="completed")
    listed = await use(tasks, "k4", action="list")

    first = tasks.get("s1", "1")
    assert (first.created_by, first.run_id) == ("alice", "run_1")
    assert created == f"created task 1 [pending] dig (id {first.task_id})"
    assert [line.partition(" (id")[0] for line in listed.splitlines()] == [
        "task 1 [completed] dig",
        "task 2 [pending] plant",
        "    roses",
    ]
    assert await use(tasks, action="list", status="failed") == "no tasks"


async def test_the_same_call_again_makes_no_second_task(tasks: TaskService) -> None:
    odd = "run_1:\x00\ud800"
    first = await use(tasks, odd, action="create", title="dig")
    await use(tasks, action="update", task=1, title="dig deep")

    again = await use(tasks, odd, action="create", title="dig")

    assert first.partition("(id")[2] == again.partition("(id")[2]
    assert len(tasks.list("s1")) == 1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"action": "update", "task": 9, "status": "failed"}, "no task '9'"),
        ({"action": "update", "task": "2", "status": "in_progress"}, r"task 1 \(pending\)"),
        ({"action": "update", "task": 1, "depends_on": [2]}, "in a ring"),
        ({"action": "create", "title": "  "}, "title"),
        ({"action": "create", "title": "x", "depends_on": ["nine"]}, "no task 'nine'"),
    ],
)
async def test_what_cannot_be_is_told_to_the_model(
    tasks: TaskService, arguments: dict[str, Any], complaint: str
) -> None:
    add(tasks, "one")
    add(tasks, "two", "1")

    with pytest.raises(ToolError, match=complaint):
        await use(tasks, **arguments)
