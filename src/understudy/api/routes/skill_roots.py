"""Skill roots: local folders that operators add for themselves."""

from typing import Annotated, Final

from fastapi import APIRouter, Path

from understudy.api.gate import GatedRoute
from understudy.api.operations import operator
from understudy.api.paging import Paging
from understudy.api.services import Caller, Services
from understudy.core.page import Page
from understudy.skills.local.service import SkillRootReport
from understudy.wire.base import Deleted
from understudy.wire.skills import AddSkillRoot

router = APIRouter(tags=["skills"], route_class=GatedRoute)
ALL: Final = "/v1/skills/roots"


@router.get(ALL, operation_id="skills.roots")
@operator()
def list_roots(services: Services, caller: Caller, page: Paging) -> Page[SkillRootReport]:
    """The caller's skill roots, for an admin everybody's, each with its skills and with what is
    left out and why."""
    return Page.cut(services.skills.roots.all(caller), page)


@router.post(ALL, operation_id="skills.add_root", status_code=201)
@operator(body_id="path", scans=True)
def add_root(body: AddSkillRoot, services: Services, caller: Caller) -> SkillRootReport:
    """Offer the skills in a folder of the daemon's machine to the caller, as far as they pass the
    guard."""
    return services.skills.roots.add(caller, body.path)


@router.delete(ALL + "/{root_id}", operation_id="skills.remove_root")
@operator()
def remove_root(
    root_id: Annotated[str, Path(description="id of the root")], services: Services, caller: Caller
) -> Deleted:
    """Remove a root of skills; the folder stays as it is."""
    services.skills.roots.remove(caller, root_id)
    return Deleted()
