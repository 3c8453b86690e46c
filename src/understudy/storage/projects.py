"""The stores of personas and of projects."""

import json
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from understudy.core.page import Page, PageRequest
from understudy.sessions.model import Persona, Project, ProjectStatus
from understudy.storage.engine import Dialect
from understudy.storage.rows import (
    folded,
    from_row,
    insert_new,
    replace_version,
    search_text,
    select_page,
    to_row,
)
from understudy.storage.schema import personas, project_sessions, projects
from understudy.storage.visible_connection import VisibleConnection


class ProjectStore:
    """Projects in a table, with their sessions in another for lookups."""

    def __init__(self, connection: VisibleConnection, dialect: Dialect) -> None:
        self._connection = connection
        self._dialect = dialect
        # Of this unit, for callers whose results are not shared.
        self._of_session: dict[str, tuple[str, ...]] = {}

    def get(self, project_id: str, *, lock: bool = False) -> Project | None:
        """One project; `lock` holds its row until the unit ends."""
        query = sa.select(projects).where(projects.c.project_id == project_id)
        row = self._connection.execute(self._dialect.locked(query) if lock else query).first()
        return None if row is None else from_row(row, Project)

    def add(self, project: Project) -> bool:
        """Store a new project; False when the id is taken."""
        added = insert_new(self._connection, projects, _row(project))
        if added:
            self._link(project)
        return added

    def update(self, project: Project, *, expected_version: int) -> None:
        """Replace a project."""
        replace_version(
            self._connection,
            projects,
            projects.c.project_id == project.project_id,
            _row(project),
            expected_version=expected_version,
        )
        self._link(project)

    def delete(self, project_id: str) -> bool:
        """Remove a project; its sessions stay."""
        self._unlink(project_id)
        statement = sa.delete(projects).where(projects.c.project_id == project_id)
        return self._connection.execute(statement).rowcount == 1

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
        select = sa.select(projects)
        if ids is not None:
            select = select.where(projects.c.project_id.in_(ids))
        if query:
            select = select.where(projects.c.search.contains(folded(query), autoescape=True))
        if status is not None:
            select = select.where(projects.c.status == status)
        if session_id is not None:
            linked = sa.select(project_sessions.c.project_id)
            linked = linked.where(project_sessions.c.session_id == session_id)
            select = select.where(projects.c.project_id.in_(linked))
        return select_page(
            self._connection,
            select,
            request,
            by=(projects.c.project_id,),
            read=lambda row: from_row(row, Project),
        )

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
        query = sa.select(projects).where(named).order_by(projects.c.project_id)
        found = self._connection.execute(query)
        linked = (from_row(row, Project) for row in found)
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


def _row(project: Project) -> dict[str, Any]:
    found_by = search_text(project.project_id, project.display_name, project.description or "")
    return {**to_row(project, projects), "search": found_by}


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


class PersonaStore:
    """Personas in a table."""

    def __init__(self, connection: VisibleConnection) -> None:
        self._connection = connection

    def get(self, persona_id: str) -> Persona | None:
        """One persona."""
        row = self._connection.execute(
            sa.select(personas).where(personas.c.persona_id == persona_id)
        ).first()
        return None if row is None else from_row(row, Persona)

    def add(self, persona: Persona) -> bool:
        """Store a new persona; False when the id is taken."""
        return insert_new(self._connection, personas, to_row(persona, personas))

    def update(self, persona: Persona, *, expected_version: int) -> None:
        """Replace a persona."""
        replace_version(
            self._connection,
            personas,
            personas.c.persona_id == persona.persona_id,
            to_row(persona, personas),
            expected_version=expected_version,
        )

    def delete(self, persona_id: str) -> bool:
        """Remove a persona."""
        statement = sa.delete(personas).where(personas.c.persona_id == persona_id)
        return self._connection.execute(statement).rowcount == 1

    def page(self, request: PageRequest, *, query: str | None = None) -> Page[Persona]:
        """Personas by id; `query` is searched in id and name."""
        select = sa.select(personas)
        if query:
            select = select.where(
                sa.or_(
                    personas.c.persona_id.icontains(query, autoescape=True),
                    personas.c.display_name.icontains(query, autoescape=True),
                )
            )
        return select_page(
            self._connection,
            select,
            request,
            by=(personas.c.persona_id,),
            read=lambda row: from_row(row, Persona),
        )
