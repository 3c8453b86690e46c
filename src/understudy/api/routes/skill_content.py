"""The content of skills: versions, files, diffs, exports, and usage."""

import base64
from functools import partial
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Path, Query, Response

from understudy.api.gate import GatedRoute
from understudy.api.operations import RAW_HEADERS, operator, viewer
from understudy.api.paging import Paging, items
from understudy.api.routes.skills import ONE, SkillRef, acknowledged
from understudy.api.services import Caller, Services
from understudy.core.clock import DAY_MS
from understudy.core.page import Page
from understudy.runtime.two_people import TwoApprovers
from understudy.skills.access import Author
from understudy.skills.bundles.store import BundleFile
from understudy.skills.diff import SkillDiff
from understudy.skills.guard_report import GuardReport
from understudy.skills.model import number_of
from understudy.skills.usage import SkillUsage, day_begin
from understudy.wire.base import VersionNumber
from understudy.wire.masking import masked
from understudy.wire.skills import (
    AcceptDraft,
    RejectDraft,
    SkillChanged,
    SkillFile,
    SkillVersions,
    SkillVersionView,
)

router = APIRouter(tags=["skills"], route_class=GatedRoute)
InVersion = Annotated[
    VersionNumber | None, Query(description="which version; the current one if none")
]
OfVersion = Annotated[VersionNumber, Path(description="number of the version")]
MAX_DAYS: Final = 3650
ARCHIVE: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {"application/zip": {}}, "description": "The archive"}
}


@router.get(ONE + "/versions", operation_id="skills.versions")
@viewer()
def versions(skill_id: SkillRef, services: Services, caller: Caller, page: Paging) -> SkillVersions:
    """List the versions of a skill, newest first, and which of them is current."""
    found = items(
        services.skills.library.versions(caller, skill_id, page),
        lambda version: SkillVersionView.of(version, version=version.number),
    )
    current = services.skills.library.current(caller, skill_id)
    return SkillVersions.of(found, current=number_of(current))


@router.post(ONE + "/versions/{version}/accept", operation_id="skills.accept")
@operator(two=TwoApprovers.SKILL_ACTIVATION)
def accept(
    skill_id: SkillRef,
    version: OfVersion,
    services: Services,
    caller: Caller,
    body: AcceptDraft | None = None,
) -> SkillChanged:
    """Serve a draft as the current version; older drafts are rejected. The guard reads it again."""
    said = body or AcceptDraft()
    skill = services.skills.service.accept(
        Author(principal=caller),
        skill_id,
        version,
        reason=said.reason,
        acknowledged=acknowledged(said.acknowledged),
    )
    return SkillChanged.seen_by(caller, skill)


@router.post(ONE + "/versions/{version}/reject", operation_id="skills.reject")
@operator()
def reject(
    skill_id: SkillRef,
    version: OfVersion,
    services: Services,
    caller: Caller,
    body: RejectDraft | None = None,
) -> SkillChanged:
    """Reject a draft for good; its text stays for its owner and admins."""
    reason = "" if body is None else body.reason
    skill = services.skills.service.reject(
        Author(principal=caller), skill_id, version, reason=reason
    )
    return SkillChanged.seen_by(caller, skill)


@router.get(ONE + "/diff", operation_id="skills.diff")
@viewer()
def diff(
    skill_id: SkillRef,
    services: Services,
    caller: Caller,
    old: Annotated[VersionNumber, Query(alias="from", description="the version to start from")],
    new: Annotated[VersionNumber, Query(alias="to", description="the version to compare it with")],
) -> SkillDiff:
    """Compare two versions of a skill, file by file."""
    return services.skills.library.diff(caller, skill_id, old, new)


@router.get(ONE + "/files", operation_id="skills.files")
@viewer(by_client=True)
def files(
    skill_id: SkillRef, services: Services, caller: Caller, page: Paging, version: InVersion = None
) -> Page[BundleFile]:
    """List the files of a version, by path."""
    return Page.cut(services.skills.library.files(caller, skill_id, version), page)


@router.get(ONE + "/files/{path:path}", operation_id="skills.file")
@viewer(by_client=True)
def read_file(
    skill_id: SkillRef,
    path: Annotated[str, Path(description="path of the file in the skill")],
    services: Services,
    caller: Caller,
    version: InVersion = None,
) -> SkillFile:
    """Show the content of a file of a version."""
    data = services.skills.library.read_file(caller, skill_id, path, version)
    encoding: Literal["utf-8", "base64"] = "utf-8"
    try:
        text = data.decode()
    except UnicodeDecodeError:
        encoding, text = "base64", base64.b64encode(data).decode()
    return SkillFile(path=path, size=len(data), encoding=encoding, content=text)


@router.get(
    ONE + "/export", operation_id="skills.export", response_class=Response, responses=ARCHIVE
)
@viewer()
def export(
    skill_id: SkillRef, services: Services, caller: Caller, version: InVersion = None
) -> Response:
    """Export a version as a ZIP archive that any reader of Agent Skills takes."""
    # The mask of answers sees no texts in an archive.
    mask = partial(masked, services.resources.units)
    exported = services.skills.library.export(caller, skill_id, version, mask=mask)
    return Response(
        exported.content,
        headers={
            **RAW_HEADERS,
            "Content-Type": "application/zip",
            # The file name is safe in a header.
            "Content-Disposition": f'attachment; filename="{exported.file_name}"',
        },
    )


@router.get(ONE + "/guard-report", operation_id="skills.guard_report")
@viewer(scans=True)
def guard_report(
    skill_id: SkillRef, services: Services, caller: Caller, version: InVersion = None
) -> GuardReport:
    """Report what the content guard finds in a version, with each line, and whether SKILL.md is valid."""
    skills = services.skills
    return skills.library.guard_report(caller, skill_id, version, skills.guard)


@router.get(ONE + "/usage", operation_id="skills.usage")
@viewer()
def usage(
    skill_id: SkillRef,
    services: Services,
    caller: Caller,
    page: Paging,
    days: Annotated[
        int | None,
        Query(
            ge=1,
            le=MAX_DAYS,
            description="only today and so many days (UTC) before it; all if not set",
        ),
    ] = None,
) -> SkillUsage:
    """Count per version the runs that had it on offer, used it, and how those ended."""
    since = (
        0 if days is None else max(day_begin(services.resources.clock.now_ms() - days * DAY_MS), 0)
    )
    return services.skills.library.usage(caller, skill_id, page, since_ms=since)
