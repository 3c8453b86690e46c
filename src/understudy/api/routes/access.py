"""Tokens and the audit."""

from typing import Annotated

from fastapi import APIRouter, Query

from understudy.api.gate import GatedRoute
from understudy.api.operations import admin, viewer
from understudy.api.paging import Paging, items
from understudy.api.services import Caller, Services
from understudy.api.skill_audit import told_to
from understudy.api.views.records import audit_view, token_created, token_view
from understudy.core.principal import Role
from understudy.wire.access import AuditEntryView, CreateToken, TokenCreated, TokenView
from understudy.wire.base import Deleted, Items

router = APIRouter(tags=["access"], route_class=GatedRoute)


@router.post("/v1/tokens", operation_id="tokens.create", status_code=201)
@admin(body_id="user_id", secret=("token",))
def create_token(body: CreateToken, services: Services, caller: Caller) -> TokenCreated:
    """Make a token; its secret is shown this once."""
    made = services.tokens.create(caller, body.user_id, Role(body.role), locale=body.locale)
    return token_created(*made)


@router.get("/v1/tokens", operation_id="tokens.list")
@admin()
def list_tokens(services: Services, page: Paging) -> Items[TokenView]:
    """Tokens, newest first, without their secrets."""
    return items(services.tokens.page(page), token_view)


@router.delete("/v1/tokens/{token_id}", operation_id="tokens.delete")
@admin()
def delete_token(token_id: str, services: Services, caller: Caller) -> Deleted:
    """Delete a token; calls with it are refused from now on."""
    services.tokens.delete(caller, token_id)
    return Deleted()


@router.get("/v1/audit", operation_id="audit.list")
@viewer()
def list_audit(
    services: Services,
    caller: Caller,
    page: Paging,
    resource: Annotated[str | None, Query(description="such as `sessions`")] = None,
    actor: Annotated[str | None, Query(description="who did it")] = None,
) -> Items[AuditEntryView]:
    """Who did what and who was told no, newest first; of skills only those that the caller may
    know of, so that a page can be short."""
    with services.ground.units.read() as unit:
        found = unit.audit.page(page, resource=resource, actor=actor)
    return items(told_to(caller, found, services.skills.library), audit_view)
