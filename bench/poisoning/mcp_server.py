"""An MCP server that answers with the text of a ticket; `python mcp_server.py FOLDER`."""

import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

server = MCPServer("tickets")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def lookup(ticket: str) -> str:
    """The text of a ticket."""
    return (Path(sys.argv[1]) / Path(ticket.rstrip(".")).name).read_text(encoding="utf-8")


if __name__ == "__main__":
    server.run()
