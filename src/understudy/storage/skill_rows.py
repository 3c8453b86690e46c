"""Skills, versions and grants as rows, and back."""

from collections.abc import Mapping
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any, Final

from understudy.skills.model import (
    AgentGrant,
    GrantedSkill,
    Skill,
    SkillOrigin,
    SkillStatus,
    SkillVersion,
    TrashedSkill,
    UserGrant,
    Visibility,
    sort_name,
)
from understudy.skills.runtime_settings import SkillContext
from understudy.storage.columns import fields_of, list_of, read_record, search_text

# Columns that are fields of the record as they are.
PLAIN: Final = {
    "skill_id": str,
    "slug": str,
    "owner_id": str,
    "enabled": bool,
    "version": int,
    "digest": str,
    "size": int,
    "revision": int,
    "created_at_ms": int,
    "updated_at_ms": int,
}
WORDS: Final = {"name": str, "description": str}
# What a joined grant is called in a row.
OF_AGENT: Final = "agent_"
OF_USER: Final = "user_"
PINNED_DIGEST: Final = "pinned_digest"


def skill_row(skill: Skill) -> dict[str, Any]:
    """All columns of a skill."""
    return {
        **_kept(skill),
        "sort_name": sort_name(skill.name),
        "search": search_text(skill.slug, skill.name, skill.description, *skill.tags),
    }


def _kept(skill: Skill) -> dict[str, Any]:
    return {
        **{name: getattr(skill, name) for name in PLAIN},
        "origin": str(skill.origin),
        "visibility": str(skill.visibility),
        "status": str(skill.status),
        "trash_name": skill.trash_name,
        "body": {
            "name": skill.name,
            "description": skill.description,
            "tags": list(skill.tags),
            "frontmatter": dict(skill.frontmatter),
            "missing_deps": list(skill.missing_deps),
            "context": str(skill.context),
        },
    }


def read_skill(row: Any) -> Skill:
    """The skill in a row, or `DamagedRecord`."""
    return read_record(row, _skill, what=f"skill {row.skill_id}")


def _skill(row: Any) -> Skill:
    body = row.body
    return Skill(
        **fields_of({name: getattr(row, name) for name in PLAIN}, PLAIN, optional=False),
        **fields_of(body, WORDS, optional=False),
        origin=SkillOrigin(row.origin),
        visibility=Visibility(row.visibility),
        status=SkillStatus(row.status),
        trash_name=row.trash_name,
        tags=_texts(body["tags"]),
        missing_deps=_texts(body["missing_deps"]),
        context=SkillContext(body["context"]),
        frontmatter=fields_of(
            body["frontmatter"], dict.fromkeys(body["frontmatter"], str), optional=False
        ),
    )


# What a column of a damaged row is taken for, where it says nothing that can be.
_SUPPOSED: Final[Mapping[str, Any]] = {
    "owner_id": "",
    "enabled": False,
    "version": 1,
    "digest": "",
    "size": 0,
    "revision": 1,
    "created_at_ms": 0,
    "updated_at_ms": 0,
}


def salvaged(row: Any) -> Skill:
    """The skill in a damaged row, with its slug for a name and open to nobody."""
    supposed: dict[str, Any] = {
        name: value if isinstance(value := getattr(row, name), PLAIN[name]) else default
        for name, default in _SUPPOSED.items()
    }
    is_kept = row.status != str(SkillStatus.DELETED)
    return Skill(
        **supposed,
        skill_id=row.skill_id,
        slug=row.slug,
        name=row.slug,
        description="",
        origin=SkillOrigin(row.origin) if row.origin in set(SkillOrigin) else SkillOrigin.MANAGED,
        visibility=Visibility.PRIVATE,
        status=SkillStatus.ACTIVE if is_kept else SkillStatus.DELETED,
        trash_name=None if is_kept else row.trash_name,
    )


def _texts(stored: Any) -> tuple[str, ...]:
    texts = tuple(list_of(stored))
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("not a list of texts")
    return texts


def version_row(version: SkillVersion) -> dict[str, Any]:
    """All columns of a version."""
    return asdict(version)


def read_version(row: Any) -> SkillVersion:
    """The version in a row."""
    return SkillVersion(**{name: getattr(row, name) for name in SkillVersion.__slots__})


def trashed_row(trashed: TrashedSkill) -> dict[str, Any]:
    """All columns of what a deletion left."""
    return {
        "trash_name": trashed.trash_name,
        "owner_id": trashed.skill.owner_id,
        "deleted_by": trashed.deleted_by,
        "deleted_at_ms": trashed.deleted_at_ms,
        "body": _kept(trashed.skill),
    }


def read_trashed(row: Any) -> TrashedSkill:
    """What a deletion left, or `DamagedRecord`."""
    return read_record(row, _trashed, what=f"skill in the trash {row.trash_name}")


def _trashed(row: Any) -> TrashedSkill:
    if not isinstance(row.body, dict):
        raise TypeError("not a JSON object")
    return TrashedSkill(
        trash_name=row.trash_name,
        skill=_skill(SimpleNamespace(**row.body)),
        deleted_by=row.deleted_by,
        deleted_at_ms=row.deleted_at_ms,
    )


def read_agent_grant(row: Any, *, prefix: str = "") -> AgentGrant:
    """The grant in a row."""
    return AgentGrant(**{name: getattr(row, prefix + name) for name in AgentGrant.__slots__})


def read_user_grant(row: Any, *, prefix: str = "") -> UserGrant:
    """The grant in a row."""
    return UserGrant(**{name: getattr(row, prefix + name) for name in UserGrant.__slots__})


def read_granted(row: Any) -> GrantedSkill:
    """A skill and the grants beside it, or `DamagedRecord`."""
    to_agent = getattr(row, OF_AGENT + "skill_id") is not None
    to_user = getattr(row, OF_USER + "skill_id") is not None
    return GrantedSkill(
        skill=read_skill(row),
        agent_grant=read_agent_grant(row, prefix=OF_AGENT) if to_agent else None,
        user_grant=read_user_grant(row, prefix=OF_USER) if to_user else None,
        pinned_digest=getattr(row, PINNED_DIGEST),
    )
