"""An MCP server that answers with the text of a ticket; `python mcp_server.py FOLDER [DESCRIPTION]`."""

import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

server = MCPServer("tickets")


DESCRIPTION = sys.argv[2] if len(sys.argv) > 2 else "The text of a ticket."


@server.tool(annotations=ToolAnnotations(read_only_hint=True), description=DESCRIPTION)
def lookup(ticket: str) -> str:
    return (Path(sys.argv[1]) / Path(ticket.rstrip(".")).name).read_text(encoding="utf-8")


if __name__ == "__main__":
    server.run()
