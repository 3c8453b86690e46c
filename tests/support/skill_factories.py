"""Skills with sane defaults, and units whose bundles are kept as in a daemon."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from tests.support.factories import NOW
from understudy.core.bell import Bell
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.store import BundleStore, next_number
from understudy.skills.model import AgentGrant, Skill, SkillOrigin, SkillVersion, UserGrant
from understudy.storage.skill_bundle_cache import BundleCache
from understudy.storage.skill_bundle_files import FileSkillBundles
from understudy.storage.skill_bundle_rows import SqlSkillBundles
from understudy.storage.unit import Unit, Units

SKILL_MD = "---\nname: Weekly report\ndescription: Writes the report\n---\nCollect and write.\n"


def make_skill(slug: str = "weekly-report", **fields: Any) -> Skill:
    """A private skill of ann's in its first version."""
    values: dict[str, Any] = {
        "skill_id": f"skl_{slug}",
        "name": slug,
        "description": "Does it",
        "origin": SkillOrigin.MANAGED,
        "owner_id": "ann",
        "version": 1,
        "digest": "0" * 64,
        "size": 10,
        "created_at_ms": NOW,
        "updated_at_ms": NOW,
    }
    return Skill(slug=slug, **(values | fields))


def make_version(skill: Skill, number: int = 1, **fields: Any) -> SkillVersion:
    """A version of a skill, made by ann."""
    values: dict[str, Any] = {
        "digest": skill.digest,
        "size": skill.size,
        "actor": "ann",
        "created_at_ms": NOW + number,
    }
    return SkillVersion(skill_id=skill.skill_id, number=number, **(values | fields))


def to_agent(skill: Skill, agent_id: str = "default", **fields: Any) -> AgentGrant:
    """A grant of ann's to an agent."""
    values: dict[str, Any] = {"granted_by": "ann", "created_at_ms": NOW}
    return AgentGrant(skill_id=skill.skill_id, agent_id=agent_id, **(values | fields))


def to_user(skill: Skill, user_id: str = "bob") -> UserGrant:
    """A grant of ann's to a user."""
    return UserGrant(skill_id=skill.skill_id, user_id=user_id, granted_by="ann", created_at_ms=NOW)


def make_bundle(text: str = "", files: Mapping[str, bytes] | None = None) -> Bundle:
    """A bundle with some words of its own."""
    return Bundle({"SKILL.md": (SKILL_MD + text).encode(), **(files or {})})


def skill_units(engine: sa.Engine, home: Path, bell: Bell | None = None) -> Units:
    """Units whose bundles are files on SQLite and rows on PostgreSQL."""
    cache = BundleCache(home / "skills-cache")

    def bundles(unit: Unit) -> BundleStore:
        if engine.dialect.name == "sqlite":
            return FileSkillBundles(home / "skills-store", unit)
        return SqlSkillBundles(unit.connection, cache)

    return Units(engine, enqueue=lambda *_: None, bell=bell or Bell(), skill_bundles=bundles)


def keep_version(unit: Unit, skill: Skill, bundle: Bundle) -> SkillVersion:
    """Put the next version of a skill that this unit holds."""
    number = next_number(unit, skill.slug)
    unit.skill_bundles.put(skill.slug, number, bundle)
    version = make_version(skill, number, digest=bundle.digest, size=bundle.size)
    unit.skills.add_version(version)
    return version
