"""What is in a skill: its versions, its files, and what changed between two versions."""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Query, Response

from understudy.api.gate import GatedRoute
from understudy.api.operations import viewer
from understudy.api.paging import Paging, items
from understudy.api.routes.skills import ONE, SkillRef
from understudy.api.services import Caller, Services
from understudy.api.views.skills import (
    archive_response,
    diff_view,
    entry_view,
    file_view,
    version_view,
)
from understudy.core.page import Page
from understudy.skills.model import number_of
from understudy.wire import skills as wire
from understudy.wire.base import Items, VersionNumber

router = APIRouter(tags=["skills"], route_class=GatedRoute)
InVersion = Annotated[
    VersionNumber | None, Query(description="which version; the current one if none")
]
ARCHIVE: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {"application/zip": {}}, "description": "The archive"}
}


@router.get(ONE + "/versions", operation_id="skills.versions")
@viewer()
def versions(
    skill_id: SkillRef, services: Services, caller: Caller, page: Paging
) -> wire.SkillVersions:
    """The versions of a skill, newest first, and which of them is current."""
    found = items(services.skills.library.versions(caller, skill_id, page), version_view)
    current = services.skills.library.current(caller, skill_id)
    return wire.SkillVersions(
        items=found.items, next_cursor=found.next_cursor, current=number_of(current)
    )


@router.get(ONE + "/diff", operation_id="skills.diff")
@viewer()
def diff(
    skill_id: SkillRef,
    services: Services,
    caller: Caller,
    old: Annotated[VersionNumber, Query(alias="from", description="the version to start from")],
    new: Annotated[VersionNumber, Query(alias="to", description="the version to compare it with")],
) -> wire.SkillDiff:
    """What changed from one version to another, file by file."""
    return diff_view(services.skills.library.diff(caller, skill_id, old, new), old, new)


@router.get(ONE + "/files", operation_id="skills.files")
@viewer()
def files(
    skill_id: SkillRef, services: Services, caller: Caller, page: Paging, version: InVersion = None
) -> Items[wire.SkillFileEntry]:
    """The files of a version, by path."""
    found = services.skills.library.files(caller, skill_id, version)
    return items(Page.cut(found, page), entry_view)


@router.get(ONE + "/files/{path:path}", operation_id="skills.file")
@viewer()
def read_file(
    skill_id: SkillRef,
    path: Annotated[str, Path(description="path of the file in the skill")],
    services: Services,
    caller: Caller,
    version: InVersion = None,
) -> wire.SkillFile:
    """What is in a file of a version."""
    return file_view(path, services.skills.library.read_file(caller, skill_id, path, version))


@router.get(
    ONE + "/export", operation_id="skills.export", response_class=Response, responses=ARCHIVE
)
@viewer()
def export(
    skill_id: SkillRef, services: Services, caller: Caller, version: InVersion = None
) -> Response:
    """A version as a ZIP archive that any reader of Agent Skills takes."""
    return archive_response(services.skills.library.export(caller, skill_id, version))
