"""Personas."""

from typing import Annotated, Final

from fastapi import APIRouter, Path, Query

from understudy.api.bodies import check_same_id, record_of
from understudy.api.gate import GatedRoute
from understudy.api.operations import operator, viewer
from understudy.api.paging import Paging
from understudy.api.services import Caller, Services
from understudy.core.page import Page
from understudy.core.records import extended
from understudy.sessions.model import Persona, PersonaChanged
from understudy.sessions.persona import PersonaFields
from understudy.wire.base import Deleted
from understudy.wire.personas import CreatePersona, UpdatePersona

router = APIRouter(tags=["personas"], route_class=GatedRoute)
PersonaId = Annotated[str, Path(description="id of the persona")]
ONE: Final = "/v1/personas/{persona_id}"


@router.post("/v1/personas", operation_id="personas.create", status_code=201)
@operator(body_id="persona_id")
def create(services: Services, caller: Caller, body: CreatePersona | None = None) -> PersonaChanged:
    """Create a persona."""
    wanted = body or CreatePersona()
    fields = record_of(PersonaFields, wanted)
    return _changed(services, caller, services.personas.create(caller, wanted.persona_id, fields))


def _changed(services: Services, caller: Caller, persona: Persona) -> PersonaChanged:
    warnings = services.personas.warnings(caller, persona)
    return extended(PersonaChanged, persona, warnings=warnings)


@router.get("/v1/personas", operation_id="personas.list")
@viewer()
def list_personas(
    services: Services,
    page: Paging,
    query: Annotated[str | None, Query(description="part of the id or name")] = None,
) -> Page[Persona]:
    """List personas by id."""
    return services.personas.page(page, query=query)


@router.get(ONE, operation_id="personas.get")
@viewer()
def get(persona_id: PersonaId, services: Services) -> Persona:
    """Show a persona."""
    return services.personas.get(persona_id)


@router.put(ONE, operation_id="personas.update")
@operator()
def update(
    persona_id: PersonaId, body: UpdatePersona, services: Services, caller: Caller
) -> PersonaChanged:
    """Change a persona; the version rises only when something changed."""
    check_same_id("persona_id", body.persona_id, persona_id)
    changed = services.personas.update(caller, persona_id, record_of(PersonaFields, body))
    return _changed(services, caller, changed)


@router.delete(ONE, operation_id="personas.delete")
@operator()
def delete(persona_id: PersonaId, services: Services, caller: Caller) -> Deleted:
    """Delete a persona; sessions keep the snapshots they bound."""
    services.personas.delete(caller, persona_id)
    return Deleted()
