"""The stores of personas and of projects."""

import json
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from understudy.core.page import Page, PageRequest
from understudy.sessions.model import Persona, Project, ProjectStatus
from understudy.storage.engine import Dialect
from understudy.storage.rows import folded, search_text
from understudy.storage.schema import personas, project_sessions, projects
from understudy.storage.table import Table
from understudy.storage.visible_connection import VisibleConnection


class ProjectStore(Table[Project]):
    """Projects in a table, with their sessions in another for lookups."""

    table = projects
    kind = Project

    def __init__(self, connection: VisibleConnection, dialect: Dialect) -> None:
        super().__init__(connection, dialect)
        # Of this unit, for callers whose results are not shared.
        self._of_session: dict[str, tuple[str, ...]] = {}

    def add(self, project: Project) -> bool:
        """Store a new project; False when the id is taken."""
        added = super().add(project)
        if added:
            self._link(project)
        return added

    def update(self, project: Project, *, expected_version: int | None = None) -> None:
        """Replace a project."""
        super().update(project, expected_version=expected_version)
        self._link(project)

    def delete(self, *key: str) -> bool:
        """Remove a project; its sessions stay."""
        self._unlink(*key)
        return super().delete(*key)

    def page(
        self,
        request: PageRequest,
        *,
        query: str | None = None,
        status: ProjectStatus | None = None,
        session_id: str | None = None,
        ids: Sequence[str] | None = None,
    ) -> Page[Project]:
        """Projects by id; all, or those with a status, a session or words."""
        select = self._select(status=status)
        if ids is not None:
            select = select.where(projects.c.project_id.in_(ids))
        if query:
            select = select.where(projects.c.search.contains(folded(query), autoescape=True))
        if session_id is not None:
            linked = sa.select(project_sessions.c.project_id)
            linked = linked.where(project_sessions.c.session_id == session_id)
            select = select.where(projects.c.project_id.in_(linked))
        return self._page(request, select)

    def ids_for_session(self, session_id: str) -> tuple[str, ...]:
        """The projects that a session is a member of."""
        if session_id not in self._of_session:
            found = self._connection.execute(_OF_SESSION, {"member": session_id})
            self._of_session[session_id] = tuple(found.scalars())
        return self._of_session[session_id]

    def ids_for_sessions(self, session_ids: Sequence[str]) -> tuple[str, ...]:
        """The projects that any of these sessions is a member of."""
        found = self._connection.execute(_OF_SESSIONS, {"members": tuple(session_ids)})
        return tuple(found.scalars())

    def ids_linking(self, channel_id: str) -> tuple[str, ...]:
        """The projects that link a channel."""
        # Most records do not even hold the id: only the others are parsed.
        named = sa.type_coerce(projects.c.body, sa.Text).contains(
            json.dumps(channel_id), autoescape=True
        )
        query = self._select(named).order_by(projects.c.project_id)
        linked = map(self._read, self._connection.execute(query))
        return tuple(each.project_id for each in linked if channel_id in each.channel_links)

    def _link(self, project: Project) -> None:
        self._unlink(project.project_id)
        links = [
            {"project_id": project.project_id, "session_id": member.session_id}
            for member in project.members
            if member.session_id is not None
        ]
        if links:
            self._connection.execute(sa.insert(project_sessions), links)

    def _unlink(self, project_id: str) -> None:
        self._of_session.clear()
        self._connection.execute(
            sa.delete(project_sessions).where(project_sessions.c.project_id == project_id)
        )

    def _row(self, project: Project) -> dict[str, Any]:
        found_by = search_text(project.project_id, project.display_name, project.description or "")
        return {**super()._row(project), "search": found_by}


_OF_SESSION = (
    sa.select(project_sessions.c.project_id)
    .where(project_sessions.c.session_id == sa.bindparam("member"))
    .order_by(project_sessions.c.project_id)
)
_OF_SESSIONS = (
    sa.select(project_sessions.c.project_id)
    .where(project_sessions.c.session_id.in_(sa.bindparam("members", expanding=True)))
    .distinct()
    .order_by(project_sessions.c.project_id)
)


class PersonaStore(Table[Persona]):
    """Personas in a table."""

    table = personas
    kind = Persona

    def page(self, request: PageRequest, *, query: str | None = None) -> Page[Persona]:
        """Personas by id; `query` is searched in id and name."""
        columns = (personas.c.persona_id, personas.c.display_name)
        holds = (column.icontains(query, autoescape=True) for column in columns)
        return self._page(request, self._select(sa.or_(*holds)) if query else self._select())
