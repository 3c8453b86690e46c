"""The stores of agents, and of all versions of their context files and of users' copies."""

from collections.abc import Mapping
from typing import Any, Final

import sqlalchemy as sa

from understudy.agents.model import UNREADABLE, Agent, ContextFile
from understudy.core.page import Page, PageRequest
from understudy.storage.rows import from_row, insert_new, select_page, to_row
from understudy.storage.schema import (
    agent_files,
    agents,
    file_proposals,
    sessions,
    user_context_files,
)
from understudy.storage.table import Table
from understudy.storage.visible_connection import VisibleConnection

# The columns that identify the owner of a file, with their values.
Owner = Mapping[str, str]


class FileTable:
    """A table of file versions with its queries, built once."""

    def __init__(self, table: sa.Table, *owned_by: str) -> None:
        self.table = table
        self.owned_by = owned_by
        owner = [table.c[column] == sa.bindparam(column) for column in owned_by]
        newest = (
            sa.select(table.c.name, sa.func.max(table.c.version).label("version"))
            .where(*owner)
            .group_by(table.c.name)
            .subquery()
        )
        is_newest = sa.and_(table.c.name == newest.c.name, table.c.version == newest.c.version)
        self.in_force = (
            sa.select(table).join(newest, is_newest).where(*owner).order_by(table.c.name)
        )
        self.of_name = sa.select(table).where(*owner, table.c.name == sa.bindparam("file_name"))
        self.newest = self.of_name.order_by(table.c.version.desc()).limit(1)
        self.version = self.of_name.where(table.c.version == sa.bindparam("file_version"))
        self.of_people = self.newest.where(
            table.c.version < sa.bindparam("file_version"),
            sa.or_(table.c.run_id.is_(None), table.c.reviewed_by.is_not(None)),
        )

    def one(
        self, connection: VisibleConnection, owner: Owner, name: str, version: int | None
    ) -> ContextFile | None:
        """One version of a file, the newest when none is named."""
        values: dict[str, Any] = {**owner, "file_name": name}
        query = self.newest
        if version is not None:
            query, values["file_version"] = self.version, version
        row = connection.execute(query, values).first()
        return None if row is None else read_file(row)

    def of_people_before(
        self, connection: VisibleConnection, file: ContextFile
    ) -> ContextFile | None:
        """The newest version before this one that a person wrote or accepted."""
        owner = {column: getattr(file, column) for column in self.owned_by}
        values = {**owner, "file_name": file.name, "file_version": file.version}
        row = connection.execute(self.of_people, values).first()
        return None if row is None else read_file(row)

    def accept(self, connection: VisibleConnection, file: ContextFile) -> None:
        """Store who has accepted a version."""
        key = ("name", "version", *self.owned_by)
        connection.execute(
            sa.update(self.table)
            .where(*(self.table.c[column] == getattr(file, column) for column in key))
            .values(reviewed_by=file.reviewed_by, untrusted_sources=list(file.untrusted_sources))
        )

    def all(self, connection: VisibleConnection, owner: Owner) -> tuple[ContextFile, ...]:
        """The newest version of every file."""
        rows = connection.execute(self.in_force, dict(owner))
        return tuple(read_file(row) for row in rows)

    def add(self, connection: VisibleConnection, file: ContextFile) -> bool:
        """Insert a new version; False when that version exists already."""
        return insert_new(connection, self.table, to_row(file, self.table))

    def page(
        self, connection: VisibleConnection, owner: Owner, name: str, request: PageRequest
    ) -> Page[ContextFile]:
        """Versions of one file, newest first."""
        return select_page(
            connection,
            self.of_name.params(**owner, file_name=name),
            request,
            by=(self.table.c.version,),
            read=read_file,
            descending=True,
        )


def read_file(row: Any) -> ContextFile:
    """The context file in a row."""
    return from_row(row, ContextFile)


class AgentStore(Table[Agent]):
    """Agents and their context files in two tables."""

    table = agents
    kind = Agent

    def delete(self, *key: str) -> bool:
        """Delete an agent with its files and the proposals for them."""
        for table in (agent_files, user_context_files, file_proposals):
            self._connection.execute(sa.delete(table).where(table.c.agent_id.in_(key)))
        return super().delete(*key)

    def in_use(self, agent_id: str) -> bool:
        """Whether a session belongs to this agent."""
        query = sa.select(sessions.c.session_id).where(sessions.c.agent_id == agent_id).limit(1)
        return self._connection.execute(query).first() is not None

    def page(self, request: PageRequest) -> Page[Agent]:
        """Agents by id."""
        return self._page(request, self._select())

    def file(self, agent_id: str, name: str, *, version: int | None = None) -> ContextFile | None:
        """One version of a file, the newest when none is named."""
        return _FILES.one(self._connection, {"agent_id": agent_id}, name, version)

    def files(self, agent_id: str) -> tuple[ContextFile, ...]:
        """The newest version of every file."""
        return _FILES.all(self._connection, {"agent_id": agent_id})

    def add_file(self, file: ContextFile) -> bool:
        """Insert a new version; False when that version exists already."""
        return _FILES.add(self._connection, file)

    def of_people_before(self, file: ContextFile) -> ContextFile | None:
        """The newest earlier version of a file or copy that a person wrote or accepted."""
        return _table_of(file).of_people_before(self._connection, file)

    def accept_file(self, file: ContextFile) -> None:
        """Store who has accepted a version of a file or copy."""
        _table_of(file).accept(self._connection, file)

    def file_versions(self, agent_id: str, name: str, request: PageRequest) -> Page[ContextFile]:
        """Versions of one file, newest first."""
        return _FILES.page(self._connection, {"agent_id": agent_id}, name, request)

    def _read(self, row: Any) -> Agent:
        # A damaged record must enable no switch, deny what rules might deny, and not hide the agent.
        return from_row(
            row,
            Agent,
            other_config=row.other_config if isinstance(row.other_config, dict) else {},
            permissions=row.permissions if isinstance(row.permissions, dict) else UNREADABLE,
        )


_FILES: Final = FileTable(agent_files, "agent_id")
_USER_FILES: Final = FileTable(user_context_files, "agent_id", "user_id")


def _table_of(file: ContextFile) -> FileTable:
    return _FILES if file.user_id is None else _USER_FILES


_USERS: Final = (
    sa.select(user_context_files.c.user_id)
    .where(
        user_context_files.c.agent_id == sa.bindparam("of_agent"),
        user_context_files.c.name == sa.bindparam("file_name"),
    )
    .distinct()
    .order_by(user_context_files.c.user_id)
)


class UserFileStore:
    """Users' copies of context files, with their history."""

    def __init__(self, connection: VisibleConnection) -> None:
        self._connection = connection

    def file(
        self, agent_id: str, user_id: str, name: str, *, version: int | None = None
    ) -> ContextFile | None:
        """One version of a user's copy, the newest when none is named."""
        return _USER_FILES.one(self._connection, _owner(agent_id, user_id), name, version)

    def files(self, agent_id: str, user_id: str) -> tuple[ContextFile, ...]:
        """The newest version of every copy of a user."""
        return _USER_FILES.all(self._connection, _owner(agent_id, user_id))

    def add_file(self, file: ContextFile) -> bool:
        """Insert a new version; False when that version exists already."""
        return _USER_FILES.add(self._connection, file)

    def file_versions(
        self, agent_id: str, user_id: str, name: str, request: PageRequest
    ) -> Page[ContextFile]:
        """Versions of one copy, newest first."""
        return _USER_FILES.page(self._connection, _owner(agent_id, user_id), name, request)

    def users(self, agent_id: str, name: str) -> tuple[str, ...]:
        """The users who have a copy of a file, by id."""
        values = {"of_agent": agent_id, "file_name": name}
        return tuple(self._connection.execute(_USERS, values).scalars())


def _owner(agent_id: str, user_id: str) -> Owner:
    return {"agent_id": agent_id, "user_id": user_id}
