"""The tasks of one project, their dependency graph, and the rules for starting one."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from understudy.core.errors import UnderstudyError, coded_error
from understudy.core.records import extended
from understudy.core.text import quoted
from understudy.project_tasks.model import (
    ENDED,
    MAX_DEPENDENCIES,
    STATUS_OF_RUN,
    ProjectTask,
    ProjectTaskDetail,
)
from understudy.runs.model import RunStatus
from understudy.sessions.model import Project, ProjectStatus
from understudy.sessions.tasks import TaskStatus

ARROW: Final = " → "


@dataclass(frozen=True)
class Board:
    """All stored tasks of a project, and the status of their live runs."""

    project: Project
    stored: tuple[ProjectTask, ...]
    # The status of unfinished runs of tasks, by run id.
    live: Mapping[str, RunStatus]

    @cached_property
    def by_id(self) -> Mapping[str, ProjectTask]:
        """The tasks by id."""
        return {task.project_task_id: task for task in self.stored}

    def find(self, task_id: str) -> ProjectTask:
        """The task with that id, or `NotFound`."""
        task = self.by_id.get(task_id)
        if task is None:
            raise coded_error("project_tasks/task_not_found", task_id=quoted(task_id))
        return task

    def run_status(self, task: ProjectTask) -> RunStatus | None:
        """The status of a task's live run; None without one."""
        return self.live.get(task.latest_run_id or "")

    def status(self, task: ProjectTask) -> TaskStatus:
        """The current status of a task: that of its live run, unless the task has ended."""
        run_status = self.run_status(task)
        if run_status is None or task.status in ENDED:
            return task.status
        return STATUS_OF_RUN[run_status]

    def waits_for(self, task: ProjectTask) -> tuple[str, ...]:
        """The ids of dependencies that are not completed, in order."""
        return tuple(each for each in task.blocked_by if not self._is_completed(each))

    def start_refusal(self, task: ProjectTask) -> UnderstudyError | None:
        """Why a task may not start now; None if it may."""
        return next((refusal(self, task) for blocks, refusal in _START if blocks(self, task)), None)

    def delete_refusal(self, task: ProjectTask) -> UnderstudyError | None:
        """Why a task may not be deleted now; None if it may."""
        if self.run_status(task) is not None:
            return _already_running(self, task)
        dependants = self._naming(lambda each: task.project_task_id in each.blocked_by)
        if dependants:
            return coded_error("project_tasks/task_has_dependants", dependants=dependants)
        children = self._naming(lambda each: each.parent_task_id == task.project_task_id)
        if children:
            return coded_error("project_tasks/task_has_children", children=children)
        return None

    def detail(self, task: ProjectTask) -> ProjectTaskDetail:
        """A task with its current status and actions."""
        refusals = (("start", self.start_refusal), ("delete", self.delete_refusal))
        detail = extended(
            ProjectTaskDetail,
            task,
            waits_for=self.waits_for(task),
            run_status=self.run_status(task),
            actions=tuple(name for name, refusal in refusals if refusal(task) is None),
        )
        return replace(detail, status=self.status(task))

    def check_dependencies(self, task_id: str, wanted: Sequence[str]) -> tuple[str, ...]:
        """The dependencies of a task, without duplicates; refuses unknown ids and cycles."""
        ids = tuple(dict.fromkeys(each.strip() for each in wanted if each.strip()))
        if len(ids) > MAX_DEPENDENCIES:
            raise coded_error(
                "project_tasks/too_many_dependencies",
                pointer="/blocked_by",
                limit=MAX_DEPENDENCIES,
            )
        edges = {each.project_task_id: each.blocked_by for each in self.stored}
        self._check_links(task_id, ids, edges, pointer="/blocked_by")
        return ids

    def check_parent(self, task_id: str, parent_id: str) -> str:
        """The validated parent of a task; refuses an unknown id and cycles."""
        edges = {
            each.project_task_id: (each.parent_task_id,) if each.parent_task_id else ()
            for each in self.stored
        }
        self._check_links(task_id, (parent_id,), edges, pointer="/parent_task_id")
        return parent_id

    def _check_links(
        self,
        task_id: str,
        wanted: Sequence[str],
        edges: Mapping[str, Sequence[str]],
        *,
        pointer: str,
    ) -> None:
        for other in wanted:
            if other == task_id:
                raise coded_error("project_tasks/task_depends_on_itself", pointer=pointer)
            self.find(other)
            ring = _path(edges, other, task_id)
            if ring:
                told = ARROW.join((task_id, *ring))
                raise coded_error("project_tasks/task_cycle", pointer=pointer, ring=told)

    def _is_completed(self, task_id: str) -> bool:
        task = self.by_id.get(task_id)
        return task is not None and self.status(task) is TaskStatus.COMPLETED

    def _naming(self, wanted: Callable[[ProjectTask], bool]) -> list[str]:
        return [each.project_task_id for each in self.stored if wanted(each)]


def _path(edges: Mapping[str, Sequence[str]], start: str, end: str) -> tuple[str, ...]:
    """A path from one task to another along its dependencies; empty without one."""
    came_from: dict[str, str | None] = {start: None}
    ahead = [start]
    while ahead:
        current = ahead.pop()
        if current == end:
            return tuple(_back(came_from, end))[::-1]
        for following in edges.get(current, ()):
            if following not in came_from:
                came_from[following] = current
                ahead.append(following)
    return ()


def _back(came_from: Mapping[str, str | None], end: str) -> Iterator[str]:
    current: str | None = end
    while current is not None:
        yield current
        current = came_from[current]


Blocks = Callable[[Board, ProjectTask], bool]
Refusal = Callable[[Board, ProjectTask], UnderstudyError]


def _already_running(_: Board, task: ProjectTask) -> UnderstudyError:
    return coded_error(
        "project_tasks/task_already_running",
        task_id=task.project_task_id,
        run_id=task.latest_run_id,
    )


def _unfinished(board: Board, task: ProjectTask) -> UnderstudyError:
    waits_for = board.waits_for(task)
    found = (board.by_id.get(each) for each in waits_for)
    told = [
        f"{task_id} ({'not there' if each is None else board.status(each)})"
        for task_id, each in zip(waits_for, found, strict=True)
    ]
    return coded_error(
        "project_tasks/dependencies_unfinished",
        waits_for=list(waits_for),
        task_id=task.project_task_id,
        tasks=told,
    )


def _inactive(board: Board, _: ProjectTask) -> UnderstudyError:
    return project_not_active(board.project)


def project_not_active(project: Project) -> UnderstudyError:
    """The error for a project that takes no new work."""
    return coded_error(
        "project_tasks/project_not_active", project_id=project.project_id, status=project.status
    )


# In order: the first rule that blocks gives the error.
_START: Final[tuple[tuple[Blocks, Refusal], ...]] = (
    (lambda board, _: board.project.status is not ProjectStatus.ACTIVE, _inactive),
    (
        lambda _, task: task.status in ENDED,
        lambda _, __: coded_error("project_tasks/task_is_terminal"),
    ),
    (lambda board, task: board.run_status(task) is not None, _already_running),
    (lambda board, task: bool(board.waits_for(task)), _unfinished),
    (
        lambda _, task: task.primary_session_id is None,
        lambda _, task: coded_error(
            "project_tasks/task_not_assigned", task_id=task.project_task_id
        ),
    ),
)
