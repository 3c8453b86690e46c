"""`understudy tools` and `mcp`: what agents can do, and the servers whose tools they can use."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from understudy.cli import inputs, permissions, screen
from understudy.cli.connection import DaemonConnection, connect
from understudy.cli.options import Commands
from understudy.cli.output import ExitCode, note, understudy

if TYPE_CHECKING:
    from understudy.wire.permissions import VerdictView

commands = Commands("Tools: what agents can do.")

ToolName = Annotated[str, typer.Argument(metavar="TOOL", help="The tool's name.")]


TOOLS_COLUMNS: Final[screen.Layout] = {
    "tool": "name",
    "enabled": "enabled",
    "effect": "effect",
    "approval": "approval",
    "what it does": "description",
}


@commands("list")
def list_tools(
    ctx: typer.Context,
    session: Annotated[
        str | None, typer.Option(help="As this session has them: what is gated, and why.")
    ] = None,
) -> None:
    """List tools, what a repeat of a call would do, and whether a person must agree."""
    with connect(ctx) as daemon:
        if session is not None:
            _list_of_session(daemon, session)
            return
        page = daemon.client.tools.page(limit=200)
        daemon.show_page(page, TOOLS_COLUMNS, empty="This daemon has no tools.")


@commands("check")
def check(
    ctx: typer.Context,
    name: ToolName,
    arguments: Annotated[
        str | None, typer.Option(metavar="JSON", help="What it would be called with.")
    ] = None,
    session: Annotated[str | None, typer.Option(help="In which session.")] = None,
    agent: Annotated[str | None, typer.Option(help="By which agent.")] = None,
) -> None:
    """Say what would become of a call, and which rule says so; nothing is run."""
    given = inputs.json_object(arguments, "--arguments")
    with connect(ctx) as daemon:
        verdict = daemon.client.tools.check(name, given, session_id=session, agent_id=agent)
        daemon.show(lambda: _explain(verdict))


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


LIST_OF_SESSION_COLUMNS: Final[screen.Layout] = {
    "tool": "name",
    "enabled": "enabled",
    "decision": lambda item: item.decision + (" *" if item.depends_on_arguments else ""),
    "by": "level",
    "why": "reason",
}


def _list_of_session(daemon: DaemonConnection, session_id: str) -> None:
    page = daemon.client.tools.in_session_page(session_id, limit=200)
    daemon.show_page(page, LIST_OF_SESSION_COLUMNS, empty="This session has no tools.")
    if any(item.depends_on_arguments for item in page.items) and not daemon.as_json:
        note(f"* depends on what it is called with: try `{understudy()} tools check`")


def _explain(verdict: "VerdictView") -> None:
    pairs = [("decision", verdict.decision), ("by", verdict.level), ("why", verdict.reason)]
    screen.fields(pairs)
    rows = [
        (
            *permissions.row(
                " ".join(filter(None, (line.level, line.owner))), line.index, line.rule
            )[:-1],
            line.matched,
            line.why,
        )
        for line in verdict.trace
    ]
    if rows:
        print()
        screen.table((*permissions.COLUMNS[:-1], "matched", "why"), rows, empty="")


mcp = Commands("MCP: servers whose tools agents can use.")


SERVERS_COLUMNS: Final[screen.Layout] = {
    "server": "name",
    "transport": "transport",
    "state": "state",
    "tools": "tools",
    "why": lambda item: item.reason or "",
}


@mcp("list")
def list_servers(ctx: typer.Context) -> None:
    """List the servers of the config file, and how they stand."""
    with connect(ctx) as daemon:
        page = daemon.client.mcp_servers.page(limit=200)
        empty = "No MCP servers. Write [mcp.servers.NAME] into the config file."
        daemon.show_page(page, SERVERS_COLUMNS, empty=empty)


@mcp("tools")
def list_mcp_tools(
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


@mcp("restart")
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
