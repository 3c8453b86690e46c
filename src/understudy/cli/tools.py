"""`understudy tools`: what agents can do."""

from typing import Annotated

import typer

from understudy.cli import screen
from understudy.cli.connection import connect
from understudy.cli.options import Commands
from understudy.cli.output import note

commands = Commands("Tools: what agents can do.")

ToolName = Annotated[str, typer.Argument(metavar="TOOL", help="The tool's name.")]


@commands("list")
def list_tools(ctx: typer.Context) -> None:
    """List tools, what a repeat of a call would do, and whether a person must agree."""
    with connect(ctx) as daemon:
        page = daemon.client.tools.page(limit=200)
        rows = [
            (item.name, item.enabled, item.effect, item.approval, item.description)
            for item in page.items
        ]
        columns = ("tool", "enabled", "effect", "approval", "what it does")
        daemon.show(lambda: screen.table(columns, rows, empty="This daemon has no tools."))


@commands("enable")
def enable(ctx: typer.Context, name: ToolName) -> None:
    """Let agents use a tool."""
    _set(ctx, name, enabled=True)


@commands("disable")
def disable(ctx: typer.Context, name: ToolName) -> None:
    """Keep agents from using a tool."""
    _set(ctx, name, enabled=False)


def _set(ctx: typer.Context, name: str, *, enabled: bool) -> None:
    with connect(ctx) as daemon:
        view = daemon.client.tools.set(name, enabled=enabled)
        daemon.show(lambda: note(f"{view.name} is {'enabled' if view.enabled else 'disabled'}"))
