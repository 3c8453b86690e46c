"""`understudy projects`: sessions and people that work on one thing."""

from typing import TYPE_CHECKING, Annotated

import typer

from understudy.cli import inputs, screen
from understudy.cli.connection import Connection, connect
from understudy.cli.options import Commands, Cursor, Key, Limit, ProjectId
from understudy.cli.output import note, understudy

if TYPE_CHECKING:
    from understudy.sessions.model import Project

commands = Commands("Projects: sessions and people that work on one thing.")

Description = Annotated[str | None, typer.Option(help="What it is about.")]
Status = Annotated[str | None, typer.Option(help="`active`, `paused`, `completed` or `archived`.")]
Metadata = Annotated[str | None, typer.Option(metavar="JSON", help="Kept with the project.")]
MemberId = Annotated[str, typer.Argument(metavar="MEMBER", help="The member's id.")]


@commands("list")
def list_projects(ctx: typer.Context, limit: Limit = 50, cursor: Cursor = None) -> None:
    """List projects."""
    with connect(ctx) as daemon:
        page = daemon.client.projects.page(limit=limit, cursor=cursor)
        rows = [
            (item.project_id, item.status, len(item.members), item.display_name)
            for item in page.items
        ]
        empty = f"No projects yet. `{understudy()} projects create ID --name NAME` makes one."
        columns = ("project", "status", "members", "name")
        daemon.show(lambda: screen.table(columns, rows, empty=empty))
        daemon.more(page.next_cursor)


@commands("create")
def create(
    ctx: typer.Context,
    project_id: ProjectId,
    name: Annotated[
        str | None, typer.Option(help="What people call it; its id if left out.")
    ] = None,
    description: Description = None,
    member: Annotated[list[str] | None, typer.Option(help="A session's id; repeatable.")] = None,
    metadata: Metadata = None,
    key: Key = None,
) -> None:
    """Create a project."""
    from understudy.client.calls import given
    from understudy.wire.projects import CreateProject

    fields = given(
        project_id=project_id,
        display_name=name or project_id,
        description=description,
        members=[{"member_id": session_id} for session_id in member] if member else None,
        metadata=inputs.json_object(metadata, "--metadata"),
    )
    with connect(ctx) as daemon:
        wanted = CreateProject.model_validate(fields)
        _show(daemon, daemon.client.projects.create(wanted, key=key))


@commands("show", "get")
def show(ctx: typer.Context, project_id: ProjectId) -> None:
    """Show a project and its members."""
    with connect(ctx) as daemon:
        _show(daemon, daemon.client.projects.get(project_id))


@commands("update", "set")
def update(
    ctx: typer.Context,
    project_id: ProjectId,
    name: Annotated[str | None, typer.Option(help="What people call it.")] = None,
    description: Description = None,
    status: Status = None,
    metadata: Metadata = None,
) -> None:
    """Change a project."""
    from understudy.client.calls import given
    from understudy.wire.projects import UpdateProject

    fields = given(
        display_name=name,
        description=description,
        status=status,
        metadata=inputs.json_object(metadata, "--metadata"),
    )
    if not fields:
        raise typer.BadParameter("give something to change")
    with connect(ctx) as daemon:
        changes = UpdateProject.model_validate(fields)
        _show(daemon, daemon.client.projects.update(project_id, changes))


@commands("delete")
def delete(ctx: typer.Context, project_id: ProjectId) -> None:
    """Delete a project; its sessions stay."""
    with connect(ctx) as daemon:
        daemon.client.projects.delete(project_id)
        daemon.show(lambda: note(f"project {project_id} is deleted"))


@commands("add-member")
def add_member(
    ctx: typer.Context,
    project_id: ProjectId,
    member_id: MemberId,
    kind: Annotated[str, typer.Option(help="`session` or `human_actor`.")] = "session",
    name: Annotated[str | None, typer.Option(help="What people call it.")] = None,
    role: Annotated[str | None, typer.Option(help="What it does in the project.")] = None,
) -> None:
    """Let a session or a person join."""
    from understudy.client.calls import given
    from understudy.wire.projects import AddMember

    fields = given(member_id=member_id, member_kind=kind, display_name=name, role=role)
    with connect(ctx) as daemon:
        daemon.client.projects.add_member(project_id, AddMember.model_validate(fields))
        daemon.show(lambda: note(f"{member_id} has joined {project_id}"))


@commands("remove-member")
def remove_member(ctx: typer.Context, project_id: ProjectId, member_id: MemberId) -> None:
    """Let a member go."""
    with connect(ctx) as daemon:
        daemon.client.projects.remove_member(project_id, member_id)
        daemon.show(lambda: note(f"{member_id} has left {project_id}"))


def _show(daemon: Connection, view: "Project") -> None:
    members = [f"{item.member_id} ({item.member_kind.replace('_', ' ')})" for item in view.members]
    pairs = [
        ("project", view.project_id),
        ("name", view.display_name),
        ("status", view.status),
        ("description", view.description),
        ("members", members),
        ("metadata", screen.compact(view.metadata)),
        ("changed", screen.ago(view.updated_at_ms)),
    ]
    daemon.show(lambda: screen.fields(pairs))
