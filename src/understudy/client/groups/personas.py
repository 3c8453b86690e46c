"""Calls about personas."""

from collections.abc import Iterator

from understudy.client.calls import at, delete, get, given, post, put
from understudy.client.groups.resource import Resource, body, every, reader
from understudy.core.page import Page
from understudy.sessions.model import Persona
from understudy.wire.base import Deleted
from understudy.wire.personas import CreatePersona, UpdatePersona

_view = reader(Persona)


class Personas(Resource):
    """Instruction records that sessions take snapshots of."""

    def create(self, wanted: CreatePersona, *, key: str | None = None) -> Persona:
        """A new persona."""
        return self.transport.send(post(at("personas"), _view, body(wanted), key=key))

    def get(self, persona_id: str) -> Persona:
        """One persona."""
        return self.transport.send(get(at("personas", persona_id), _view))

    def page(
        self, *, query: str | None = None, limit: int | None = None, cursor: str | None = None
    ) -> Page[Persona]:
        """Some personas; `query` is part of an id or a name."""
        read = reader(Page[Persona])
        asked = given(query=query, limit=limit, cursor=cursor)
        return self.transport.send(get(at("personas"), read, **asked))

    def list(self, *, query: str | None = None) -> Iterator[Persona]:
        """All personas."""
        return every(lambda cursor: self.page(query=query, cursor=cursor))

    def update(self, persona_id: str, changes: UpdatePersona) -> Persona:
        """Change the given fields; sessions that carry a snapshot keep it."""
        return self.transport.send(put(at("personas", persona_id), _view, body(changes)))

    def delete(self, persona_id: str) -> Deleted:
        """Delete a persona; sessions that carry a snapshot keep it."""
        return self.transport.send(delete(at("personas", persona_id), Deleted.model_validate))
