"""`understudy sessions sidechains`, `tasks` and `checkpoints`: what a session holds."""

from typing import TYPE_CHECKING, Annotated

import typer

from understudy.cli import screen
from understudy.cli.connection import Connection, connect
from understudy.cli.options import Commands, Cursor, Key, Limit, SessionId

if TYPE_CHECKING:
    from understudy.wire.tasks import TaskView

commands = Commands("The sessions below a session.")


@commands("sidechains")
def list_sidechains(
    ctx: typer.Context, session_id: SessionId, limit: Limit = 50, cursor: Cursor = None
) -> None:
    """List the sidechains of a session, with their newest runs."""
    with connect(ctx) as daemon:
        page = daemon.client.sessions.sidechains_page(session_id, limit=limit, cursor=cursor)
        rows = [
            (
                item.session_id,
                item.label,
                item.agent_id,
                item.last_run.status if item.last_run else item.status,
                screen.ago(item.updated_at_ms),
            )
            for item in page.items
        ]
        columns = ("session", "label", "agent", "state", "changed")
        daemon.show(lambda: screen.table(columns, rows, empty="No sidechains."))
        daemon.more(page.next_cursor)


TaskName = Annotated[str, typer.Argument(metavar="TASK", help="The task's number or id.")]
STATUSES = "`pending`, `in_progress`, `blocked`, `completed`, `failed` or `cancelled`."
Title = Annotated[str, typer.Argument(metavar="TITLE", help="What is to be done, in one line.")]
Description = Annotated[str | None, typer.Option(help="More about it.")]
After = Annotated[
    list[str] | None,
    typer.Option(help="Number or id of a task to be completed first; repeatable."),
]


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
        rows = [
            (item.number, item.status, len(item.waits_for) or None, item.title, item.task_id)
            for item in page.items
        ]
        columns = ("task", "status", "waits for", "title", "id")
        daemon.show(lambda: screen.table(columns, rows, empty="No tasks."))
        daemon.more(page.next_cursor)


@commands("show-task")
def show_task(ctx: typer.Context, session_id: SessionId, task: TaskName) -> None:
    """Show a task of a session."""
    with connect(ctx) as daemon:
        _show(daemon, daemon.client.tasks.get(session_id, task))


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
        _show(daemon, daemon.client.tasks.create(session_id, CreateTask(**fields), key=key))


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
        _show(daemon, daemon.client.tasks.update(session_id, task, changes))


@commands("stop-task")
def stop_task(ctx: typer.Context, session_id: SessionId, task: TaskName) -> None:
    """Cancel a task of a session."""
    with connect(ctx) as daemon:
        _show(daemon, daemon.client.tasks.stop(session_id, task))


def _show(daemon: Connection, view: "TaskView") -> None:
    pairs = [
        ("task", view.number),
        ("id", view.task_id),
        ("title", view.title),
        ("status", view.status),
        ("description", view.description),
        ("depends on", view.depends_on),
        ("waits for", view.waits_for),
        ("made by", view.created_by),
        ("run", view.run_id),
        ("changed", screen.ago(view.updated_at_ms)),
    ]
    daemon.show(lambda: screen.fields(pairs))


@commands("checkpoints")
def checkpoints(
    ctx: typer.Context, session_id: SessionId, limit: Limit = 50, cursor: Cursor = None
) -> None:
    """List the summaries that stand for older parts of a session, newest first."""
    with connect(ctx) as daemon:
        page = daemon.client.checkpoints.page(session_id, limit=limit, cursor=cursor)
        rows = [
            (
                item.offset,
                screen.ago(item.at_ms),
                f"1–{item.upto_offset}",
                f"{item.tokens_before} → {item.tokens_after}",
                item.summary,
            )
            for item in page.items
        ]
        columns = ("offset", "made", "stands for", "tokens", "summary")
        empty = "No checkpoints: the whole session still fits the model's window."
        daemon.show(lambda: screen.table(columns, rows, empty=empty))
        daemon.more(page.next_cursor)
