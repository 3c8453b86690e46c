"""`understudy agents files`: what an agent's instructions are made of."""

from typing import Annotated

import typer

from understudy.cli import inputs, screen
from understudy.cli.arguments import AgentId, Cursor, Limit, TextFile
from understudy.cli.connection import connect
from understudy.cli.hints import understudy
from understudy.cli.options import Commands
from understudy.cli.output import note

commands = Commands("Context files of an agent, with their history.")

FileName = Annotated[str, typer.Argument(metavar="NAME", help="For example SOUL.md.")]


@commands("list")
def list_files(ctx: typer.Context, agent_id: AgentId) -> None:
    """List the files in force."""
    with connect(ctx) as daemon:
        page = daemon.client.agents.files.page(agent_id)
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
def show(ctx: typer.Context, agent_id: AgentId, name: FileName) -> None:
    """Print a file."""
    with connect(ctx) as daemon:
        view = daemon.client.agents.files.get(agent_id, name)
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
) -> None:
    """Write a new version of a file."""
    content = inputs.content(text, file)
    with connect(ctx) as daemon:
        view = daemon.client.agents.files.set(agent_id, name, content)
        daemon.show(lambda: note(f"{name} of {agent_id} is at version {view.version}"))


@commands("delete")
def delete(ctx: typer.Context, agent_id: AgentId, name: FileName) -> None:
    """Take a file out of force; its history stays."""
    with connect(ctx) as daemon:
        daemon.client.agents.files.delete(agent_id, name)
        daemon.show(lambda: note(f"{name} of {agent_id} is out of force"))


@commands("history")
def history(
    ctx: typer.Context,
    agent_id: AgentId,
    name: FileName,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> None:
    """List the versions of a file, newest first."""
    with connect(ctx) as daemon:
        page = daemon.client.agents.files.versions_page(agent_id, name, limit=limit, cursor=cursor)
        rows = [
            (item.version, item.size, item.actor, item.run_id, screen.ago(item.created_at_ms))
            for item in page.items
        ]
        columns = ("version", "bytes", "by", "run", "written")
        daemon.show(lambda: screen.table(columns, rows, empty="This file was never written."))


@commands("restore")
def restore(
    ctx: typer.Context,
    agent_id: AgentId,
    name: FileName,
    version: Annotated[int, typer.Argument(metavar="VERSION", help="Which version to bring back.")],
) -> None:
    """Bring an earlier version back as a new one."""
    with connect(ctx) as daemon:
        view = daemon.client.agents.files.restore(agent_id, name, version)
        daemon.show(lambda: note(f"{name} of {agent_id} is at version {view.version}"))
