"""`understudy mcp`: the servers whose tools agents can use."""

from typing import Annotated

import typer

from understudy.cli import screen
from understudy.cli.connection import connect
from understudy.cli.hints import understudy
from understudy.cli.options import Commands
from understudy.cli.output import ExitCode, note

commands = Commands("MCP: servers whose tools agents can use.")


@commands("list")
def list_servers(ctx: typer.Context) -> None:
    """List the servers of the config file, and how they stand."""
    with connect(ctx) as daemon:
        page = daemon.client.mcp_servers.page(limit=200)
        rows = [
            (item.name, item.transport, item.state, item.tools, item.reason or "")
            for item in page.items
        ]
        columns = ("server", "transport", "state", "tools", "why")
        empty = "No MCP servers. Write [mcp.servers.NAME] into the config file."
        daemon.show(lambda: screen.table(columns, rows, empty=empty))


@commands("tools")
def list_tools(
    ctx: typer.Context,
    server: Annotated[
        str | None, typer.Argument(metavar="[SERVER]", help="Only of this server.")
    ] = None,
) -> None:
    """List the tools of the servers that are up; a server starts when a run first needs it."""
    start = "" if server is None else f"{server}/"
    with connect(ctx) as daemon:
        found = [
            item
            for item in daemon.client.tools.list()
            if "/" in item.name and item.name.startswith(start)
        ]
        # All pages of the answer were read, and what is left of it has its form.
        items = [item.model_dump(mode="json") for item in found]
        daemon.answer = {"items": items, "next_cursor": None}
        rows = [(item.name, item.effect, item.approval, item.description) for item in found]
        columns = ("tool", "effect", "approval", "what it does")
        empty = f"No tools. `{understudy()} mcp restart SERVER` starts a server at once."
        daemon.show(lambda: screen.table(columns, rows, empty=empty))


@commands("restart")
def restart(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="SERVER", help="The server's name.")],
) -> None:
    """Start a server anew, whether it runs or not; fails if it does not come up."""
    with connect(ctx) as daemon:
        view = daemon.client.mcp_servers.restart(name)
        why = f": {view.reason}" if view.reason else ""
        tools = screen.count(view.tools, "tool")
        daemon.show(lambda: note(f"{view.name} is {view.state} with {tools}{why}"))
        if view.state != "ready":
            raise typer.Exit(ExitCode.FAILED)
