"""The stores of runtime revisions and of the switches of tools."""

import sqlalchemy as sa

from understudy.runtime.service import Revision
from understudy.storage.revision_cache import RevisionCache
from understudy.storage.rows import from_row, insert_new, to_row
from understudy.storage.schema import runtime_revisions, tool_switches
from understudy.storage.visible_connection import VisibleConnection


class RevisionStore:
    """Revisions in a table."""

    def __init__(self, connection: VisibleConnection, cache: RevisionCache, since: int) -> None:
        self._connection = connection
        self._cache = cache
        # The count of the cache when the unit began.
        self._since = since

    def latest(self) -> Revision | None:
        """The revision in force."""
        if RevisionCache.TABLE in self._connection.changed:
            return self.stored()
        return self._cache.read(self.stored, since=self._since)

    def stored(self) -> Revision | None:
        """The revision in force, read anew: another daemon may have just changed it."""
        row = self._connection.execute(_LATEST).first()
        return None if row is None else from_row(row, Revision)

    def get(self, revision: int) -> Revision | None:
        """One revision."""
        query = sa.select(runtime_revisions).where(runtime_revisions.c.revision == revision)
        row = self._connection.execute(query).first()
        return None if row is None else from_row(row, Revision)

    def all(self) -> tuple[Revision, ...]:
        """The stored revisions, newest first."""
        query = sa.select(runtime_revisions).order_by(runtime_revisions.c.revision.desc())
        return tuple(from_row(row, Revision) for row in self._connection.execute(query))

    def add(self, revision: Revision, *, keep: int) -> bool:
        """Insert the next revision and delete the oldest beyond `keep`; False if it exists."""
        if not insert_new(self._connection, runtime_revisions, to_row(revision, runtime_revisions)):
            return False
        self._connection.execute(
            sa.delete(runtime_revisions).where(
                runtime_revisions.c.revision <= revision.revision - keep
            )
        )
        return True


# Built once: it runs before every tool call.
_LATEST = sa.select(runtime_revisions).order_by(runtime_revisions.c.revision.desc()).limit(1)


class ToolSwitchStore:
    """Tool switches in a table; a tool without a row is on."""

    def __init__(self, connection: VisibleConnection) -> None:
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


# Built once: it runs before every tool call.
_DISABLED = sa.select(tool_switches.c.name).where(tool_switches.c.enabled.is_(False))
