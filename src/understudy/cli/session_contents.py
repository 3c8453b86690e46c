"""`understudy sessions sidechains`, `tasks` and `checkpoints`: what a session holds."""

from typing import Annotated, Final

import typer

from understudy.cli import inputs, screen
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.options import Key, PageOptions, SessionId

commands = Commands("The sessions below a session.")


SIDECHAINS_COLUMNS: Final[screen.Layout] = {
    "session": "session_id",
    "label": "label",
    "agent": "agent_id",
    "state": lambda item: item.last_run.status if item.last_run else item.status,
    "changed": "updated_at_ms",
}


@commands("sidechains", show=SIDECHAINS_COLUMNS, empty="No sidechains.")
def list_sidechains(daemon: DaemonConnection, page: PageOptions, session_id: SessionId) -> object:
    """List the sidechains of a session, with their newest runs."""
    return daemon.client.sessions.sidechains_page(session_id, **page)


TaskName = Annotated[str, typer.Argument(metavar="TASK", help="The task's number or id.")]
STATUSES = "`pending`, `in_progress`, `blocked`, `completed`, `failed` or `cancelled`."
Title = Annotated[str, typer.Argument(metavar="TITLE", help="What is to be done, in one line.")]
Description = Annotated[str | None, typer.Option(help="More about it.")]
After = Annotated[
    list[str] | None,
    typer.Option(help="Number or id of a task to be completed first; repeatable."),
]


TASKS_COLUMNS: Final[screen.Layout] = {
    "task": "number",
    "status": "status",
    "waits for": lambda item: len(item.waits_for) or None,
    "title": "title",
    "id": "task_id",
}


@commands("tasks", show=TASKS_COLUMNS, empty="No tasks.")
def list_tasks(
    daemon: DaemonConnection,
    page: PageOptions,
    session_id: SessionId,
    status: Annotated[str | None, typer.Option(help=f"Only those that are {STATUSES}")] = None,
) -> object:
    """List the tasks of a session."""
    return daemon.client.tasks.page(session_id, status=status, **page)


RECORD: Final[screen.Layout] = {
    "task": "number",
    "id": "task_id",
    "title": "title",
    "status": "status",
    "description": "description",
    "depends on": "depends_on",
    "waits for": "waits_for",
    "made by": "created_by",
    "run": "run_id",
    "changed": "updated_at_ms",
}


@commands("show-task", show=RECORD)
def show_task(daemon: DaemonConnection, session_id: SessionId, task: TaskName) -> object:
    """Show a task of a session."""
    return daemon.client.tasks.get(session_id, task)


@commands("add-task", show=RECORD)
def add_task(
    daemon: DaemonConnection,
    session_id: SessionId,
    title: Title,
    description: Description = None,
    after: After = None,
    key: Key = None,
) -> object:
    """Add a task to a session."""
    from understudy.wire.tasks import CreateTask

    wanted = inputs.request(CreateTask, title=title, description=description, depends_on=after)
    return daemon.client.tasks.create(session_id, wanted, key=key)


@commands("update-task", show=RECORD)
def update_task(
    daemon: DaemonConnection,
    session_id: SessionId,
    task: TaskName,
    status: Annotated[str | None, typer.Option(help=STATUSES)] = None,
    title: Annotated[str | None, typer.Option(help="What is to be done, in one line.")] = None,
    description: Description = None,
    after: After = None,
) -> object:
    """Change a task of a session."""
    from understudy.wire.tasks import UpdateTask

    changes = inputs.change(
        UpdateTask, title=title, description=description, status=status, depends_on=after
    )
    return daemon.client.tasks.update(session_id, task, changes)


@commands("stop-task", show=RECORD)
def stop_task(daemon: DaemonConnection, session_id: SessionId, task: TaskName) -> object:
    """Cancel a task of a session."""
    return daemon.client.tasks.stop(session_id, task)


CHECKPOINTS_COLUMNS: Final[screen.Layout] = {
    "offset": "offset",
    "made": "at_ms",
    "stands for": lambda item: f"1–{item.upto_offset}",
    "tokens": lambda item: f"{item.tokens_before} → {item.tokens_after}",
    "summary": "summary",
}


@commands(
    "checkpoints",
    show=CHECKPOINTS_COLUMNS,
    empty="No checkpoints: the whole session still fits the model's window.",
)
def checkpoints(daemon: DaemonConnection, page: PageOptions, session_id: SessionId) -> object:
    """List the summaries that stand for older parts of a session, newest first."""
    return daemon.client.checkpoints.page(session_id, **page)
