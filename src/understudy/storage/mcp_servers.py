"""The store of the MCP servers that sessions have for themselves."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import sqlalchemy as sa

from understudy.mcp_client.model import SessionServer
from understudy.storage.columns import read_record
from understudy.storage.schema import session_mcp_servers


class SessionServerStore:
    """The servers that sessions have for themselves."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def of(self, session_id: str) -> tuple[SessionServer, ...]:
        """A session's servers, by name."""
        query = sa.select(session_mcp_servers).where(session_mcp_servers.c.session_id == session_id)
        found = [
            read_record(row, _server, what=f"MCP server {row.name}")
            for row in self._connection.execute(query)
        ]
        # Sorted here, because databases disagree about the order of text.
        return tuple(sorted(found, key=lambda server: server.name))

    def replace(self, session_id: str, servers: Sequence[SessionServer]) -> None:
        """Give a session these servers and no others."""
        self._connection.execute(
            sa.delete(session_mcp_servers).where(session_mcp_servers.c.session_id == session_id)
        )
        rows = [
            {"session_id": session_id, "name": server.name, "body": asdict(server)}
            for server in servers
        ]
        if rows:
            self._connection.execute(sa.insert(session_mcp_servers), rows)


def _server(row: Any) -> SessionServer:
    return SessionServer(**{**row.body, "name": row.name, "args": tuple(row.body["args"])})
