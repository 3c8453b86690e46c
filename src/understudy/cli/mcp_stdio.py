"""`understudy mcp`: the MCP server of a daemon, for programs that talk to it on stdio."""

import asyncio
import sys

import typer

from understudy.cli.connection import Commands, destination
from understudy.cli.output import note

commands = Commands(
    "MCP: servers whose tools agents can use; alone it serves other agents on stdio."
)


@commands("stdio")
def stdio(ctx: typer.Context) -> None:
    """Serve reviewed memory and skills on stdin and stdout, as `/mcp` does over HTTP."""
    from understudy.mcp.stdio import Relay

    where = destination(ctx)
    if sys.stdin.isatty():
        note("An MCP client is to start this, and talks to it on stdin; Ctrl-C ends it.")
    asyncio.run(Relay(where.url, where.token).serve())
