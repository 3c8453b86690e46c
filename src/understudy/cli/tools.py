"""`understudy tools` and `mcp`: the tools of agents, and the MCP servers."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from understudy.cli import inputs, permissions, screen
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.output import ExitCode, note, understudy
from understudy.cli.table import Verb, declare

if TYPE_CHECKING:
    from understudy.wire.mcp import AcceptedMcpTools
    from understudy.wire.permissions import VerdictView
    from understudy.wire.runtime import ToolView

commands = Commands("Tools: what agents can do.")

ToolName = Annotated[str, typer.Argument(metavar="TOOL", help="The tool's name.")]


TOOLS_COLUMNS: Final[screen.Layout] = {
    "tool": "name",
    "enabled": "enabled",
    "effect": "effect",
    "approval": "approval",
    "what it does": "description",
}


OF_SESSION_COLUMNS: Final[screen.Layout] = {
    "tool": "name",
    "enabled": "enabled",
    "decision": lambda item: item.decision + (" *" if item.depends_on_arguments else ""),
    "by": "level",
    "why": "reason",
}


@commands("list", show=TOOLS_COLUMNS, empty="This daemon has no tools.")
def list_tools(
    daemon: DaemonConnection,
    session: Annotated[
        str | None, typer.Option(help="As this session has them: what is gated, and why.")
    ] = None,
) -> object:
    """List tools, what a repeat of a call would do, and whether a person must agree."""
    if session is None:
        return daemon.client.tools.page(limit=200)
    page = daemon.client.tools.in_session_page(session, limit=200)
    daemon.show_answer(page, OF_SESSION_COLUMNS, empty="This session has no tools.")
    if any(item.depends_on_arguments for item in page.items) and not daemon.as_json:
        note(f"* depends on what it is called with: try `{understudy()} tools check`")
    return None


def _explain(verdict: "VerdictView") -> None:
    screen.record(verdict, {"decision": "decision", "by": "level", "why": "reason"})
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


@commands("check", show=_explain)
def check(
    daemon: DaemonConnection,
    name: ToolName,
    arguments: Annotated[
        str | None, typer.Option(metavar="JSON", help="What it would be called with.")
    ] = None,
    session: Annotated[str | None, typer.Option(help="In which session.")] = None,
    agent: Annotated[str | None, typer.Option(help="By which agent.")] = None,
) -> object:
    """Say what would become of a call, and which rule says so; nothing is run."""
    given = inputs.json_object(arguments, "--arguments")
    return daemon.client.tools.check(name, given, session_id=session, agent_id=agent)


def _show_switch(view: "ToolView") -> None:
    note(f"{view.name} is {'enabled' if view.enabled else 'disabled'}")


@commands("enable", show=_show_switch)
def enable(daemon: DaemonConnection, name: ToolName) -> object:
    """Let agents use a tool."""
    return daemon.client.tools.set(name, enabled=True)


@commands("disable", show=_show_switch)
def disable(daemon: DaemonConnection, name: ToolName) -> object:
    """Keep agents from using a tool."""
    return daemon.client.tools.set(name, enabled=False)


mcp = Commands("MCP: servers whose tools agents can use; alone it serves other agents on stdio.")


SERVERS_COLUMNS: Final[screen.Layout] = {
    "server": "name",
    "transport": "transport",
    "state": "state",
    "tools": "tools",
    "not accepted": "unaccepted",
    "why": lambda item: item.reason or "",
}


@mcp(
    "list",
    show=SERVERS_COLUMNS,
    empty="No MCP servers. Write [mcp.servers.NAME] into the config file.",
)
def list_servers(daemon: DaemonConnection) -> object:
    """List the servers of the config file, and how they stand."""
    return daemon.client.mcp_servers.page(limit=200)


@mcp("tools")
def list_mcp_tools(
    daemon: DaemonConnection,
    server: Annotated[
        str | None, typer.Argument(metavar="[SERVER]", help="Only of this server.")
    ] = None,
) -> None:
    """List the tools of the servers that are up; a server starts when a run first needs it."""
    start = "" if server is None else f"{server}/"
    found = [
        item
        for item in daemon.client.tools.list()
        if "/" in item.name and item.name.startswith(start)
    ]
    # All pages of the answer were read, and what is left of it has its form.
    items = [item.model_dump(mode="json") for item in found]
    daemon.answer = {"items": items, "next_cursor": None}
    rows = [
        (item.name, item.effect, item.approval, item.accepted, item.description) for item in found
    ]
    columns = ("tool", "effect", "approval", "accepted", "what it does")
    empty = f"No tools. `{understudy()} mcp restart SERVER` starts a server at once."
    daemon.show(lambda: screen.table(columns, rows, empty=empty))


ServerName = Annotated[str, typer.Argument(metavar="SERVER", help="The server's name.")]


def _show_accepted(view: "AcceptedMcpTools") -> None:
    rows = [(tool.name, tool.description) for tool in view.tools]
    screen.table(("accepted", "what it does"), rows, empty="This server has no tools.")


@mcp("restart")
def restart(daemon: DaemonConnection, name: ServerName) -> None:
    """Start a server anew, whether it runs or not; fails if it does not come up."""
    view = daemon.client.mcp_servers.restart(name)
    why = f": {view.reason}" if view.reason else ""
    tools = screen.count(view.tools, "tool")
    daemon.show(lambda: note(f"{view.name} is {view.state} with {tools}{why}"))
    if view.state != "ready":
        raise typer.Exit(ExitCode.FAILED)


declare(
    mcp,
    Verb(
        names="accept",
        call="mcp_servers.accept",
        show=_show_accepted,
        options={"digests": "digest"},
    ),
)
