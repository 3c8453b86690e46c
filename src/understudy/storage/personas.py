"""The persona store."""

from typing import Any

import sqlalchemy as sa

from understudy.core.page import Page, PageRequest
from understudy.sessions.model import Persona
from understudy.storage.columns import read_record
from understudy.storage.paging import select_page
from understudy.storage.rows import insert_new, replace_version
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
        return None if row is None else _read(row)

    def add(self, persona: Persona) -> bool:
        """Store a new persona; False when the id is taken."""
        return insert_new(self._connection, personas, _row(persona))

    def update(self, persona: Persona, *, expected_version: int) -> None:
        """Replace a persona."""
        replace_version(
            self._connection,
            personas,
            personas.c.persona_id == persona.persona_id,
            _row(persona),
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
            self._connection, select, request, by=(personas.c.persona_id,), read=_read
        )


def _row(persona: Persona) -> dict[str, Any]:
    return {
        "persona_id": persona.persona_id,
        "display_name": persona.display_name,
        "body": {
            "soul": persona.soul,
            "capability_scope": dict(persona.capability_scope),
            "default_skills": [dict(skill) for skill in persona.default_skills],
            "metadata": dict(persona.metadata),
        },
        "version": persona.version,
        "created_at_ms": persona.created_at_ms,
        "updated_at_ms": persona.updated_at_ms,
    }


def _read(row: Any) -> Persona:
    return read_record(row, _persona, what=f"persona {row.persona_id}")


def _persona(row: Any) -> Persona:
    return Persona(
        persona_id=row.persona_id,
        display_name=row.display_name,
        soul=row.body["soul"],
        capability_scope=row.body["capability_scope"],
        default_skills=tuple(row.body["default_skills"]),
        metadata=row.body["metadata"],
        version=row.version,
        created_at_ms=row.created_at_ms,
        updated_at_ms=row.updated_at_ms,
    )
