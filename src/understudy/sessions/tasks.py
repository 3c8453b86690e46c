"""Tasks of a session: their status, order and dependencies."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final

from pydantic import computed_field

from understudy.core.errors import coded_error
from understudy.core.machine import Machine
from understudy.core.records import HIDDEN, OMIT, extended
from understudy.core.text import preview

MAX_TASKS: Final = 500
MAX_TITLE_CHARS: Final = 500
MAX_DESCRIPTION_CHARS: Final = 8000
MAX_DEPENDENCIES: Final = 32
MAX_REFERENCE_CHARS: Final = 100


class TaskStatus(StrEnum):
    """The status of a task; `blocked` means that something other than a task is in the way."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    BLOCKED = "blocked"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


_S = TaskStatus
_OPEN: Final = frozenset({_S.PENDING, _S.IN_PROGRESS, _S.BLOCKED})
_ENDINGS: Final = frozenset({_S.COMPLETED, _S.FAILED, _S.CANCELLED})

TASK: Final = Machine(
    name="task",
    domain="tasks",
    conflict_code="task_state_conflict",
    steps={
        _S.PENDING: (_OPEN | _ENDINGS) - {_S.PENDING},
        _S.IN_PROGRESS: (_OPEN | _ENDINGS) - {_S.IN_PROGRESS},
        _S.BLOCKED: (_OPEN | _ENDINGS) - {_S.BLOCKED},
        # A failed task may be retried.
        _S.FAILED: frozenset({_S.PENDING, _S.IN_PROGRESS, _S.CANCELLED}),
        _S.COMPLETED: frozenset(),
        _S.CANCELLED: frozenset(),
    },
)
# Statuses that require completed dependencies.
AFTER_DEPENDENCIES: Final = frozenset({_S.IN_PROGRESS, _S.COMPLETED})
STOPPED: Final = _ENDINGS


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task of a session; `number` identifies it within the session, from 1."""

    task_id: str
    session_id: str
    number: int
    title: str
    created_by: str
    created_at_ms: int
    updated_at_ms: int
    description: Annotated[str | None, OMIT] = None
    status: TaskStatus = TaskStatus.PENDING
    # Ids of tasks of the same session.
    depends_on: tuple[str, ...] = ()
    # The run that created it, if one did.
    run_id: Annotated[str | None, OMIT] = None
    # Digest of the tool call that created it, so that a repeated call finds it.
    call_digest: Annotated[str | None, HIDDEN] = None
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDetail(Task):
    """A task with its unfinished dependencies."""

    waits_for: tuple[str, ...] = ()

    @computed_field
    @property
    def actions(self) -> tuple[str, ...]:
        """The statuses that may follow now, in name order."""
        barred = AFTER_DEPENDENCIES if self.waits_for else frozenset[TaskStatus]()
        return tuple(each for each in TASK.allowed(self.status) if each not in barred)


@dataclass(frozen=True, slots=True)
class TaskList:
    """The tasks of one session, and the rules for their dependencies."""

    tasks: tuple[Task, ...]

    def find(self, reference: str) -> Task:
        """The task of that id or number, or `NotFound`."""
        task = self._by_reference.get(reference.strip())
        if task is None:
            raise coded_error(
                "tasks/task_not_found", reference=preview(reference, MAX_REFERENCE_CHARS)
            )
        return task

    def resolve(self, references: Sequence[str]) -> tuple[str, ...]:
        """The ids of dependencies, without duplicates; `Invalid` names an unknown one."""
        if len(references) > MAX_DEPENDENCIES:
            raise coded_error(
                "tasks/too_many_dependencies", pointer="/depends_on/0", limit=MAX_DEPENDENCIES
            )
        known, ids = self._by_reference, []
        for index, reference in enumerate(references):
            task = known.get(reference.strip())
            if task is None:
                raise coded_error(
                    "tasks/unknown_dependency",
                    pointer=f"/depends_on/{index}",
                    reference=preview(reference, MAX_REFERENCE_CHARS),
                )
            ids.append(task.task_id)
        return tuple(dict.fromkeys(ids))

    def check_no_cycle(self, task_id: str, depends_on: Sequence[str]) -> None:
        """Refuse a dependency cycle."""
        for index, dependency in enumerate(depends_on):
            if task_id in self._reached_from(dependency):
                raise coded_error("tasks/dependency_cycle", pointer=f"/depends_on/{index}")

    def unfinished(self, task: Task) -> tuple[str, ...]:
        """The ids of unfinished dependencies, in order."""
        known = {each.task_id: each for each in self.tasks}
        return tuple(
            task_id
            for task_id in task.depends_on
            if task_id not in known or known[task_id].status is not TaskStatus.COMPLETED
        )

    def detail(self, task: Task) -> TaskDetail:
        """A task with its unfinished dependencies."""
        return extended(TaskDetail, task, waits_for=self.unfinished(task))

    def check_ready(self, task: Task) -> None:
        """Refuse to start or complete a task with unfinished dependencies."""
        unfinished = self.unfinished(task)
        if task.status in AFTER_DEPENDENCIES and unfinished:
            raise coded_error(
                "tasks/dependencies_unfinished",
                waits_for=list(unfinished),
                number=task.number,
                tasks=self._names(unfinished),
            )

    def _names(self, task_ids: Iterable[str]) -> list[str]:
        known = {task.task_id: task for task in self.tasks}
        return [
            f"task {known[task_id].number} ({known[task_id].status})"
            if task_id in known
            else f"task {task_id} (cannot be read)"
            for task_id in task_ids
        ]

    def _reached_from(self, task_id: str) -> set[str]:
        edges = {task.task_id: task.depends_on for task in self.tasks}
        reached, ahead = set(), [task_id]
        while ahead:
            current = ahead.pop()
            if current not in reached:
                reached.add(current)
                ahead += edges.get(current, ())
        return reached

    @property
    def _by_reference(self) -> Mapping[str, Task]:
        by_number = {str(task.number): task for task in self.tasks}
        return by_number | {task.task_id: task for task in self.tasks}


def check_words(title: str, description: str | None) -> tuple[str, str | None]:
    """The trimmed title and description, or `Invalid` for the one that is too long or empty."""
    title = title.strip()
    if not 1 <= len(title) <= MAX_TITLE_CHARS:
        raise coded_error("tasks/invalid_title", pointer="/title", max_title_chars=MAX_TITLE_CHARS)
    if description is not None and len(description) > MAX_DESCRIPTION_CHARS:
        raise coded_error(
            "tasks/description_too_long",
            pointer="/description",
            max_description_chars=MAX_DESCRIPTION_CHARS,
        )
    return title, (description or "").strip() or None
