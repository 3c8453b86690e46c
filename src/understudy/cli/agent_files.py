"""`understudy agents files`: what an agent's instructions are made of."""

from typing import Annotated

import typer

from understudy.cli import inputs, screen
from understudy.cli.agent_file_versions import (
    files_of,
    list_versions,
    restore_version,
    show_version,
)
from understudy.cli.arguments import AgentId, Cursor, Limit, TextFile
from understudy.cli.connection import connect
from understudy.cli.hints import understudy
from understudy.cli.options import Commands
from understudy.cli.output import note

commands = Commands("Context files of an agent, with their history.")

FileName = Annotated[str, typer.Argument(metavar="NAME", help="For example SOUL.md.")]
OfUser = Annotated[
    str | None, typer.Option("--user", metavar="USER", help="The copy that this user has.")
]
OfVersion = Annotated[
    int | None,
    typer.Option("--version", min=1, help="An earlier version; what is in force by default."),
]
Diff = Annotated[bool, typer.Option("--diff", help="Show what each version changed.")]


@commands("list")
def list_files(ctx: typer.Context, agent_id: AgentId, user: OfUser = None) -> None:
    """List the files in force."""
    with connect(ctx) as daemon:
        files, who = files_of(daemon, user)
        page = files.page(agent_id, *who)
        rows = [
            (item.name, item.version, item.size, item.actor, screen.ago(item.created_at_ms))
            for item in page.items
        ]
        empty = (
            f"No files yet. `{understudy()} agents files set {agent_id} SOUL.md TEXT` writes one."
        )
        columns = ("file", "version", "bytes", "by", "written")
        daemon.show(lambda: screen.table(columns, rows, empty=empty))


@commands("show", "get")
def show(
    ctx: typer.Context,
    agent_id: AgentId,
    name: FileName,
    version: OfVersion = None,
    user: OfUser = None,
) -> None:
    """Print a file as it is in force, or as it was in a version."""
    with connect(ctx) as daemon:
        if version is not None:
            show_version(daemon, agent_id, name, user, version)
            return
        files, who = files_of(daemon, user)
        view = files.get(agent_id, *who, name)
        daemon.show(lambda: screen.document(view.content))


@commands("set")
def write(
    ctx: typer.Context,
    agent_id: AgentId,
    name: FileName,
    text: Annotated[
        str | None, typer.Argument(metavar="[TEXT]", help="The content; `-` reads stdin.")
    ] = None,
    file: TextFile = None,
    user: OfUser = None,
) -> None:
    """Write a new version of a file."""
    content = inputs.content(text, file)
    with connect(ctx) as daemon:
        files, who = files_of(daemon, user)
        view = files.set(agent_id, *who, name, content)
        daemon.show(lambda: note(f"{name} of {agent_id} is at version {view.version}"))


@commands("delete")
def delete(ctx: typer.Context, agent_id: AgentId, name: FileName, user: OfUser = None) -> None:
    """Take a file out of force; its history stays."""
    with connect(ctx) as daemon:
        files, who = files_of(daemon, user)
        files.delete(agent_id, *who, name)
        daemon.show(lambda: note(f"{name} of {agent_id} is out of force"))


@commands("history")
def history(
    ctx: typer.Context,
    agent_id: AgentId,
    name: FileName,
    diff: Diff = False,
    user: OfUser = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> None:
    """List the versions of a file, newest first."""
    with connect(ctx) as daemon:
        list_versions(daemon, agent_id, name, user, limit=limit, cursor=cursor, diff=diff)


@commands("restore")
def restore(
    ctx: typer.Context,
    agent_id: AgentId,
    name: FileName,
    version: Annotated[int, typer.Argument(metavar="VERSION", help="Which version to bring back.")],
    user: OfUser = None,
) -> None:
    """Bring an earlier version back as a new one."""
    with connect(ctx) as daemon:
        restore_version(daemon, agent_id, name, user, version)
