"""How tasks hang together, and what each may become."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.factories import make_task
from understudy.core.errors import Conflict, Invalid, InvalidTransition, NotFound
from understudy.sessions.task_tools import TasksParameters
from understudy.sessions.tasks import (
    AFTER_DEPENDENCIES,
    MAX_DEPENDENCIES,
    TASK,
    TaskList,
    TaskStatus,
    check_words,
)

ENDED = {TaskStatus.COMPLETED, TaskStatus.CANCELLED}


@pytest.mark.parametrize("current", TaskStatus)
@pytest.mark.parametrize("target", TaskStatus)
def test_every_step_is_allowed_or_refused_as_the_table_says(
    current: TaskStatus, target: TaskStatus
) -> None:
    from_failed = {TaskStatus.PENDING, TaskStatus.IN_PROGRESS, TaskStatus.CANCELLED}
    expected = target is current or (
        target in from_failed if current is TaskStatus.FAILED else current not in ENDED
    )

    assert TASK.allows(current, target) is expected
    if not expected:
        with pytest.raises(InvalidTransition) as refused:
            TASK.check(current, target)
        assert refused.value.code == "task_state_conflict"


def test_a_task_is_found_by_number_and_by_id() -> None:
    tasks = TaskList((make_task(1), make_task(2)))

    assert tasks.find("2") is tasks.find(" tsk_2 ")
    for unknown in ("3", "0", "-1", "02", "", "tsk_3", "x" * 10_000):
        with pytest.raises(NotFound) as refused:
            tasks.find(unknown)
        assert len(refused.value.detail) < 200


@pytest.mark.parametrize("status", TaskStatus)
def test_only_a_completed_dependency_is_finished(status: TaskStatus) -> None:
    first, second = make_task(1, status=status), make_task(2, depends_on=("tsk_1",))

    waits_for = TaskList((first, second)).unfinished(second)

    assert waits_for == (() if status is TaskStatus.COMPLETED else ("tsk_1",))


@pytest.mark.parametrize("status", TaskStatus)
def test_what_waits_for_others_is_neither_begun_nor_completed(status: TaskStatus) -> None:
    first = make_task(1, status=TaskStatus.FAILED)
    second = make_task(2, depends_on=("tsk_1", "tsk_gone"), status=status)
    tasks = TaskList((first, second))

    if status not in AFTER_DEPENDENCIES:
        tasks.check_ready(second)
        return
    with pytest.raises(Conflict, match=r"task 1 \(failed\), task tsk_gone") as refused:
        tasks.check_ready(second)
    assert refused.value.params == {"waits_for": ["tsk_1", "tsk_gone"]}


def test_dependencies_are_kept_once_by_id() -> None:
    tasks = TaskList((make_task(1), make_task(2)))

    assert tasks.resolve(["2", "tsk_1", " 2", "tsk_2"]) == ("tsk_2", "tsk_1")


def test_wrong_dependencies_are_named_by_their_place() -> None:
    tasks = TaskList((make_task(1),))

    with pytest.raises(Invalid) as unknown:
        tasks.resolve(["1", "9"])
    with pytest.raises(Invalid) as many:
        tasks.resolve(["1"] * (MAX_DEPENDENCIES + 1))

    assert (unknown.value.code, unknown.value.errors[0].pointer) == (
        "unknown_dependency",
        "/depends_on/1",
    )
    assert many.value.code == "too_many_dependencies"


@given(st.lists(st.lists(st.integers(1, 8), max_size=4), min_size=8, max_size=8))
def test_whatever_is_tried_the_tasks_never_wait_in_a_ring(wishes: list[list[int]]) -> None:
    tasks = {n: make_task(n) for n in range(1, 9)}
    for number, wish in enumerate(wishes, start=1):
        now = TaskList(tuple(tasks.values()))
        depends_on = now.resolve([str(n) for n in wish])
        try:
            now.check_no_cycle(f"tsk_{number}", depends_on)
        except Invalid:
            continue
        tasks[number] = make_task(number, depends_on=depends_on)

    done: set[str] = set()
    while ready := [
        t for t in tasks.values() if t.task_id not in done and done.issuperset(t.depends_on)
    ]:
        done |= {task.task_id for task in ready}
    assert len(done) == 8


@pytest.mark.parametrize(
    ("title", "description", "pointer"),
    [("", None, "/title"), (" \n", None, "/title"), ("x" * 501, None, "/title"),
     ("x", "y" * 8001, "/description")],
)  # fmt: skip
def test_words_have_bounds(title: str, description: str | None, pointer: str) -> None:
    with pytest.raises(Invalid) as refused:
        check_words(title, description)

    assert refused.value.errors[0].pointer == pointer


def test_words_are_kept_trimmed() -> None:
    assert check_words(" a ", " ") == ("a", None)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"action": "create"}, "create needs title"),
        ({"action": "update", "title": "x"}, "update needs task"),
        ({"action": "list", "title": "x"}, "list does not take title"),
        ({"action": "create", "title": "x", "status": "completed"}, "does not take status"),
        ({"action": "delete"}, "create"),
        ({"action": "update", "task": 1, "status": "done"}, "status"),
        ({"action": "create", "title": "x", "depends_on": [1] * 33}, "depends_on"),
    ],
)
def test_the_tool_takes_what_fits_its_action(arguments: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        TasksParameters.model_validate(arguments)


def test_the_diagram_in_the_documents_is_the_table() -> None:
    page = (Path(__file__).parents[3] / "docs" / "concepts" / "tasks.md").read_text()

    assert TASK.mermaid() in page
