"""Tokens and the audit."""

from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request

from understudy.access.sign_in import SignInLink
from understudy.access.tokens import Token, TokenCreated, bearer_token
from understudy.api.gate import GatedRoute
from understudy.api.operations import admin, viewer
from understudy.api.paging import Paging
from understudy.api.services import Caller, Services
from understudy.core.audit import AuditEntry, AuditOutcome, AuditVerification
from understudy.core.errors import UnderstudyError
from understudy.core.page import Page
from understudy.core.principal import Principal, Role
from understudy.core.records import extended
from understudy.skills.library import SkillLibrary
from understudy.wire.access import CreateToken
from understudy.wire.base import Deleted

SKILLS: Final = "skills"
router = APIRouter(tags=["access"], route_class=GatedRoute)


@router.post("/v1/tokens", operation_id="tokens.create", status_code=201)
@admin(body_id="user_id", secret=("token",))
def create_token(body: CreateToken, services: Services, caller: Caller) -> TokenCreated:
    """Create a token; its secret is shown this once."""
    token, secret = services.tokens.create(caller, body.user_id, body.role, locale=body.locale)
    return extended(TokenCreated, token, token=secret)


@router.get("/v1/tokens", operation_id="tokens.list")
@admin()
def list_tokens(services: Services, page: Paging) -> Page[Token]:
    """List tokens, newest first, without their secrets."""
    return services.tokens.page(page)


@router.delete("/v1/tokens/{token_id}", operation_id="tokens.delete")
@admin()
def delete_token(
    token_id: str,
    services: Services,
    caller: Caller,
    leave_no_admin: Annotated[
        bool, Query(description="delete it even if it is the last token of an admin")
    ] = False,
) -> Deleted:
    """Delete a token; calls with it are refused from now on."""
    services.tokens.delete(caller, token_id, leave_no_admin=leave_no_admin)
    return Deleted()


@router.post("/v1/console/links", operation_id="console.link", status_code=201)
@viewer(secret=("path",))
def link_to_console(services: Services, request: Request) -> SignInLink:
    """Create a link that signs a browser in to the console as the caller, once."""
    return services.sign_in.link(bearer_token(request.headers.get("authorization")))


@router.get("/v1/audit", operation_id="audit.list")
@viewer()
def list_audit(
    services: Services,
    caller: Caller,
    page: Paging,
    resource: Annotated[str | None, Query(description="such as `sessions`")] = None,
    actor: Annotated[str | None, Query(description="who did it")] = None,
    outcome: Annotated[
        AuditOutcome | None, Query(description="only what was `done`, or only what was `refused`")
    ] = None,
) -> Page[AuditEntry]:
    """Who did what and who was told no, newest first; of skills only those that the caller may
    know of, so that a page can be short."""
    with services.resources.units.read() as unit:
        found = unit.audit.page(page, resource=resource, actor=actor, outcome=outcome)
    return _told_to(caller, found, services.skills.library)


@router.get("/v1/audit/verify", operation_id="audit.verify")
@admin()
def verify_audit(
    services: Services,
    head: Annotated[
        str | None, Query(description="a link noted before; it must still be in a chain")
    ] = None,
) -> AuditVerification:
    """Whether the audit and the versions of skills are as they were written: each is a chain of
    digests, and an edited, added or removed row breaks it. The newest rows are sealed first; where
    that is not possible, `unsealed` counts those that have no link yet."""
    units = services.resources.units
    # Such as on a full disk, which is no reason not to look.
    with suppress(UnderstudyError):
        units.seal()
    with units.read() as unit:
        return unit.chains.verify(head)


def _told_to(caller: Principal, page: Page[AuditEntry], library: SkillLibrary) -> Page[AuditEntry]:
    """The page without entries about skills that are hidden from this caller.

    Entries of an earlier, deleted skill with the same slug are left out, too.
    """
    if caller.role.includes(Role.ADMIN):
        return page

    @cache
    def known_since(ref: str) -> int | None:
        try:
            return library.current(caller, ref).created_at_ms
        except UnderstudyError:
            return None

    def is_told(entry: AuditEntry) -> bool:
        if entry.resource != SKILLS or entry.actor == caller.actor:
            return True
        since = known_since(entry.resource_id)
        return since is not None and entry.at_ms >= since

    return replace(page, items=tuple(entry for entry in page.items if is_told(entry)))
