"""The stores of runtime revisions and of the switches of tools."""

from dataclasses import asdict
from typing import Any

import sqlalchemy as sa

from understudy.runtime.model import Revision
from understudy.storage.columns import read_record
from understudy.storage.rows import insert_new
from understudy.storage.schema import runtime_revisions, tool_switches


class RevisionStore:
    """Revisions in a table."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def latest(self) -> Revision | None:
        """The revision in force."""
        row = self._connection.execute(_LATEST).first()
        return None if row is None else _read(row)

    def get(self, revision: int) -> Revision | None:
        """One revision."""
        query = sa.select(runtime_revisions).where(runtime_revisions.c.revision == revision)
        row = self._connection.execute(query).first()
        return None if row is None else _read(row)

    def all(self) -> tuple[Revision, ...]:
        """Kept revisions, newest first."""
        query = sa.select(runtime_revisions).order_by(runtime_revisions.c.revision.desc())
        return tuple(_read(row) for row in self._connection.execute(query))

    def add(self, revision: Revision, *, keep: int) -> bool:
        """Store the next revision and drop the oldest past `keep`; False when the number is taken."""
        if not insert_new(self._connection, runtime_revisions, asdict(revision)):
            return False
        self._connection.execute(
            sa.delete(runtime_revisions).where(
                runtime_revisions.c.revision <= revision.revision - keep
            )
        )
        return True


# Asked before every tool call, so it is put together only once.
_LATEST = sa.select(runtime_revisions).order_by(runtime_revisions.c.revision.desc()).limit(1)


def _read(row: Any) -> Revision:
    return read_record(row, _revision, what=f"runtime revision {row.revision}")


def _revision(row: Any) -> Revision:
    return Revision(
        revision=row.revision,
        updated_at_ms=row.updated_at_ms,
        actor=row.actor,
        setting=row.setting,
        document=dict(row.document),
        rollback_of_revision=row.rollback_of_revision,
    )


class ToolSwitchStore:
    """Tool switches in a table; a tool that is not mentioned is on."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def disabled(self) -> frozenset[str]:
        """The tools that are off."""
        return frozenset(self._connection.execute(_DISABLED).scalars())

    def set(self, name: str, *, enabled: bool) -> None:
        """Switch a tool on or off."""
        if insert_new(self._connection, tool_switches, {"name": name, "enabled": enabled}):
            return
        self._connection.execute(
            sa.update(tool_switches).where(tool_switches.c.name == name).values(enabled=enabled)
        )


# Asked before every tool call, so it is put together only once.
_DISABLED = sa.select(tool_switches.c.name).where(tool_switches.c.enabled.is_(False))
