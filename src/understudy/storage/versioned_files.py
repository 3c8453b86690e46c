"""Context files in a table, one row per version; the newest is the one in force."""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from understudy.agents.model import ContextFile
from understudy.core.page import Page, PageRequest
from understudy.storage.columns import read_record
from understudy.storage.paging import select_page
from understudy.storage.rows import insert_new

# The columns that say whose files they are, with their values.
Owner = Mapping[str, str]


class FileTable:
    """A table of versions, and what is asked of it, put together only once."""

    def __init__(self, table: sa.Table, *owned_by: str) -> None:
        self.table = table
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

    def one(
        self, connection: sa.Connection, owner: Owner, name: str, version: int | None
    ) -> ContextFile | None:
        """One version of a file, the newest when none is named."""
        values: dict[str, Any] = {**owner, "file_name": name}
        query = self.newest
        if version is not None:
            query, values["file_version"] = self.version, version
        row = connection.execute(query, values).first()
        return None if row is None else read_file(row)

    def all(self, connection: sa.Connection, owner: Owner) -> tuple[ContextFile, ...]:
        """The newest version of every file."""
        rows = connection.execute(self.in_force, dict(owner))
        return tuple(read_file(row) for row in rows)

    def add(self, connection: sa.Connection, file: ContextFile) -> bool:
        """Keep a new version; False when that version exists already."""
        values = {column.name: getattr(file, column.name) for column in self.table.c}
        return insert_new(connection, self.table, values)

    def page(
        self, connection: sa.Connection, owner: Owner, name: str, request: PageRequest
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
    """A version as it is stored."""
    return read_record(row, _file, what=f"file {row.name} of agent {row.agent_id}")


def _file(row: Any) -> ContextFile:
    return ContextFile(
        agent_id=row.agent_id,
        name=row.name,
        version=row.version,
        content=row.content + "",
        actor=row.actor,
        run_id=row.run_id,
        created_at_ms=row.created_at_ms,
        user_id=getattr(row, "user_id", None),
    )
