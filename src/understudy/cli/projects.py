"""`understudy projects`: sessions and people that work on one thing."""

from typing import Annotated, Final

import typer

from understudy.cli import inputs, screen
from understudy.cli.connection import connect
from understudy.cli.options import Commands, Cursor, Key, Limit, ProjectId
from understudy.cli.output import note, understudy

commands = Commands("Projects: sessions and people that work on one thing.")

Description = Annotated[str | None, typer.Option(help="What it is about.")]
Status = Annotated[str | None, typer.Option(help="`active`, `paused`, `completed` or `archived`.")]
Metadata = Annotated[str | None, typer.Option(metavar="JSON", help="Kept with the project.")]
MemberId = Annotated[str, typer.Argument(metavar="MEMBER", help="The member's id.")]


RECORD: Final[screen.Layout] = {
    "project": "project_id",
    "name": "display_name",
    "status": "status",
    "description": "description",
    "members": lambda view: [
        f"{item.member_id} ({item.member_kind.replace('_', ' ')})" for item in view.members
    ],
    "metadata": "metadata",
    "changed": "updated_at_ms",
}
PROJECTS_COLUMNS: Final[screen.Layout] = {
    "project": "project_id",
    "status": "status",
    "members": lambda item: len(item.members),
    "name": "display_name",
}


@commands("list")
def list_projects(ctx: typer.Context, limit: Limit = 50, cursor: Cursor = None) -> None:
    """List projects."""
    with connect(ctx) as daemon:
        page = daemon.client.projects.page(limit=limit, cursor=cursor)
        empty = f"No projects yet. `{understudy()} projects create ID --name NAME` makes one."
        daemon.show_page(page, PROJECTS_COLUMNS, empty=empty)


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
        daemon.show_record(daemon.client.projects.create(wanted, key=key), RECORD)


@commands("show", "get")
def show(ctx: typer.Context, project_id: ProjectId) -> None:
    """Show a project and its members."""
    with connect(ctx) as daemon:
        daemon.show_record(daemon.client.projects.get(project_id), RECORD)


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
        daemon.show_record(daemon.client.projects.update(project_id, changes), RECORD)


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
