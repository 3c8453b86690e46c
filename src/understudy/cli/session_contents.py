"""`understudy sessions sidechains`, `tasks` and `checkpoints`: what a session holds."""

from typing import Annotated, Final

import typer

from understudy.cli import screen
from understudy.cli.connection import connect
from understudy.cli.options import Commands, Cursor, Key, Limit, SessionId

commands = Commands("The sessions below a session.")


SIDECHAINS_COLUMNS: Final[screen.Layout] = {
    "session": "session_id",
    "label": "label",
    "agent": "agent_id",
    "state": lambda item: item.last_run.status if item.last_run else item.status,
    "changed": "updated_at_ms",
}


@commands("sidechains")
def list_sidechains(
    ctx: typer.Context, session_id: SessionId, limit: Limit = 50, cursor: Cursor = None
) -> None:
    """List the sidechains of a session, with their newest runs."""
    with connect(ctx) as daemon:
        page = daemon.client.sessions.sidechains_page(session_id, limit=limit, cursor=cursor)
        daemon.show_page(page, SIDECHAINS_COLUMNS, empty="No sidechains.")


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


@commands("tasks")
def list_tasks(
    ctx: typer.Context,
    session_id: SessionId,
    status: Annotated[str | None, typer.Option(help=f"Only those that are {STATUSES}")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> None:
    """List the tasks of a session."""
    with connect(ctx) as daemon:
        page = daemon.client.tasks.page(session_id, status=status, limit=limit, cursor=cursor)
        daemon.show_page(page, TASKS_COLUMNS, empty="No tasks.")


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


@commands("show-task")
def show_task(ctx: typer.Context, session_id: SessionId, task: TaskName) -> None:
    """Show a task of a session."""
    with connect(ctx) as daemon:
        daemon.show_record(daemon.client.tasks.get(session_id, task), RECORD)


@commands("add-task")
def add_task(
    ctx: typer.Context,
    session_id: SessionId,
    title: Title,
    description: Description = None,
    after: After = None,
    key: Key = None,
) -> None:
    """Add a task to a session."""
    from understudy.client.calls import given
    from understudy.wire.tasks import CreateTask

    fields = given(title=title, description=description, depends_on=after)
    with connect(ctx) as daemon:
        daemon.show_record(
            daemon.client.tasks.create(session_id, CreateTask(**fields), key=key), RECORD
        )


@commands("update-task")
def update_task(
    ctx: typer.Context,
    session_id: SessionId,
    task: TaskName,
    status: Annotated[str | None, typer.Option(help=STATUSES)] = None,
    title: Annotated[str | None, typer.Option(help="What is to be done, in one line.")] = None,
    description: Description = None,
    after: After = None,
) -> None:
    """Change a task of a session."""
    from understudy.client.calls import given
    from understudy.wire.tasks import UpdateTask

    fields = given(title=title, description=description, status=status, depends_on=after)
    if not fields:
        raise typer.BadParameter("give something to change")
    with connect(ctx) as daemon:
        changes = UpdateTask.model_validate(fields)
        daemon.show_record(daemon.client.tasks.update(session_id, task, changes), RECORD)


@commands("stop-task")
def stop_task(ctx: typer.Context, session_id: SessionId, task: TaskName) -> None:
    """Cancel a task of a session."""
    with connect(ctx) as daemon:
        daemon.show_record(daemon.client.tasks.stop(session_id, task), RECORD)


CHECKPOINTS_COLUMNS: Final[screen.Layout] = {
    "offset": "offset",
    "made": "at_ms",
    "stands for": lambda item: f"1–{item.upto_offset}",
    "tokens": lambda item: f"{item.tokens_before} → {item.tokens_after}",
    "summary": "summary",
}


@commands("checkpoints")
def checkpoints(
    ctx: typer.Context, session_id: SessionId, limit: Limit = 50, cursor: Cursor = None
) -> None:
    """List the summaries that stand for older parts of a session, newest first."""
    with connect(ctx) as daemon:
        page = daemon.client.checkpoints.page(session_id, limit=limit, cursor=cursor)
        empty = "No checkpoints: the whole session still fits the model's window."
        daemon.show_page(page, CHECKPOINTS_COLUMNS, empty=empty)
