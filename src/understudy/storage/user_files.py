"""The store of the context files that users have for themselves."""

from typing import Final

import sqlalchemy as sa

from understudy.agents.model import ContextFile
from understudy.core.page import Page, PageRequest
from understudy.storage.schema import user_context_files
from understudy.storage.versioned_files import FileTable, Owner

_FILES: Final = FileTable(user_context_files, "agent_id", "user_id")
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
    """The copies of context files that users have for themselves, with their history."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def file(
        self, agent_id: str, user_id: str, name: str, *, version: int | None = None
    ) -> ContextFile | None:
        """One version of a user's copy, the newest when none is named."""
        return _FILES.one(self._connection, _owner(agent_id, user_id), name, version)

    def files(self, agent_id: str, user_id: str) -> tuple[ContextFile, ...]:
        """The newest version of every copy of a user's."""
        return _FILES.all(self._connection, _owner(agent_id, user_id))

    def add_file(self, file: ContextFile) -> bool:
        """Keep a new version; False when that version exists already."""
        return _FILES.add(self._connection, file)

    def file_versions(
        self, agent_id: str, user_id: str, name: str, request: PageRequest
    ) -> Page[ContextFile]:
        """Versions of one copy, newest first."""
        return _FILES.page(self._connection, _owner(agent_id, user_id), name, request)

    def users(self, agent_id: str, name: str) -> tuple[str, ...]:
        """The users who have a copy of a file, by id."""
        values = {"of_agent": agent_id, "file_name": name}
        return tuple(self._connection.execute(_USERS, values).scalars())


def _owner(agent_id: str, user_id: str) -> Owner:
    return {"agent_id": agent_id, "user_id": user_id}
