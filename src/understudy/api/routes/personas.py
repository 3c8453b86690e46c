"""Personas."""

from typing import Annotated, Final

from fastapi import APIRouter, Path, Query

from understudy.api.echo import check_same_id
from understudy.api.gate import GatedRoute
from understudy.api.operations import operator, viewer
from understudy.api.paging import Paging, items
from understudy.api.parts import Caller, Parts
from understudy.api.views.records import persona_view
from understudy.sessions.persona import PersonaFields
from understudy.wire import personas as wire
from understudy.wire.base import Deleted, Items
from understudy.wire.personas import CreatePersona, PersonaView, UpdatePersona

router = APIRouter(tags=["personas"], route_class=GatedRoute)
PersonaId = Annotated[str, Path(description="id of the persona")]
ONE: Final = "/v1/personas/{persona_id}"


@router.post("/v1/personas", operation_id="personas.create", status_code=201)
@operator(body_id="persona_id")
def create(parts: Parts, caller: Caller, body: CreatePersona | None = None) -> PersonaView:
    """Create a persona."""
    wanted = body or CreatePersona()
    return persona_view(parts.personas.create(caller, wanted.persona_id, _fields(wanted)))


@router.get("/v1/personas", operation_id="personas.list")
@viewer()
def list_personas(
    parts: Parts,
    page: Paging,
    query: Annotated[str | None, Query(description="part of the id or name")] = None,
) -> Items[PersonaView]:
    """Personas by id."""
    return items(parts.personas.page(page, query=query), persona_view)


@router.get(ONE, operation_id="personas.get")
@viewer()
def get(persona_id: PersonaId, parts: Parts) -> PersonaView:
    """One persona."""
    return persona_view(parts.personas.get(persona_id))


@router.put(ONE, operation_id="personas.update")
@operator()
def update(persona_id: PersonaId, body: UpdatePersona, parts: Parts, caller: Caller) -> PersonaView:
    """Change a persona; the version rises only when something changed."""
    check_same_id("persona_id", body.persona_id, persona_id)
    return persona_view(parts.personas.update(caller, persona_id, _fields(body)))


@router.delete(ONE, operation_id="personas.delete")
@operator()
def delete(persona_id: PersonaId, parts: Parts, caller: Caller) -> Deleted:
    """Delete a persona; sessions keep the snapshots they bound."""
    parts.personas.delete(caller, persona_id)
    return Deleted()


def _fields(body: wire.PersonaFields) -> PersonaFields:
    skills = body.default_skills
    return PersonaFields(
        display_name=body.display_name,
        soul=body.soul,
        capability_scope=body.capability_scope,
        default_skills=None if skills is None else tuple(skill.model_dump() for skill in skills),
        metadata=body.metadata,
    )
