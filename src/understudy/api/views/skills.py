"""Skills as the wire shows them."""

import base64
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from starlette.responses import Response

from understudy.api.answers import RAW_HEADERS
from understudy.core.principal import Principal
from understudy.skills.authority import actions_of
from understudy.skills.bundles.limits import MANIFEST
from understudy.skills.catalogue_entry import (
    AgentSkill,
    CatalogueEntry,
    Exported,
    Grants,
    SkillAccessAnswer,
    SkillWithManifest,
)
from understudy.skills.dependencies.availability import next_steps
from understudy.skills.diff import BundleDiff
from understudy.skills.model import (
    KEPT,
    AgentGrant,
    Skill,
    SkillOrigin,
    SkillVersion,
    TrashedSkill,
    UserGrant,
)
from understudy.skills.ports import BundleFile
from understudy.skills.versions import StoredSkill
from understudy.wire import skills as wire


def viewed_by(caller: Principal) -> Callable[[Skill], wire.SkillView]:
    """How a caller sees skills."""
    return lambda skill: wire.SkillView(**_fields(skill, caller))


def changed_view(skill: Skill, caller: Principal) -> wire.SkillChanged:
    """A skill that was changed."""
    return wire.SkillChanged(**_fields(skill, caller))


def toggled_view(skill: Skill, caller: Principal) -> wire.SkillToggled:
    """A skill that was switched."""
    return wire.SkillToggled(**_fields(skill, caller))


def kept_view(kept: StoredSkill, caller: Principal) -> wire.SkillKept:
    """A skill with a version that was kept."""
    return wire.SkillKept(**_kept_fields(kept, caller))


def patched_view(kept: StoredSkill, caller: Principal) -> wire.SkillPatched:
    """A skill whose SKILL.md was patched."""
    return wire.SkillPatched(
        **_kept_fields(kept, caller), matches=kept.matches, replaced=kept.replaced
    )


def detail_view(detail: SkillWithManifest, caller: Principal) -> wire.SkillDetail:
    """A skill with what it says; what it does not say is left out."""
    said = detail.manifest
    return wire.SkillDetail(
        **_fields(detail.skill, caller),
        instructions=detail.instructions,
        runtime=wire.SkillRuntime(**asdict(detail.runtime)),
        allowed_tools=list(said.allowed_tools),
        when_to_use=said.when_to_use or None,
        author=said.author or None,
        version_label=said.version_label or None,
        license=said.license or None,
        compatibility=said.compatibility or None,
        path=detail.path,
        **_places(detail),
    )


def _places(detail: SkillWithManifest) -> dict[str, Any]:
    if detail.path is None:
        return {}
    folder = Path(detail.path)
    root = {"skill_root": str(folder.parent)} if detail.skill.origin is SkillOrigin.PROMOTED else {}
    return {"skill_path": str(folder / MANIFEST), **root}


def offered_view(offered: CatalogueEntry) -> wire.OfferedSkill:
    """A skill in the catalogue of an agent."""
    return wire.OfferedSkill(
        slug=offered.slug,
        name=offered.name,
        description=offered.description,
        origin=offered.origin.value,
        digest=offered.digest,
        context=offered.context.value,
        reason=offered.reason.value,
        missing_deps=list(offered.missing_deps),
        unusable=offered.unusable,
        id=offered.skill_id,
        version=offered.told_version,
        when_to_use=offered.when_to_use or None,
    )


def agent_skill_view(held: AgentSkill) -> wire.AgentSkillView:
    """What an agent has of a skill."""
    skill = held.skill
    return wire.AgentSkillView(
        id=skill.skill_id,
        slug=skill.slug,
        name=skill.name,
        description=skill.description,
        visibility=skill.visibility.value,
        version=skill.version,
        is_system=skill.is_system,
        granted=held.granted,
        allowed=held.allowed,
        pinned_version=held.pinned_version,
    )


def version_view(version: SkillVersion) -> wire.SkillVersionView:
    """One version."""
    return wire.SkillVersionView(
        version=version.number,
        digest=version.digest,
        size=version.size,
        actor=version.actor,
        created_at_ms=version.created_at_ms,
        run_id=version.run_id,
        restored_from=version.restored_from,
    )


def entry_view(file: BundleFile) -> wire.SkillFileEntry:
    """A file in a list."""
    return wire.SkillFileEntry(path=file.path, name=file.path.rpartition("/")[2], size=file.size)


def file_view(path: str, data: bytes) -> wire.SkillFile:
    """A file with its content, as text if it is text."""
    encoding: wire.Encoding = "utf-8"
    try:
        text = data.decode()
    except UnicodeDecodeError:
        encoding, text = "base64", base64.b64encode(data).decode()
    return wire.SkillFile(path=path, size=len(data), encoding=encoding, content=text)


def diff_view(diff: BundleDiff, old: int, new: int) -> wire.SkillDiff:
    """What changed between two versions."""
    return wire.SkillDiff(
        from_version=old,
        to_version=new,
        from_digest=diff.old_digest,
        to_digest=diff.new_digest,
        files=[wire.SkillFileDiff(**asdict(file)) for file in diff.files],
    )


def access_view(
    answer: SkillAccessAnswer, *, agent_id: str | None, user_id: str | None
) -> wire.SkillAccess:
    """Who was asked about, yes or no, and why."""
    return wire.SkillAccess(
        skill_id=answer.skill.skill_id,
        slug=answer.skill.slug,
        allowed=answer.access.allowed,
        reason=answer.access.reason.value,
        version=answer.version,
        agent_id=agent_id,
        user_id=user_id,
    )


def every_grant(grants: Grants) -> tuple[AgentGrant | UserGrant, ...]:
    """Those of agents, then those of users."""
    return (*grants.agents, *grants.users)


def grant_view(grant: AgentGrant | UserGrant) -> wire.GrantView:
    """A grant of either kind."""
    return wire.GrantView(
        kind="agent" if isinstance(grant, AgentGrant) else "user",
        granted_by=grant.granted_by,
        created_at_ms=grant.created_at_ms,
        agent_id=grant.agent_id if isinstance(grant, AgentGrant) else None,
        user_id=grant.user_id if isinstance(grant, UserGrant) else None,
        pinned_version=grant.pinned_version if isinstance(grant, AgentGrant) else None,
    )


def trashed_view(trashed: TrashedSkill) -> wire.TrashedSkillView:
    """What a deletion left."""
    skill = trashed.skill
    return wire.TrashedSkillView(
        trash_name=trashed.trash_name,
        id=skill.skill_id,
        slug=skill.slug,
        name=skill.name,
        owner_id=skill.owner_id,
        version=skill.version,
        deleted_by=trashed.deleted_by,
        deleted_at_ms=trashed.deleted_at_ms,
    )


def archive_response(exported: Exported) -> Response:
    """A skill to be saved and not opened; its name has only letters that a header can have."""
    return Response(
        exported.content,
        headers={
            **RAW_HEADERS,
            "Content-Type": "application/zip",
            "Content-Disposition": f'attachment; filename="{exported.file_name}"',
        },
    )


def _kept_fields(kept: StoredSkill, caller: Principal) -> dict[str, Any]:
    return {
        **_fields(kept.skill, caller),
        "unchanged": kept.is_unchanged,
        "deps_warning": _deps_warning(kept.missing),
    }


def _deps_warning(missing: tuple[str, ...]) -> str | None:
    if not missing:
        return None
    return f"what it needs is not there: {'; '.join(next_steps(missing))}"


def _fields(skill: Skill, caller: Principal) -> dict[str, Any]:
    return {
        "id": skill.skill_id,
        "slug": skill.slug,
        "name": skill.name,
        "description": skill.description,
        "origin": skill.origin.value,
        "owner_id": skill.owner_id,
        "visibility": skill.visibility.value,
        "status": skill.status.value,
        "enabled": skill.enabled,
        "version": _version(skill),
        "is_system": skill.is_system,
        "tags": list(skill.tags),
        "missing_deps": list(skill.missing_deps),
        "frontmatter": dict(skill.frontmatter),
        "digest": skill.digest,
        "size": skill.size,
        "created_at_ms": skill.created_at_ms,
        "updated_at_ms": skill.updated_at_ms,
        "actions": list(actions_of(skill, caller)),
    }


def _version(skill: Skill) -> int | str | None:
    is_kept = skill.origin in KEPT
    return skill.version if is_kept else skill.frontmatter.get("version") or None
