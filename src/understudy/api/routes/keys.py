"""Signing keys: those that exports are signed with, and those of others that are trusted."""

from typing import Annotated, Final

from fastapi import APIRouter, Path

from understudy.access.signing_keys import SigningKeyStatus
from understudy.api.gate import GatedRoute
from understudy.api.operations import admin, viewer
from understudy.api.paging import Paging
from understudy.api.services import Caller, Services
from understudy.core.page import Page
from understudy.wire.access import CreateKey, TrustKey
from understudy.wire.base import Deleted

router = APIRouter(tags=["access"], route_class=GatedRoute)
ALL: Final = "/v1/keys"
ONE: Final = ALL + "/{key_id}"
KeyId = Annotated[str, Path(description="id of the key")]


@router.get(ALL, operation_id="keys.list")
@viewer()
def list_keys(services: Services, page: Paging) -> Page[SigningKeyStatus]:
    """List the keys, newest first, with their public parts; a private part is never shown."""
    return Page.cut(services.keys.all(), page)


@router.post(ALL, operation_id="keys.create", status_code=201)
@admin(body_id="name")
def create_key(body: CreateKey, services: Services, caller: Caller) -> SigningKeyStatus:
    """Create a key of this daemon; skills that it exports from now on are signed with it."""
    return services.keys.create(caller, body.name)


@router.post(ALL + "/trust", operation_id="keys.trust", status_code=201)
@admin(body_id="name")
def trust_key(body: TrustKey, services: Services, caller: Caller) -> SigningKeyStatus:
    """Trust the public key of another signer."""
    return services.keys.trust(caller, body.name, body.public_key)


@router.get(ONE, operation_id="keys.get")
@viewer()
def get_key(key_id: KeyId, services: Services) -> SigningKeyStatus:
    """Show a key."""
    return services.keys.get(key_id)


@router.delete(ONE, operation_id="keys.remove")
@admin()
def remove_key(key_id: KeyId, services: Services, caller: Caller) -> Deleted:
    """Delete a key; the private part of an own one is deleted for good."""
    services.keys.remove(caller, key_id)
    return Deleted()
