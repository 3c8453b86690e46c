"""Use cases of tasks, for the agent's tool and for the API."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import coded_error
from understudy.core.ids import new_id
from understudy.core.principal import Principal
from understudy.sessions.journal import EventKind, NewEvent
from understudy.sessions.model import SessionStatus, require_session
from understudy.sessions.tasks import (
    MAX_TASKS,
    STOPPED,
    TASK,
    Task,
    TaskDetail,
    TaskList,
    TaskStatus,
    check_words,
)

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

# Journal event types by audit action.
_HAPPENED: Final = {
    "tasks.create": "task_created",
    "tasks.update": "task_updated",
    "tasks.stop": "task_stopped",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTask:
    """The request for a new task; `depends_on` holds ids or numbers of tasks of the session."""

    title: str
    description: str | None = None
    depends_on: tuple[str, ...] = ()
    run_id: str | None = None
    call_digest: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskChange:
    """A change of a task; None leaves a field unchanged, an empty description removes it."""

    title: str | None = None
    description: str | None = None
    status: TaskStatus | None = None
    depends_on: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class TaskService:
    """Create, change, stop and find tasks, each change in one transaction."""

    units: "Units"
    clock: Clock

    def create(self, principal: Principal, session_id: str, wanted: NewTask) -> TaskDetail:
        """Append a new task; the same tool call again returns the first one."""
        title, description = check_words(wanted.title, wanted.description)
        with self.units.write() as unit:
            tasks = _open_list(unit, session_id)
            known = unit.tasks.of_call(wanted.call_digest) if wanted.call_digest else None
            if known is not None:
                return tasks.detail(known)
            now = self.clock.now_ms()
            task = Task(
                task_id=new_id("tsk"),
                session_id=session_id,
                number=_next_number(unit, session_id),
                title=title,
                description=description,
                depends_on=tasks.resolve(wanted.depends_on),
                created_by=principal.user_id,
                created_at_ms=now,
                updated_at_ms=now,
                run_id=wanted.run_id,
                call_digest=wanted.call_digest,
            )
            unit.tasks.insert(task)
            self._record(unit, principal, "tasks.create", task)
            return tasks.detail(task)

    def update(
        self, principal: Principal, session_id: str, reference: str, change: TaskChange
    ) -> TaskDetail:
        """Change a task, if its state and its dependencies allow it."""
        with self.units.write() as unit:
            tasks = _open_list(unit, session_id)
            stored = tasks.find(reference)
            changed = _changed(tasks, stored, change)
            if changed != stored:
                changed = self._save(unit, principal, "tasks.update", stored, changed)
            return tasks.detail(changed)

    def stop(self, principal: Principal, session_id: str, reference: str) -> TaskDetail:
        """Cancel a task; one that has ended is returned unchanged."""
        with self.units.write() as unit:
            tasks = _open_list(unit, session_id)
            stored = tasks.find(reference)
            if stored.status not in STOPPED:
                cancelled = replace(stored, status=TaskStatus.CANCELLED)
                stored = self._save(unit, principal, "tasks.stop", stored, cancelled)
            return tasks.detail(stored)

    def get(self, session_id: str, reference: str) -> TaskDetail:
        """One task by its id or number, or `NotFound`."""
        with self.units.read() as unit:
            require_session(unit, session_id)
            tasks = TaskList(unit.tasks.all(session_id))
            task = tasks.find(reference)
            return tasks.detail(task)

    def list(
        self, session_id: str, *, statuses: Collection[TaskStatus] = ()
    ) -> tuple[TaskDetail, ...]:
        """The tasks of a session by number, all or those of some statuses."""
        with self.units.read() as unit:
            require_session(unit, session_id)
            tasks = TaskList(unit.tasks.all(session_id))
        return tuple(
            tasks.detail(task) for task in tasks.tasks if not statuses or task.status in statuses
        )

    def _save(
        self, unit: "Unit", principal: Principal, action: str, stored: Task, changed: Task
    ) -> Task:
        changed = replace(changed, version=stored.version + 1, updated_at_ms=self.clock.now_ms())
        unit.tasks.update(changed, expected_version=stored.version)
        self._record(unit, principal, action, changed)
        return changed

    def _record(self, unit: "Unit", principal: Principal, action: str, task: Task) -> None:
        data = {
            "type": _HAPPENED[action],
            "task_id": task.task_id,
            "number": task.number,
            "title": task.title,
            "status": str(task.status),
        }
        event = NewEvent(kind=EventKind.SESSION, data=data)
        unit.journal.append(task.session_id, (event,), at_ms=task.updated_at_ms)
        unit.audit.add(
            audit.done(
                principal, action, task.task_id, at_ms=task.updated_at_ms, version=task.version
            )
        )


def _open_list(unit: "Unit", session_id: str) -> TaskList:
    """The tasks of an active session, whose row is locked until the unit ends."""
    session = require_session(unit, session_id, lock=True)
    if session.status is SessionStatus.ENDED:
        raise coded_error("sessions/session_ended")
    return TaskList(unit.tasks.all(session_id))


def _next_number(unit: "Unit", session_id: str) -> int:
    # Tasks are never deleted, so their count is the highest number.
    count = unit.tasks.count(session_id)
    if count >= MAX_TASKS:
        raise coded_error("tasks/task_limit", max_tasks=MAX_TASKS)
    return count + 1


def _changed(tasks: TaskList, stored: Task, change: TaskChange) -> Task:
    title, description = check_words(
        stored.title if change.title is None else change.title,
        stored.description if change.description is None else change.description,
    )
    changed = replace(stored, title=title, description=description)
    if change.depends_on is not None:
        depends_on = tasks.resolve(change.depends_on)
        tasks.check_no_cycle(stored.task_id, depends_on)
        changed = replace(changed, depends_on=depends_on)
    if change.status is not None:
        TASK.check(stored.status, change.status)
        changed = replace(changed, status=change.status)
    tasks.check_ready(changed)
    return changed
