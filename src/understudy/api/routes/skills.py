"""Skills: list, change, upload, and dependencies."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Annotated, Any, Final, cast

from fastapi import APIRouter, Depends, Path, Query, Request
from pydantic import TypeAdapter, ValidationError

from understudy.api.bodies import located, record_of
from understudy.api.gate import GatedRoute
from understudy.api.multipart import MEDIA_TYPE, Form
from understudy.api.operations import admin, operator, viewer
from understudy.api.paging import Paging, items
from understudy.api.services import Caller, Services
from understudy.core.clock import DAY_MS
from understudy.core.errors import FieldError, NotFound, coded_error
from understudy.core.mistakes import words_of
from understudy.core.pointer import pointer
from understudy.core.strict_json import parse
from understudy.runtime.two_people import TwoApprovers
from understudy.skills.access import Author
from understudy.skills.bundles.archive import MAX_ARCHIVE_BYTES, read_archive
from understudy.skills.bundles.limits import MANIFEST
from understudy.skills.content_guard import Acknowledged
from understudy.skills.dependencies.environments import Runtimes
from understudy.skills.dependencies.service import InstalledPackage, InstalledPackages, Rescan
from understudy.skills.library import SkillWithManifest
from understudy.skills.model import (
    SkillFilter,
    SkillOrigin,
    SkillStatus,
    TrashedSkill,
    Visibility,
)
from understudy.skills.revisions import SkillFieldChanges
from understudy.wire.base import Items
from understudy.wire.skills import (
    AcknowledgedFinding,
    CreateSkill,
    Findings,
    InstallDependency,
    PatchSkill,
    RestoreSkill,
    SkillChanged,
    SkillDeleted,
    SkillDetail,
    SkillInList,
    SkillKept,
    SkillPatched,
    SkillToggled,
    ToggleSkill,
    TrashedSkillView,
    UndeleteSkill,
    UpdateSkill,
)

router = APIRouter(tags=["skills"], route_class=GatedRoute)
SkillRef = Annotated[str, Path(description="id or slug of the skill")]
ALL: Final = "/v1/skills"
TRASH: Final = ALL + "/trash"
RECENT_DAYS: Final = 30
ONE: Final = ALL + "/{skill_id}"
# Fields of a detail that come from SKILL.md.
_FROM_MANIFEST: Final = (
    "allowed_tools",
    "when_to_use",
    "author",
    "version_label",
    "license",
    "compatibility",
)
_FINDINGS: Final = TypeAdapter(Findings)
UPLOAD_BODY: Final[dict[str, Any]] = {
    "required": True,
    "content": {
        MEDIA_TYPE: {
            "schema": {
                "type": "object",
                "required": ["file"],
                "additionalProperties": False,
                "properties": {
                    "file": {
                        "type": "string",
                        "format": "binary",
                        "description": "a ZIP archive of at most 20 MB",
                    },
                    "slug": {"type": "string", "description": "where the archive names none"},
                    "acknowledged": {
                        "type": "string",
                        "contentMediaType": "application/json",
                        "description": "a JSON list as `acknowledged` of `skills.create`",
                    },
                },
            }
        }
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """An uploaded archive and its form fields."""

    archive: bytes
    slug: str | None
    acknowledged: tuple[Acknowledged, ...]


def upload_of(request: Request) -> Upload:
    """The fields of the form, which the gate has parsed."""
    fields = cast("Form", request.state.form).fields
    if "file" not in fields:
        raise coded_error("skills/upload_missing", pointer="/file")
    return Upload(
        archive=fields["file"],
        slug=_text("slug", fields["slug"]) if fields.get("slug") else None,
        acknowledged=_acknowledged(fields.get("acknowledged", b"")),
    )


Uploaded = Annotated[Upload, Depends(upload_of)]


async def _filter(
    query: Annotated[
        str | None, Query(description="part of slug, name, description or a tag")
    ] = None,
    origin: Annotated[SkillOrigin | None, Query(description="only of this origin")] = None,
    visibility: Annotated[Visibility | None, Query(description="only so visible")] = None,
    status: Annotated[SkillStatus | None, Query(description="only of this status")] = None,
    owner_id: Annotated[str | None, Query(description="only of this owner")] = None,
    enabled: Annotated[bool | None, Query(description="only switched on, or off")] = None,
) -> SkillFilter:
    return SkillFilter(
        query=query,
        origin=origin,
        visibility=visibility,
        status=status,
        owner_id=owner_id,
        enabled=enabled,
    )


@router.get(ALL, operation_id="skills.list")
@viewer(by_client=True)
def list_skills(
    services: Services,
    caller: Caller,
    page: Paging,
    narrowed: Annotated[SkillFilter, Depends(_filter)],
) -> Items[SkillInList]:
    """List the skills that the caller may see, by name, each with its uses in the last 30 days."""
    found = services.skills.library.page(caller, page, narrowed)
    since = services.resources.clock.now_ms() - RECENT_DAYS * DAY_MS
    used = services.skills.library.usage_of(found.items, since_ms=max(since, 0))
    return items(
        found, lambda skill: SkillInList.seen_by(caller, skill, recent_use=used[skill.skill_id])
    )


@router.post(ALL, operation_id="skills.create", status_code=201)
@operator(body_id="slug", scans=True)
def create(body: CreateSkill, services: Services, caller: Caller) -> SkillKept:
    """Store a SKILL.md as a new skill, or as the next version of the caller's own."""
    kept = services.skills.service.create(
        Author(principal=caller),
        body.content,
        slug=body.slug,
        acknowledged=acknowledged(body.acknowledged),
    )
    return SkillKept.stored(caller, kept)


@router.post(
    ALL + "/upload",
    operation_id="skills.upload",
    status_code=201,
    openapi_extra={"requestBody": UPLOAD_BODY},
)
@operator(
    form=frozenset({"file", "slug", "acknowledged"}), max_body_bytes=MAX_ARCHIVE_BYTES, scans=True
)
def upload(uploaded: Uploaded, services: Services, caller: Caller) -> SkillKept:
    """Store a ZIP archive with a SKILL.md and its files; a signature is checked first."""
    kept = services.skills.service.upload(
        Author(principal=caller),
        read_archive(uploaded.archive),
        slug=uploaded.slug,
        acknowledged=uploaded.acknowledged,
    )
    return SkillKept.stored(caller, kept)


@router.get(TRASH, operation_id="skills.trash")
@viewer()
def list_trash(services: Services, caller: Caller, page: Paging) -> Items[TrashedSkillView]:
    """List deleted skills that can come back: the caller's own, for an admin all of them."""
    return items(services.skills.library.trash(caller, page), _trashed_view)


@router.post(TRASH + "/{trash_name}/restore", operation_id="skills.undelete")
@operator(scans=True)
def undelete(
    trash_name: Annotated[str, Path(description="what the deletion answered")],
    services: Services,
    caller: Caller,
    body: UndeleteSkill | None = None,
) -> SkillChanged:
    """Bring a deleted skill back, with its versions and without its grants; the guard reads it
    again."""
    taken = () if body is None else acknowledged(body.acknowledged)
    skill = services.skills.service.undelete(
        Author(principal=caller), trash_name, acknowledged=taken
    )
    return SkillChanged.seen_by(caller, skill)


@router.post(ALL + "/rescan-deps", operation_id="skills.rescan")
@admin()
def rescan(services: Services, caller: Caller) -> Rescan:
    """Check the dependencies of every skill in use; archive those that lack something."""
    return services.skills.dependencies.rescan(Author(principal=caller))


@router.post(ALL + "/install-deps", operation_id="skills.install")
@admin()
def install(services: Services, caller: Caller) -> InstalledPackages:
    """Install the packages that skills lack, each into the environment of its skill."""
    return services.skills.dependencies.install_missing(Author(principal=caller))


@router.post(ALL + "/install-dep", operation_id="skills.install_one")
@admin(action="skills.install", body_id="dep")
def install_one(body: InstallDependency, services: Services, caller: Caller) -> InstalledPackage:
    """Install one package for every skill that needs it."""
    return services.skills.dependencies.install_one(Author(principal=caller), body.dep)


@router.get(ALL + "/runtimes", operation_id="skills.runtimes")
@admin()
def runtimes(services: Services) -> Runtimes:
    """List the runtimes for scripts on the daemon's machine."""
    return services.skills.dependencies.runtimes()


@router.get(ONE, operation_id="skills.get")
@viewer(by_client=True)
def get(skill_id: SkillRef, services: Services, caller: Caller) -> SkillDetail:
    """Show a skill by its id, slug or display name, with its instructions."""
    library = services.skills.library
    # If no skill has this name, `get` tells an unknown slug from a malformed one.
    with suppress(NotFound):
        skill_id = library.named(caller, skill_id).skill_id
    detail = library.get(caller, skill_id)
    return SkillDetail.seen_by(
        caller,
        detail.skill,
        instructions=detail.instructions,
        runtime=detail.runtime,
        **{name: getattr(detail.manifest, name) for name in _FROM_MANIFEST},
        **_places(detail),
    )


def _makes_public(body: Any) -> bool:
    return isinstance(body, dict) and body.get("visibility") == Visibility.PUBLIC


@router.put(ONE, operation_id="skills.update")
@operator(two=TwoApprovers.SKILL_ACTIVATION, two_if=_makes_public, scans=True)
def update(
    skill_id: SkillRef, body: UpdateSkill, services: Services, caller: Caller
) -> SkillChanged:
    """Change name, description or tags, as a new version, or the visibility; only an admin makes a
    skill public."""
    changes = record_of(SkillFieldChanges, body)
    kept = services.skills.service.set_fields(Author(principal=caller), skill_id, changes)
    return SkillChanged.seen_by(caller, kept.skill, draft_version=kept.draft_version)


@router.delete(ONE, operation_id="skills.delete")
@operator()
def delete(skill_id: SkillRef, services: Services, caller: Caller) -> SkillDeleted:
    """Move a skill to the trash; its grants are gone for good."""
    trashed = services.skills.service.delete(Author(principal=caller), skill_id)
    return SkillDeleted(trash_name=trashed.trash_name)


@router.post(ONE + "/patch", operation_id="skills.patch")
# The service checks the owner.
@operator(scans=True)
def patch(skill_id: SkillRef, body: PatchSkill, services: Services, caller: Caller) -> SkillPatched:
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
    return SkillPatched.stored(caller, kept, matches=kept.matches, replaced=kept.replaced)


@router.post(ONE + "/toggle", operation_id="skills.toggle")
@operator()
def toggle(
    skill_id: SkillRef, body: ToggleSkill, services: Services, caller: Caller
) -> SkillToggled:
    """Switch a skill on or off; switched on, its dependencies are checked again."""
    skill = services.skills.service.toggle(Author(principal=caller), skill_id, enabled=body.enabled)
    return SkillToggled.seen_by(caller, skill)


@router.post(ONE + "/restore", operation_id="skills.restore")
@operator(scans=True)
def restore(
    skill_id: SkillRef, body: RestoreSkill, services: Services, caller: Caller
) -> SkillKept:
    """Restore an earlier version, as a new one."""
    kept = services.skills.service.restore(
        Author(principal=caller),
        skill_id,
        body.version,
        acknowledged=acknowledged(body.acknowledged),
    )
    return SkillKept.stored(caller, kept)


def acknowledged(given: Sequence[AcknowledgedFinding]) -> tuple[Acknowledged, ...]:
    """The findings that a caller acknowledges."""
    return tuple(Acknowledged(**finding.model_dump()) for finding in given)


def _trashed_view(trashed: TrashedSkill) -> TrashedSkillView:
    return TrashedSkillView.of(
        trashed.skill,
        id=trashed.skill.skill_id,
        trash_name=trashed.trash_name,
        deleted_by=trashed.deleted_by,
        deleted_at_ms=trashed.deleted_at_ms,
    )


def _places(detail: SkillWithManifest) -> dict[str, str]:
    """The paths of a skill's files, as far as the caller may see them."""
    if detail.path is None:
        return {}
    folder = FilePath(detail.path)
    root = {"skill_root": str(folder.parent)} if detail.skill.origin is SkillOrigin.PROMOTED else {}
    return {"path": detail.path, "skill_path": str(folder / MANIFEST), **root}


def _text(field: str, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise coded_error("api/invalid_text:not_utf8", pointer=f"/{field}") from None


def _acknowledged(data: bytes) -> tuple[Acknowledged, ...]:
    if not data.strip():
        return ()
    with located("acknowledged"):
        given = parse(data)
    try:
        return acknowledged(_FINDINGS.validate_python(given))
    except ValidationError as error:
        raise coded_error(
            "api/bad_request:acknowledged",
            errors=tuple(
                FieldError(
                    pointer=pointer(["acknowledged", *found["loc"]]),
                    code=found["type"],
                    detail=words_of(found),
                )
                for found in error.errors(include_url=False, include_input=False)[:10]
            ),
        ) from None
