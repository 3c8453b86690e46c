"""The persona store."""

import sqlalchemy as sa

from understudy.core.page import Page, PageRequest
from understudy.sessions.model import Persona
from understudy.storage.paging import select_page
from understudy.storage.rows import from_row, insert_new, replace_version, to_row
from understudy.storage.schema import personas


class PersonaStore:
    """Personas in a table."""

    def __init__(self, connection: sa.Connection) -> None:
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
        """Personas by id; `query` is looked for in id and name."""
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
