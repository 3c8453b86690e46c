"""`understudy projects tasks`: the work items of a project."""

from typing import Annotated, Any, Final

import typer

from understudy.cli import inputs, output, screen
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.options import Key, ProjectId
from understudy.cli.table import Verb, declare

commands = Commands("The tasks of a project: who does them, what they wait for, what came of them.")

TaskId = Annotated[str, typer.Argument(metavar="TASK", help="The task's id.")]
Title = Annotated[str | None, typer.Option(help="What is to be done, in one line.")]
Description = Annotated[str | None, typer.Option(help="The rest of what there is to say.")]
Status = Annotated[
    str | None,
    typer.Option(help="`pending`, `in_progress`, `blocked`, `completed`, `failed` or `cancelled`."),
]
After = Annotated[
    list[str] | None,
    typer.Option("--after", metavar="TASK", help="A task to wait for; repeatable."),
]
Parent = Annotated[str | None, typer.Option(metavar="TASK", help="The task that this is part of.")]
Assign = Annotated[
    str | None, typer.Option("--assign", metavar="MEMBER", help="The member who is to do it.")
]
Session = Annotated[
    str | None, typer.Option("--session", metavar="SESSION", help="Its session, instead.")
]
Agent = Annotated[
    str | None, typer.Option("--agent", metavar="AGENT", help="The agent of one member, instead.")
]
Output = Annotated[str | None, typer.Option(help="What came of it.")]
Metadata = Annotated[str | None, typer.Option(metavar="JSON", help="Kept with the task.")]

COLUMNS: Final[screen.Layout] = {
    "task": "project_task_id",
    "status": "status",
    "assignee": "assignee_member_id",
    "waits for": lambda item: ", ".join(item.waits_for) or None,
    "untrusted": lambda item: ", ".join(item.untrusted_sources) or None,
    "title": "title",
}
RECORD: Final[screen.Layout] = {
    "task": "project_task_id",
    "title": "title",
    "status": "status",
    "assignee": "assignee_member_id",
    "session": "primary_session_id",
    "run": "latest_run_id",
    "run is": "run_status",
    "after": lambda view: list(view.blocked_by),
    "waits for": lambda view: list(view.waits_for),
    "part of": "parent_task_id",
    "description": "description",
    "written by": "created_by_run_id",
    "read text of others": lambda view: list(view.untrusted_sources),
    "changed by": "reviewed_by",
    "output": "output",
    "metadata": "metadata",
    "can": lambda view: list(view.actions),
    "changed": "updated_at_ms",
}


@commands("show", "get", show=RECORD)
def show(daemon: DaemonConnection, project_id: ProjectId, task_id: TaskId) -> object:
    """Show a task, what it waits for and what came of it."""
    return daemon.client.project_tasks.get(project_id, task_id)


@commands("add", "create", show=RECORD)
def add(
    daemon: DaemonConnection,
    project_id: ProjectId,
    title: Annotated[str, typer.Option(help="What is to be done, in one line.")],
    task: Annotated[str | None, typer.Option("--id", help="An id of your own.")] = None,
    description: Description = None,
    assign: Assign = None,
    session: Session = None,
    agent: Agent = None,
    after: After = None,
    parent: Parent = None,
    metadata: Metadata = None,
    key: Key = None,
) -> object:
    """Add a task to a project."""
    from understudy.wire.project_tasks import CreateProjectTask

    wanted = inputs.request(
        CreateProjectTask,
        project_task_id=task,
        title=title,
        description=description,
        assignment=_assignment(assign, session, agent),
        blocked_by=after or None,
        parent_task_id=parent,
        metadata=inputs.json_object(metadata, "--metadata"),
    )
    return daemon.client.project_tasks.create(project_id, wanted, key=key)


@commands("update", "set", show=RECORD)
def update(
    daemon: DaemonConnection,
    project_id: ProjectId,
    task_id: TaskId,
    title: Title = None,
    description: Description = None,
    status: Status = None,
    assign: Assign = None,
    session: Session = None,
    agent: Agent = None,
    unassign: Annotated[bool, typer.Option("--unassign", help="Assign it to nobody.")] = False,
    after: After = None,
    after_none: Annotated[
        bool, typer.Option("--after-none", help="Wait for no other task.")
    ] = False,
    parent: Parent = None,
    no_parent: Annotated[bool, typer.Option("--no-parent", help="Part of no other task.")] = False,
    output: Output = None,
    metadata: Metadata = None,
    expected_version: Annotated[
        int | None, typer.Option(help="Refuse when it is at another version.")
    ] = None,
) -> object:
    """Change a task; --after replaces what it waits for."""
    from understudy.wire.project_tasks import UpdateProjectTask

    changes = inputs.change(
        UpdateProjectTask,
        title=title,
        description=description,
        status=status,
        assignment=_assignment(assign, session, agent),
        clear_assignment=unassign or None,
        blocked_by=[] if after_none else after or None,
        parent_task_id=parent,
        clear_parent=no_parent or None,
        output=output,
        metadata=inputs.json_object(metadata, "--metadata"),
        expected_version=expected_version,
    )
    return daemon.client.project_tasks.update(project_id, task_id, changes)


@commands("delete", show="task {task_id} is deleted")
def delete(daemon: DaemonConnection, project_id: ProjectId, task_id: TaskId) -> None:
    """Delete a task that no other one waits for."""
    daemon.client.project_tasks.delete(project_id, task_id)


@commands("start", show=lambda run: print(run.run_id))
def start(
    daemon: DaemonConnection,
    project_id: ProjectId,
    task_id: TaskId,
    provider: Annotated[str | None, typer.Option(metavar="ROUTE", help="Another route.")] = None,
    model: Annotated[str | None, typer.Option(help="Another model.")] = None,
    kickoff: Annotated[
        str | None, typer.Option(help="What is said in the channel of the project.")
    ] = None,
    metadata: Annotated[str | None, typer.Option(metavar="JSON", help="Kept with the run.")] = None,
    key: Key = None,
) -> object:
    """Start a task: a run in the session of its assignee. Prints the id of the run."""
    from understudy.wire.project_tasks import StartProjectTask

    task = daemon.client.project_tasks.get(project_id, task_id)
    if task.untrusted_sources:
        read = ", ".join(task.untrusted_sources)
        output.note(
            f"{task.created_by_run_id} wrote this task after reading text of others: {read}"
        )
    wanted = inputs.request(
        StartProjectTask,
        provider=provider,
        model=model,
        kickoff_message=kickoff,
        metadata=inputs.json_object(metadata, "--metadata"),
    )
    return daemon.client.project_tasks.start(project_id, task_id, wanted, key=key)


def _assignment(
    member: str | None, session: str | None, agent: str | None
) -> dict[str, Any] | None:
    given = {
        "assignee_member_id": member,
        "assignee_session_id": session,
        "assignee_agent_id": agent,
    }
    named = {name: value for name, value in given.items() if value is not None}
    if len(named) > 1:
        raise typer.BadParameter("give one of --assign, --session and --agent")
    return named or None


declare(
    commands,
    Verb(
        names="list",
        call="project_tasks.page",
        show=COLUMNS,
        empty="No tasks. `{understudy} projects tasks add PROJECT --title TITLE` makes one.",
        options={"assignee_member_id": "member"},
    ),
)
