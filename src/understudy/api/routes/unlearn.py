"""Unlearning: preview, start, status, and verification of the receipt."""

from dataclasses import replace
from typing import Annotated, Final

from fastapi import APIRouter
from fastapi import Path as InPath

from understudy.api.bodies import record_of
from understudy.api.gate import GatedRoute
from understudy.api.operations import admin
from understudy.api.paging import Paging
from understudy.api.services import Caller, Services
from understudy.core.page import Page
from understudy.unlearn.model import BlastRadius, Unlearn, UnlearnReceipt, UnlearnVerification
from understudy.wire.unlearn import PreviewUnlearn, StartUnlearn, VerifyUnlearn

router = APIRouter(tags=["unlearn"], route_class=GatedRoute)
ALL: Final = "/v1/unlearn"
UnlearnId = Annotated[str, InPath(description="id of the unlearning")]
# The most items shown; the counts have the total.
MOST_SHOWN: Final = 2_000


@router.post(ALL + "/preview", operation_id="unlearn.preview")
@admin()
def preview(body: PreviewUnlearn, services: Services) -> BlastRadius:
    """The blast radius: everything that came of a target, and how many prompts were told; at most
    2,000 items are listed, all are counted."""
    radius = services.unlearn.preview(body.target.record)
    return replace(radius, items=radius.items[:MOST_SHOWN])


@router.post(ALL, operation_id="unlearn.start", status_code=202)
@admin()
def start(body: StartUnlearn, services: Services, caller: Caller) -> Unlearn:
    """Take a target and what came of it out of use, or erase their text everywhere."""
    return services.unlearn.start(caller, body.target.record, body.mode, body.reason)


@router.get(ALL, operation_id="unlearn.list")
@admin()
def list_unlearns(services: Services, page: Paging) -> Page[Unlearn]:
    """List unlearnings, newest first."""
    return services.unlearn.page(page)


@router.post(ALL + "/verify", operation_id="unlearn.verify")
@admin()
def verify(body: VerifyUnlearn, services: Services) -> UnlearnVerification:
    """Check whether the stores still hold what a receipt names, or a text that the caller knows."""
    return services.unlearn.verify(record_of(UnlearnReceipt, body.receipt), text=body.text)


@router.get(ALL + "/{unlearn_id}", operation_id="unlearn.get")
@admin()
def get(unlearn_id: UnlearnId, services: Services) -> Unlearn:
    """Show the progress of an unlearning; its receipt once it is done."""
    return services.unlearn.get(unlearn_id)
