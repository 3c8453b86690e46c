"""The agent store."""

from typing import Any, Final

import sqlalchemy as sa

from understudy.agents.model import UNREADABLE, Agent, AgentType, ContextFile
from understudy.core.page import Page, PageRequest
from understudy.storage.columns import read_record
from understudy.storage.paging import select_page
from understudy.storage.rows import insert_new, replace_version
from understudy.storage.schema import (
    agent_files,
    agents,
    file_proposals,
    sessions,
    user_context_files,
)
from understudy.storage.versioned_files import FileTable


class AgentStore:
    """Agents and their context files in two tables."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def get(self, agent_id: str) -> Agent | None:
        """One agent."""
        row = self._connection.execute(_AGENT, {"wanted": agent_id}).first()
        return None if row is None else _read(row)

    def add(self, agent: Agent) -> bool:
        """Store a new agent; False when the id is taken."""
        return insert_new(self._connection, agents, _row(agent))

    def update(self, agent: Agent, *, expected_version: int) -> None:
        """Replace an agent."""
        replace_version(
            self._connection,
            agents,
            agents.c.agent_id == agent.agent_id,
            _row(agent),
            expected_version=expected_version,
        )

    def delete(self, agent_id: str) -> bool:
        """Remove an agent with its files and what was proposed for them."""
        for table in (agent_files, user_context_files, file_proposals):
            self._connection.execute(sa.delete(table).where(table.c.agent_id == agent_id))
        done = self._connection.execute(sa.delete(agents).where(agents.c.agent_id == agent_id))
        return done.rowcount == 1

    def in_use(self, agent_id: str) -> bool:
        """Whether a session belongs to this agent."""
        query = sa.select(sessions.c.session_id).where(sessions.c.agent_id == agent_id).limit(1)
        return self._connection.execute(query).first() is not None

    def page(self, request: PageRequest) -> Page[Agent]:
        """Agents by id."""
        return select_page(
            self._connection, sa.select(agents), request, by=(agents.c.agent_id,), read=_read
        )

    def file(self, agent_id: str, name: str, *, version: int | None = None) -> ContextFile | None:
        """One version of a file, the newest when none is named."""
        return _FILES.one(self._connection, {"agent_id": agent_id}, name, version)

    def files(self, agent_id: str) -> tuple[ContextFile, ...]:
        """The newest version of every file."""
        return _FILES.all(self._connection, {"agent_id": agent_id})

    def add_file(self, file: ContextFile) -> bool:
        """Keep a new version; False when that version exists already."""
        return _FILES.add(self._connection, file)

    def file_versions(self, agent_id: str, name: str, request: PageRequest) -> Page[ContextFile]:
        """Versions of one file, newest first."""
        return _FILES.page(self._connection, {"agent_id": agent_id}, name, request)


def _row(agent: Agent) -> dict[str, Any]:
    return {
        "agent_id": agent.agent_id,
        "display_name": agent.display_name,
        "agent_type": str(agent.agent_type),
        "route": agent.route,
        "max_tool_iterations": agent.max_tool_iterations,
        "other_config": dict(agent.other_config),
        "permissions": dict(agent.permissions),
        "owner_id": agent.owner_id,
        "version": agent.version,
        "created_at_ms": agent.created_at_ms,
        "updated_at_ms": agent.updated_at_ms,
    }


_FILES: Final = FileTable(agent_files, "agent_id")
# Asked before every tool call, so it is put together only once.
_AGENT = sa.select(agents).where(agents.c.agent_id == sa.bindparam("wanted"))


def _read(row: Any) -> Agent:
    return read_record(row, _agent, what=f"agent {row.agent_id}")


def _agent(row: Any) -> Agent:
    return Agent(
        agent_id=row.agent_id,
        display_name=row.display_name,
        agent_type=AgentType(row.agent_type),
        route=row.route,
        max_tool_iterations=row.max_tool_iterations,
        # What does not parse must switch nothing on, forbid what rules might, and not hide the agent.
        other_config=row.other_config if isinstance(row.other_config, dict) else {},
        permissions=row.permissions if isinstance(row.permissions, dict) else UNREADABLE,
        owner_id=row.owner_id,
        version=row.version,
        created_at_ms=row.created_at_ms,
        updated_at_ms=row.updated_at_ms,
    )
