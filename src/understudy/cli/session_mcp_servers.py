"""`understudy sessions mcp-servers`: MCP servers for one session alone."""

from typing import TYPE_CHECKING, Annotated

import typer

from understudy.cli import inputs, screen
from understudy.cli.arguments import SessionId
from understudy.cli.connection import Connection, connect
from understudy.cli.options import Commands

if TYPE_CHECKING:
    from understudy.wire.mcp import SessionMcpServersView

commands = Commands("MCP servers that a session has for itself.")


@commands("show", "get")
def show(ctx: typer.Context, session_id: SessionId) -> None:
    """Show the servers that a session has for itself, and how they stand."""
    with connect(ctx) as daemon:
        _show(daemon, daemon.client.mcp_servers.of_session(session_id))


@commands("set")
def replace(
    ctx: typer.Context,
    session_id: SessionId,
    servers: Annotated[
        str,
        typer.Argument(
            metavar="JSON|@FILE", help='By name, such as {"docs": {"url": "https://…/mcp"}}.'
        ),
    ],
) -> None:
    """Give future runs of a session these servers and no others of its own."""
    from understudy.wire.mcp import SetSessionMcpServers

    given = inputs.json_argument(servers, "JSON")
    with connect(ctx) as daemon:
        # What the API takes, or just the servers in it: no server's name has an underscore.
        body = given if given and "mcp_servers" in given else {"mcp_servers": given}
        wanted = SetSessionMcpServers.model_validate(body).mcp_servers
        _show(daemon, daemon.client.mcp_servers.set_for_session(session_id, wanted))


@commands("clear")
def clear(ctx: typer.Context, session_id: SessionId) -> None:
    """Leave a session with the servers of the config file alone."""
    with connect(ctx) as daemon:
        _show(daemon, daemon.client.mcp_servers.clear_for_session(session_id))


def _show(daemon: Connection, view: "SessionMcpServersView") -> None:
    rows = [
        (name, each.transport, each.state, each.tools, each.url or each.command, each.reason or "")
        for name, each in view.mcp_servers.items()
    ]
    columns = ("server", "transport", "state", "tools", "what", "why")
    empty = "The session has no servers of its own."
    daemon.show(lambda: screen.table(columns, rows, empty=empty))
