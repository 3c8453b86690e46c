"""`understudy projects`: sessions and people that work on one thing."""

from typing import Annotated, Final

import typer

from understudy.cli import inputs, project_tasks, screen
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.options import Key, PageOptions, ProjectId
from understudy.cli.table import Verb, declare

commands = Commands("Projects: sessions and people that work on one thing.")
commands.app.add_typer(project_tasks.commands.app, name="tasks")

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
    "tasks": lambda view: f"{view.task_count}, {view.active_task_count} active",
    "channels": "channel_links",
    "metadata": "metadata",
    "changed": "updated_at_ms",
}
PROJECTS_COLUMNS: Final[screen.Layout] = {
    "project": "project_id",
    "status": "status",
    "members": lambda item: len(item.members),
    "active tasks": "active_task_count",
    "name": "display_name",
}


@commands("create", show=RECORD)
def create(
    daemon: DaemonConnection,
    project_id: ProjectId,
    name: Annotated[
        str | None, typer.Option(help="What people call it; its id if left out.")
    ] = None,
    description: Description = None,
    member: Annotated[list[str] | None, typer.Option(help="A session's id; repeatable.")] = None,
    metadata: Metadata = None,
    key: Key = None,
) -> object:
    """Create a project."""
    from understudy.wire.projects import CreateProject

    wanted = inputs.request(
        CreateProject,
        project_id=project_id,
        display_name=name or project_id,
        description=description,
        members=[{"member_id": session_id} for session_id in member] if member else None,
        metadata=inputs.json_object(metadata, "--metadata"),
    )
    return daemon.client.projects.create(wanted, key=key)


@commands("update", "set", show=RECORD)
def update(
    daemon: DaemonConnection,
    project_id: ProjectId,
    name: Annotated[str | None, typer.Option(help="What people call it.")] = None,
    description: Description = None,
    status: Status = None,
    metadata: Metadata = None,
) -> object:
    """Change a project."""
    from understudy.wire.projects import UpdateProject

    changes = inputs.change(
        UpdateProject,
        display_name=name,
        description=description,
        status=status,
        metadata=inputs.json_object(metadata, "--metadata"),
    )
    return daemon.client.projects.update(project_id, changes)


@commands("add-member", show="{member_id} has joined {project_id}")
def add_member(
    daemon: DaemonConnection,
    project_id: ProjectId,
    member_id: MemberId,
    kind: Annotated[str, typer.Option(help="`session` or `human_actor`.")] = "session",
    name: Annotated[str | None, typer.Option(help="What people call it.")] = None,
    role: Annotated[str | None, typer.Option(help="What it does in the project.")] = None,
) -> None:
    """Let a session or a person join."""
    from understudy.wire.projects import AddMember

    member = inputs.request(
        AddMember, member_id=member_id, member_kind=kind, display_name=name, role=role
    )
    daemon.client.projects.add_member(project_id, member)


channel_commands = Commands("The channels of a project, where people talk about its tasks.")
commands.app.add_typer(channel_commands.app, name="channels")
ChannelId = Annotated[str, typer.Argument(metavar="CHANNEL", help="The channel's id.")]


@channel_commands(
    "list",
    show={
        "channel": "channel_id",
        "default": "default_for_new_tasks",
        "has the members": "mirror_members",
        "role": "role",
        "metadata": "metadata",
    },
    empty="No channels. `{understudy} projects channels link PROJECT CHANNEL` links one.",
)
def list_channels(daemon: DaemonConnection, project_id: ProjectId, page: PageOptions) -> object:
    """List the channels that a project links."""
    return daemon.client.projects.channels_page(project_id, **page)


@channel_commands("link", "add", show="{channel_id} belongs to {project_id}")
def link_channel(
    daemon: DaemonConnection,
    project_id: ProjectId,
    channel_id: ChannelId,
    default: Annotated[bool, typer.Option("--default", help="Talk about new tasks there.")] = False,
    mirror: Annotated[
        bool | None,
        typer.Option("--mirror/--no-mirror", help="Have the project's members be members there."),
    ] = None,
    role: Annotated[
        str | None, typer.Option(help="What the channel is for; an empty one takes it away.")
    ] = None,
    metadata: Annotated[
        str | None, typer.Option(metavar="JSON", help="Kept with the link.")
    ] = None,
) -> None:
    """Link a channel; the threads of tasks begin in the first one."""
    from understudy.wire.projects import LinkChannel

    link = inputs.request(
        LinkChannel,
        channel_id=channel_id,
        default_for_new_tasks=default,
        mirror_members=mirror,
        role=role,
        metadata=inputs.json_object(metadata, "--metadata"),
    )
    daemon.client.projects.link_channel(project_id, link)


@channel_commands("unlink", "remove", show="{channel_id} has left {project_id}")
def unlink_channel(daemon: DaemonConnection, project_id: ProjectId, channel_id: ChannelId) -> None:
    """Take a link away."""
    daemon.client.projects.unlink_channel(project_id, channel_id)


declare(
    commands,
    Verb(
        names="list",
        call="projects.page",
        show=PROJECTS_COLUMNS,
        empty="No projects yet. `{understudy} projects create ID --name NAME` makes one.",
        options={"member_session_id": "session"},
    ),
    Verb(names="show get", call="projects.get", show=RECORD),
    Verb(names="delete", call="projects.delete", show="project {project_id} is deleted"),
    Verb(
        names="remove-member",
        call="projects.remove_member",
        show="{member_id} has left {project_id}",
    ),
)
