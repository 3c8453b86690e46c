"""The tool by which an agent lists the tasks of its projects, claims one, and reports on it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import BaseModel, Field, model_validator

from understudy.core.errors import UnderstudyError, coded_error
from understudy.core.text import preview, quoted
from understudy.project_tasks.board import Board
from understudy.project_tasks.model import (
    ENDED,
    MAX_DEPENDENCIES,
    MAX_DESCRIPTION_CHARS,
    MAX_OUTPUT_CHARS,
    MAX_TITLE_CHARS,
    NewProjectTask,
    ProjectTask,
    ProjectTaskDetail,
)
from understudy.project_tasks.service import ProjectTaskService, held, open_board
from understudy.runs.lifecycle import TERMINAL
from understudy.runs.model import Run, require_run
from understudy.sessions.model import ProjectMember
from understudy.sessions.tasks import TaskStatus
from understudy.tools.base import Approval, Effect, Parameters, ToolContext, ToolError, in_thread

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

OUTPUT_CHARS: Final = 300
# The statuses that an agent may set on its own task.
SAID_BY_AGENTS: Final = frozenset(
    {TaskStatus.IN_PROGRESS, TaskStatus.BLOCKED, TaskStatus.COMPLETED, TaskStatus.FAILED}
)
TaskId = Annotated[str, Field(min_length=1, max_length=200)]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskReport:
    """An agent's report on a task: status and output."""

    status: TaskStatus | None = None
    output: str | None = None


@dataclass(frozen=True, slots=True)
class MemberTasks:
    """The operations of a run on the tasks of its session's projects."""

    service: ProjectTaskService

    def project_of(self, session_id: str, project_id: str | None) -> str:
        """The project of a call: the one named, or the session's only one."""
        with self.service.units.read() as unit:
            ids = unit.projects.ids_for_session(session_id)
        if project_id is None and len(ids) == 1:
            return ids[0]
        if project_id is None:
            raise coded_error("project_tasks/project_unclear", projects=list(ids))
        # `NotFound` for other projects, so that a model cannot probe for them.
        if project_id not in ids:
            raise coded_error("projects/project_not_found", project_id=preview(project_id))
        return project_id

    def claim(self, context: ToolContext, project_id: str, task_id: str) -> str:
        """Claim a task that no other member has, and bind it to this run."""
        with self.service.units.write() as unit:
            board, task, member = self._opened(unit, context, project_id, task_id)
            if task.primary_session_id not in (None, context.session_id):
                raise _another_members_error(task)
            bound = _bound(board, task, member, context)
            return self._saved(unit, context, board, task, bound)

    def report(self, context: ToolContext, project_id: str, task_id: str, said: TaskReport) -> str:
        """Report on a task of this session; `blocked` detaches the run from it."""
        with self.service.units.write() as unit:
            board, task, member = self._opened(unit, context, project_id, task_id, said.status)
            if task.primary_session_id != context.session_id:
                raise _another_members_error(task)
            changed = task
            if said.output is not None:
                changed = replace(changed, output=self.service.clean(unit, said.output) or None)
            if said.status is TaskStatus.IN_PROGRESS:
                changed = _bound(board, changed, member, context)
            elif said.status is not None:
                changed = replace(changed, status=said.status)
            if said.status is TaskStatus.BLOCKED:
                changed = replace(changed, latest_run_id=None)
            return self._saved(unit, context, board, task, changed)

    def _opened(
        self,
        unit: "Unit",
        context: ToolContext,
        project_id: str,
        task_id: str,
        said: TaskStatus | None = None,
    ) -> tuple[Board, ProjectTask, ProjectMember]:
        """A task that this run may change, with its row locked, and the calling member."""
        board = open_board(unit, project_id, lock=True)
        members = board.project.members
        mine = [each for each in members if each.session_id == context.session_id]
        if not mine:
            raise coded_error("projects/project_not_found", project_id=project_id)
        # Locked, so that the run cannot end before the task refers to it.
        if require_run(unit, context.run_id, lock=True).status in TERMINAL:
            raise coded_error("runs/run_state_conflict")
        task = held(unit, board, task_id)
        # A repeated call may find the status that it set the first time.
        is_repeat = task.latest_run_id == context.run_id and task.status is said
        if task.status in ENDED and not is_repeat:
            raise coded_error("project_tasks/task_is_terminal")
        if board.run_status(task) is not None and task.latest_run_id != context.run_id:
            raise coded_error(
                "project_tasks/task_already_running",
                task_id=task.project_task_id,
                run_id=task.latest_run_id,
            )
        return board, task, mine[0]

    def _saved(
        self,
        unit: "Unit",
        context: ToolContext,
        board: Board,
        stored: ProjectTask,
        changed: ProjectTask,
    ) -> str:
        if changed != stored:
            changed = self.service.save(unit, stored, changed)
            self.service.audit(
                unit, context.caller, "project_tasks.update", changed, by=context.run_id
            )
        live = unit.project_tasks.live_runs(board.project.project_id)
        return line_of(replace(board, live=live).detail(changed))


def _bound(
    board: Board, task: ProjectTask, member: ProjectMember, context: ToolContext
) -> ProjectTask:
    """A task bound to this run; refused while dependencies are unfinished."""
    bound = replace(
        task,
        assignee_member_id=member.member_id,
        primary_session_id=member.session_id,
        status=TaskStatus.IN_PROGRESS,
        latest_run_id=context.run_id,
    )
    if task.latest_run_id == context.run_id:
        return bound
    refusal = board.start_refusal(bound)
    if refusal is not None:
        raise refusal
    return bound


def _another_members_error(task: ProjectTask) -> UnderstudyError:
    return coded_error(
        "project_tasks/task_of_another",
        task_id=task.project_task_id,
        member=task.assignee_member_id or "nobody",
    )


class ProjectTaskAction(StrEnum):
    """The actions of the tool."""

    LIST = "list"
    CREATE = "create"
    CLAIM = "claim"
    UPDATE = "update"


_A = ProjectTaskAction
_NEEDED: Final[Mapping[ProjectTaskAction, str | None]] = {
    _A.LIST: None,
    _A.CREATE: "title",
    _A.CLAIM: "task",
    _A.UPDATE: "task",
}
# The fields beside `action` and `project_id` that each action reads.
_READ: Final[Mapping[ProjectTaskAction, frozenset[str]]] = {
    _A.LIST: frozenset({"status"}),
    _A.CREATE: frozenset({"title", "description", "blocked_by"}),
    _A.CLAIM: frozenset({"task"}),
    _A.UPDATE: frozenset({"task", "status", "output"}),
}


class ProjectTasksParameters(Parameters):
    """What `project_tasks` takes."""

    action: ProjectTaskAction = Field(
        description="create needs title; claim and update need task; list takes status."
    )
    project_id: TaskId | None = Field(
        default=None, description="Needed where this session is in several projects."
    )
    task: TaskId | None = Field(default=None, description="Id of the task to claim or update.")
    title: str | None = Field(default=None, max_length=MAX_TITLE_CHARS)
    description: str | None = Field(default=None, max_length=MAX_DESCRIPTION_CHARS)
    blocked_by: list[TaskId] | None = Field(
        default=None,
        max_length=MAX_DEPENDENCIES,
        description="Ids of tasks that must be completed first.",
    )
    status: TaskStatus | None = Field(
        default=None, description="To update: in_progress, blocked, completed or failed."
    )
    output: str | None = Field(
        default=None, max_length=MAX_OUTPUT_CHARS, description="What came of it, for those after."
    )

    @model_validator(mode="after")
    def _fits_the_action(self) -> "ProjectTasksParameters":
        needed = _NEEDED[self.action]
        if needed is not None and getattr(self, needed) is None:
            raise ValueError(f"{self.action} needs {needed}")
        beside = ("action", "project_id")
        given = {name for name, value in self if name not in beside and value is not None}
        if unread := sorted(given - _READ[self.action]):
            raise ValueError(f"{self.action} does not take {', '.join(unread)}")
        if self.action is _A.UPDATE and self.status not in {None, *SAID_BY_AGENTS}:
            allowed = ", ".join(sorted(SAID_BY_AGENTS))
            raise ValueError(f"{quoted(str(self.status))} is not for agents to set; use {allowed}")
        return self


class ProjectTasks:
    """Lets an agent work on the tasks of its projects; people decide the rest."""

    name = "project_tasks"
    description = (
        "See and share out the tasks of the project that this session is a member of: list them, "
        "create one, claim one that nobody has and whose dependencies are completed, and update "
        "one of your own with where it stands and what came of it. Others read the output."
    )
    effect = Effect.IDEMPOTENT
    approval = Approval.NEVER
    parameters: type[BaseModel] = ProjectTasksParameters

    def __init__(self, members: MemberTasks) -> None:
        self._members = members

    def is_offered(self, unit: "Unit", run: Run) -> bool:
        """Only in sessions that are members of a project."""
        return bool(unit.projects.ids_for_session(run.session_id))

    async def call(self, arguments: ProjectTasksParameters, context: ToolContext) -> str:
        """Perform the action; returns the changed task, or the list."""
        try:
            return await in_thread(_ACTIONS[arguments.action], self._members, arguments, context)
        except UnderstudyError as problem:
            raise ToolError(problem.detail, code=problem.code) from problem


def _list(members: MemberTasks, wanted: ProjectTasksParameters, context: ToolContext) -> str:
    project_id = members.project_of(context.session_id, wanted.project_id)
    found = members.service.list(project_id, status=wanted.status)
    return "\n".join(map(line_of, found)) or f"no tasks in project {project_id}"


def _create(members: MemberTasks, wanted: ProjectTasksParameters, context: ToolContext) -> str:
    project_id = members.project_of(context.session_id, wanted.project_id)
    task = NewProjectTask(
        title=wanted.title or "",
        description=wanted.description or "",
        blocked_by=tuple(wanted.blocked_by or ()),
        created_by_run_id=context.run_id,
        call_digest=context.call_digest,
    )
    return f"created {line_of(members.service.create(context.caller, project_id, task))}"


def _claim(members: MemberTasks, wanted: ProjectTasksParameters, context: ToolContext) -> str:
    project_id = members.project_of(context.session_id, wanted.project_id)
    return f"claimed {members.claim(context, project_id, wanted.task or '')}"


def _update(members: MemberTasks, wanted: ProjectTasksParameters, context: ToolContext) -> str:
    project_id = members.project_of(context.session_id, wanted.project_id)
    said = TaskReport(status=wanted.status, output=wanted.output)
    told = members.report(context, project_id, wanted.task or "", said)
    return f"updated {told}"


_ACTIONS: Final[
    Mapping[ProjectTaskAction, Callable[[MemberTasks, ProjectTasksParameters, ToolContext], str]]
] = {_A.LIST: _list, _A.CREATE: _create, _A.CLAIM: _claim, _A.UPDATE: _update}


def line_of(task: ProjectTaskDetail) -> str:
    """A task on one line, with its output below."""
    line = f"{task.project_task_id} [{task.status}] {preview(task.title)}"
    line += f" ({task.assignee_member_id or 'nobody has it'})"
    if task.waits_for:
        line += f"; waits for {', '.join(task.waits_for)}"
    if task.output:
        line += f"\n    output: {preview(task.output, OUTPUT_CHARS)}"
    return line
