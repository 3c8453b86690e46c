"""Skills: which there are, and changing them."""

from typing import Annotated, Final

from fastapi import APIRouter, Depends, Path, Query

from understudy.api.gate import GatedRoute
from understudy.api.operations import operator, viewer
from understudy.api.paging import Paging, items
from understudy.api.services import Caller, Services
from understudy.api.skill_bodies import acknowledged
from understudy.api.skill_upload import UPLOAD_BODY, Uploaded
from understudy.api.views.skills import (
    changed_view,
    detail_view,
    kept_view,
    patched_view,
    toggled_view,
    trashed_view,
    viewed_by,
)
from understudy.skills.authority import Author
from understudy.skills.bundles.archive import MAX_ARCHIVE_BYTES, read_archive
from understudy.skills.field_changes import SkillFieldChanges
from understudy.skills.model import SkillFilter, SkillOrigin, SkillStatus, Visibility
from understudy.wire import skills as wire
from understudy.wire.base import Items
from understudy.wire.skill_requests import (
    CreateSkill,
    PatchSkill,
    RestoreSkill,
    ToggleSkill,
    UndeleteSkill,
    UpdateSkill,
)

router = APIRouter(tags=["skills"], route_class=GatedRoute)
SkillRef = Annotated[str, Path(description="id or slug of the skill")]
ALL: Final = "/v1/skills"
TRASH: Final = ALL + "/trash"
ONE: Final = ALL + "/{skill_id}"


def _filter(
    query: Annotated[
        str | None, Query(description="part of slug, name, description or a tag")
    ] = None,
    origin: Annotated[wire.Origin | None, Query(description="only of this origin")] = None,
    visibility: Annotated[wire.Visibility | None, Query(description="only so visible")] = None,
    status: Annotated[wire.Status | None, Query(description="only of this status")] = None,
    owner_id: Annotated[str | None, Query(description="only of this owner")] = None,
    enabled: Annotated[bool | None, Query(description="only switched on, or off")] = None,
) -> SkillFilter:
    return SkillFilter(
        query=query,
        origin=None if origin is None else SkillOrigin(origin),
        visibility=None if visibility is None else Visibility(visibility),
        status=None if status is None else SkillStatus(status),
        owner_id=owner_id,
        enabled=enabled,
    )


@router.get(ALL, operation_id="skills.list")
@viewer()
def list_skills(
    services: Services,
    caller: Caller,
    page: Paging,
    narrowed: Annotated[SkillFilter, Depends(_filter)],
) -> Items[wire.SkillView]:
    """The skills that the caller may know of, by name."""
    return items(services.skills.library.page(caller, page, narrowed), viewed_by(caller))


@router.post(ALL, operation_id="skills.create", status_code=201)
@operator(body_id="slug")
def create(body: CreateSkill, services: Services, caller: Caller) -> wire.SkillKept:
    """Keep a SKILL.md as a new skill, or as the next version of the caller's own."""
    kept = services.skills.service.create(
        Author(principal=caller),
        body.content,
        slug=body.slug,
        acknowledged=acknowledged(body.acknowledged),
    )
    return kept_view(kept, caller)


@router.post(
    ALL + "/upload",
    operation_id="skills.upload",
    status_code=201,
    openapi_extra={"requestBody": UPLOAD_BODY},
)
@operator(form=frozenset({"file", "slug", "acknowledged"}), max_body_bytes=MAX_ARCHIVE_BYTES)
def upload(uploaded: Uploaded, services: Services, caller: Caller) -> wire.SkillKept:
    """Keep a ZIP archive with a SKILL.md and what belongs to it."""
    kept = services.skills.service.keep(
        Author(principal=caller),
        read_archive(uploaded.archive),
        action="skills.upload",
        slug=uploaded.slug,
        acknowledged=uploaded.acknowledged,
    )
    return kept_view(kept, caller)


@router.get(TRASH, operation_id="skills.trash")
@viewer()
def list_trash(services: Services, caller: Caller, page: Paging) -> Items[wire.TrashedSkillView]:
    """Deleted skills that can come back: the caller's own, for an admin all of them."""
    return items(services.skills.library.trash(caller, page), trashed_view)


@router.post(TRASH + "/{trash_name}/restore", operation_id="skills.undelete")
@operator()
def undelete(
    trash_name: Annotated[str, Path(description="what the deletion answered")],
    services: Services,
    caller: Caller,
    body: UndeleteSkill | None = None,
) -> wire.SkillChanged:
    """Bring a deleted skill back, with its versions and without its grants; the guard reads it
    again."""
    taken = () if body is None else acknowledged(body.acknowledged)
    skill = services.skills.service.undelete(
        Author(principal=caller), trash_name, acknowledged=taken
    )
    return changed_view(skill, caller)


@router.get(ONE, operation_id="skills.get")
@viewer()
def get(skill_id: SkillRef, services: Services, caller: Caller) -> wire.SkillDetail:
    """One skill, with what it tells an agent to do."""
    return detail_view(services.skills.library.get(caller, skill_id), caller)


@router.put(ONE, operation_id="skills.update")
@operator()
def update(
    skill_id: SkillRef, body: UpdateSkill, services: Services, caller: Caller
) -> wire.SkillChanged:
    """Change name, description, tags or visibility; only an admin makes a skill public."""
    changes = SkillFieldChanges.given(
        name=body.name,
        description=body.description,
        tags=body.tags,
        visibility=body.visibility,
    )
    skill = services.skills.service.update(Author(principal=caller), skill_id, changes)
    return changed_view(skill, caller)


@router.delete(ONE, operation_id="skills.delete")
@operator()
def delete(skill_id: SkillRef, services: Services, caller: Caller) -> wire.SkillDeleted:
    """Move a skill to the trash; its grants are gone for good."""
    trashed = services.skills.service.delete(Author(principal=caller), skill_id)
    return wire.SkillDeleted(trash_name=trashed.trash_name)


@router.post(ONE + "/patch", operation_id="skills.patch")
# Whose skill it is, the service knows.
@operator()
def patch(
    skill_id: SkillRef, body: PatchSkill, services: Services, caller: Caller
) -> wire.SkillPatched:
    """Replace a text in SKILL.md, as a new version with the same companions."""
    kept = services.skills.service.patch(
        Author(principal=caller),
        skill_id,
        find=body.find,
        replace=body.replace,
        replace_all=body.replace_all,
        strict=body.strict,
        expected_version=body.expected_version,
        acknowledged=acknowledged(body.acknowledged),
    )
    return patched_view(kept, caller)


@router.post(ONE + "/toggle", operation_id="skills.toggle")
@operator()
def toggle(
    skill_id: SkillRef, body: ToggleSkill, services: Services, caller: Caller
) -> wire.SkillToggled:
    """Switch a skill on or off; switched on, what it needs is looked for again."""
    skill = services.skills.service.toggle(Author(principal=caller), skill_id, enabled=body.enabled)
    return toggled_view(skill, caller)


@router.post(ONE + "/restore", operation_id="skills.restore")
@operator()
def restore(
    skill_id: SkillRef, body: RestoreSkill, services: Services, caller: Caller
) -> wire.SkillKept:
    """Bring an earlier version back, as a new one."""
    kept = services.skills.service.restore(
        Author(principal=caller),
        skill_id,
        body.version,
        acknowledged=acknowledged(body.acknowledged),
    )
    return kept_view(kept, caller)
