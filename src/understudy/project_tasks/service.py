"""Use cases of project tasks besides starting them: create, get, list, change, delete."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import coded_error
from understudy.core.ids import check_caller_id, new_id
from understudy.core.principal import Principal
from understudy.core.text import one_line, quoted
from understudy.project_tasks.board import Board, project_not_active
from understudy.project_tasks.model import (
    ENDED,
    MAX_OUTPUT_CHARS,
    MAX_TASKS,
    PROJECT_TASK,
    SILENT_END,
    STATUS_OF_RUN,
    Assignment,
    Discussion,
    NewProjectTask,
    ProjectTask,
    ProjectTaskChange,
    ProjectTaskDetail,
    check_text,
)
from understudy.runs.lifecycle import TERMINAL
from understudy.runs.model import Run, RunStatus, RunTrace, require_run
from understudy.runs.taint import untrusted_path
from understudy.sessions.journal import own_text
from understudy.sessions.model import (
    MemberKind,
    Project,
    ProjectMember,
    ProjectStatus,
    require_project,
)
from understudy.sessions.tasks import TaskStatus

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

# Fields that are locked while a run of the task is live.
HELD_BY_RUN: Final = ("status", "assignment", "blocked_by", "latest_run_id", "output")
# Scrubs secrets, and personal data if the policy says so, from the output of a task.
Clean: TypeAlias = Callable[["Unit", str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectTaskService:
    """The operations on project tasks, each change in one transaction.

    The project's row is locked before its tasks are read, so that the second of two concurrent
    changes sees the dependencies that the first has written.
    """

    units: "Units"
    clock: Clock
    clean: Clean

    def create(
        self, principal: Principal, project_id: str, wanted: NewProjectTask
    ) -> ProjectTaskDetail:
        """Create a task; a repeated tool call returns the task that it created first."""
        check_text(title=wanted.title, description=wanted.description, output=wanted.output)
        if wanted.project_task_id is not None:
            check_caller_id(wanted.project_task_id, field="project_task_id", domain="project_tasks")
        with self.units.write() as unit:
            board = open_board(unit, project_id, lock=True)
            known = unit.project_tasks.of_call(wanted.call_digest) if wanted.call_digest else None
            if known is not None:
                return board.detail(known)
            task = self._new(unit, principal, board, wanted)
            if not unit.project_tasks.add(task):
                raise coded_error("project_tasks/task_already_exists", task_id=task.project_task_id)
            self.audit(unit, principal, "project_tasks.create", task, by=wanted.created_by_run_id)
            return _with(board, task).detail(task)

    def get(self, project_id: str, task_id: str) -> ProjectTaskDetail:
        """One task, or `NotFound`."""
        with self.units.read() as unit:
            board = open_board(unit, project_id)
        return board.detail(board.find(task_id))

    def list(
        self,
        project_id: str,
        *,
        query: str | None = None,
        status: TaskStatus | None = None,
        assignee_member_id: str | None = None,
    ) -> tuple[ProjectTaskDetail, ...]:
        """The tasks of a project in order of creation, optionally filtered."""
        with self.units.read() as unit:
            board = open_board(unit, project_id)
        return tuple(
            board.detail(task)
            for task in board.stored
            if (not query or _is_about(task, query))
            and status in (None, board.status(task))
            and assignee_member_id in (None, task.assignee_member_id)
        )

    def update(
        self, principal: Principal, project_id: str, task_id: str, change: ProjectTaskChange
    ) -> ProjectTaskDetail:
        """Change the given parts of a task."""
        check_text(title=change.title, description=change.description, output=change.output)
        with self.units.write() as unit:
            board = open_board(unit, project_id, lock=True)
            stored = held(unit, board, task_id)
            if change.expected_version not in (None, stored.version):
                raise coded_error("project_tasks/stale_version")
            changed = self._changed(unit, board, stored, change)
            if changed.is_by_agent and _words(changed) != _words(stored):
                changed = replace(changed, reviewed_by=principal.actor, untrusted_sources=())
            if changed == stored:
                return board.detail(stored)
            changed = self.save(unit, stored, changed)
            self.audit(unit, principal, "project_tasks.update", changed)
            return _with(board, changed).detail(changed)

    def delete(self, principal: Principal, project_id: str, task_id: str) -> None:
        """Delete a task without dependants, children or a live run."""
        with self.units.write() as unit:
            board = open_board(unit, project_id, lock=True)
            stored = held(unit, board, task_id)
            refusal = board.delete_refusal(stored)
            if refusal is not None:
                raise refusal
            unit.project_tasks.delete(project_id, task_id)
            self.audit(unit, principal, "project_tasks.delete", stored)

    def ended(self, unit: "Unit", run: Run) -> None:
        """Store the outcome of a run in its tasks, in the transaction that ends the run."""
        if RunTrace.PROJECT_TASK not in unit.traces(run):
            return
        for task in unit.project_tasks.of_run(run.run_id):
            settled = self._settled(unit, task, run)
            if settled != task:
                self.save(unit, task, settled)

    def reconcile(self) -> int:
        """Fail tasks whose run no longer exists; returns their number."""
        with self.units.write() as unit:
            orphans = unit.project_tasks.orphans()
            for task in orphans:
                lost = replace(
                    task,
                    status=TaskStatus.FAILED,
                    latest_run_id=None,
                    output=f"The start was orphaned: its run {task.latest_run_id} is not there.",
                )
                self.save(unit, task, lost)
        return len(orphans)

    def save(self, unit: "Unit", stored: ProjectTask, changed: ProjectTask) -> ProjectTask:
        """Store a changed task with the next version number."""
        changed = replace(changed, version=stored.version + 1, updated_at_ms=self.clock.now_ms())
        unit.project_tasks.update(changed, expected_version=stored.version)
        return changed

    def audit(
        self,
        unit: "Unit",
        principal: Principal,
        action: str,
        task: ProjectTask,
        *,
        by: str | None = None,
    ) -> None:
        """Add an audit entry for a change of a task, made `by` a run or by a person."""
        entry = audit.done(
            principal,
            action,
            f"{task.project_id}/{task.project_task_id}",
            at_ms=self.clock.now_ms(),
            version=task.version,
            reason=None if by is None else f"in {by}",
        )
        unit.audit.add(entry)

    def _new(
        self, unit: "Unit", principal: Principal, board: Board, wanted: NewProjectTask
    ) -> ProjectTask:
        if board.project.status is not ProjectStatus.ACTIVE:
            raise project_not_active(board.project)
        if len(board.stored) >= MAX_TASKS:
            raise coded_error("project_tasks/task_limit", limit=MAX_TASKS)
        now, task_id = self.clock.now_ms(), wanted.project_task_id or new_id("ptk")
        by = wanted.created_by_run_id
        task = ProjectTask(
            project_id=board.project.project_id,
            project_task_id=task_id,
            title=one_line(wanted.title),
            description=wanted.description.strip(),
            created_by=principal.user_id,
            created_at_ms=now,
            updated_at_ms=now,
            metadata=wanted.metadata,
            created_by_run_id=by,
            untrusted_sources=() if by is None else untrusted_path(unit, require_run(unit, by)),
            call_digest=wanted.call_digest,
        )
        change = ProjectTaskChange(
            status=wanted.status if wanted.status is not task.status else None,
            assignment=wanted.assignment,
            blocked_by=wanted.blocked_by,
            parent_task_id=wanted.parent_task_id,
            discussion=wanted.discussion,
            latest_run_id=wanted.latest_run_id,
            output=wanted.output,
        )
        return self._changed(unit, board, task, change)

    def _changed(
        self, unit: "Unit", board: Board, stored: ProjectTask, change: ProjectTaskChange
    ) -> ProjectTask:
        _check_free(board, stored, change)
        if change.discussion is not None and not is_thread(unit, change.discussion):
            raise coded_error(
                "project_tasks/discussion_not_found",
                channel_id=quoted(change.discussion.channel_id),
                message_id=quoted(change.discussion.thread_root_message_id),
            )
        changed = _with_words(stored, change)
        changed = _with_links(board, changed, change)
        if change.assignment is not None or "assignment" in change.clear:
            changed = _assigned(unit, board.project, changed, change.assignment)
        if change.latest_run_id is not None:
            run = _ended_run(unit, changed, change.latest_run_id)
            changed = self._settled(unit, replace(changed, latest_run_id=run.run_id), run)
        if change.status is not None:
            PROJECT_TASK.check(stored.status, change.status)
            changed = replace(changed, status=change.status)
        if change.output is not None or "output" in change.clear:
            output = None if change.output is None else self.clean(unit, change.output)
            changed = replace(changed, output=output or None)
        if changed.status is TaskStatus.IN_PROGRESS and changed.assignee_member_id is None:
            raise coded_error("project_tasks/task_not_assigned", task_id=stored.project_task_id)
        return changed

    def _settled(self, unit: "Unit", task: ProjectTask, run: Run) -> ProjectTask:
        """A task after the end of its run; the status of a task that has ended is kept."""
        said = None
        is_open = task.status not in ENDED
        if is_open or (task.output is None and run.status is RunStatus.COMPLETED):
            said = self.clean(unit, outcome_of(unit, run) or "")[:MAX_OUTPUT_CHARS] or None
        if not is_open:
            return task if said is None else replace(task, output=said)
        return replace(task, status=STATUS_OF_RUN[run.status], output=said)


def outcome_of(unit: "Unit", run: Run) -> str | None:
    """The outcome of an ended run: its last output, or its error."""
    if run.status is not RunStatus.COMPLETED:
        return run.error or SILENT_END[run.status]
    said = [own_text(event) for event in unit.journal.outputs([run.run_id]).get(run.run_id, ())]
    return next((text for text in reversed(said) if text.strip()), None)


def open_board(unit: "Unit", project_id: str, *, lock: bool = False) -> Board:
    """The board of a project; `lock` locks the project's row until the unit ends."""
    project = require_project(unit, project_id, lock=lock)
    return Board(
        project=project,
        stored=unit.project_tasks.all(project_id),
        live=unit.project_tasks.live_runs(project_id),
    )


def held(unit: "Unit", board: Board, task_id: str) -> ProjectTask:
    """A task, read again with its row locked: its run may just have ended."""
    board.find(task_id)
    task = unit.project_tasks.get(board.project.project_id, task_id, lock=True)
    return board.find(task_id) if task is None else task


def is_thread(unit: "Unit", discussion: Discussion) -> bool:
    """Whether a message is the root of a thread in this channel."""
    message = unit.channel_messages.get(discussion.thread_root_message_id)
    return (
        message is not None
        and message.channel_id == discussion.channel_id
        and message.thread_root_message_id is None
    )


def _with(board: Board, task: ProjectTask) -> Board:
    """The board with one task replaced."""
    kept = {**board.by_id, task.project_task_id: task}
    return replace(board, stored=tuple(kept.values()))


def _check_free(board: Board, stored: ProjectTask, change: ProjectTaskChange) -> None:
    """Refuse changes of fields that a live run, or the outcome of one, decides."""
    touched = [
        name for name in HELD_BY_RUN if getattr(change, name) is not None or name in change.clear
    ]
    if touched and board.run_status(stored) is not None:
        raise coded_error(
            "project_tasks/task_already_running",
            task_id=stored.project_task_id,
            run_id=stored.latest_run_id,
        )
    is_derived = change.latest_run_id is not None or stored.latest_run_id is not None
    if is_derived and "output" in touched:
        raise coded_error("project_tasks/output_is_derived", pointer="/output")
    if change.latest_run_id is not None and change.status is not None:
        raise coded_error("project_tasks/output_is_derived", pointer="/status")


def _words(task: ProjectTask) -> tuple[str, str]:
    return task.title, task.description


def _with_words(task: ProjectTask, change: ProjectTaskChange) -> ProjectTask:
    title = task.title if change.title is None else one_line(change.title)
    description = task.description if change.description is None else change.description.strip()
    metadata = task.metadata if change.metadata is None else change.metadata
    return replace(task, title=title, description=description, metadata=metadata)


def _with_links(board: Board, task: ProjectTask, change: ProjectTaskChange) -> ProjectTask:
    if change.blocked_by is not None:
        ids = board.check_dependencies(task.project_task_id, change.blocked_by)
        task = replace(task, blocked_by=ids)
    if change.parent_task_id is not None:
        parent = board.check_parent(task.project_task_id, change.parent_task_id)
        task = replace(task, parent_task_id=parent)
    elif "parent" in change.clear:
        task = replace(task, parent_task_id=None)
    if change.discussion is not None or "discussion" in change.clear:
        task = replace(task, discussion=change.discussion)
    return task


def _assigned(
    unit: "Unit", project: Project, task: ProjectTask, wanted: Assignment | None
) -> ProjectTask:
    if wanted is None:
        return replace(task, assignee_member_id=None, primary_session_id=None)
    member = assignee(unit, project, wanted)
    return replace(task, assignee_member_id=member.member_id, primary_session_id=member.session_id)


def assignee(unit: "Unit", project: Project, wanted: Assignment) -> ProjectMember:
    """The member that an assignment resolves to, which must be a session."""
    found = [each for each in project.members if _is_meant(unit, each, wanted)]
    if not found:
        named = wanted.assignee_member_id or wanted.assignee_session_id or wanted.assignee_agent_id
        raise coded_error("project_tasks/member_not_found", member=quoted(named or ""))
    if len(found) > 1:
        raise coded_error(
            "project_tasks/assignee_ambiguous",
            pointer="/assignment",
            members=[each.member_id for each in found],
        )
    member = found[0]
    if member.member_kind is not MemberKind.SESSION or member.session_id is None:
        raise coded_error(
            "project_tasks/assignee_not_a_session",
            pointer="/assignment",
            member=member.member_id,
        )
    return member


def _is_meant(unit: "Unit", member: ProjectMember, wanted: Assignment) -> bool:
    if wanted.assignee_member_id is not None:
        return member.member_id == wanted.assignee_member_id
    if wanted.assignee_session_id is not None:
        return member.session_id == wanted.assignee_session_id
    session = None if member.session_id is None else unit.sessions.get(member.session_id)
    return session is not None and session.agent_id == wanted.assignee_agent_id


def _ended_run(unit: "Unit", task: ProjectTask, run_id: str) -> Run:
    run = require_run(unit, run_id)
    if task.primary_session_id != run.session_id or run.status not in TERMINAL:
        raise coded_error(
            "project_tasks/run_not_usable", pointer="/latest_run_id", run_id=quoted(run_id)
        )
    return run


def _is_about(task: ProjectTask, query: str) -> bool:
    texts = (task.project_task_id, task.title, task.description, task.output or "")
    return any(query.casefold() in text.casefold() for text in texts)
