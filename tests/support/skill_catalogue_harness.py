"""Skills in a store, the catalogue and the library over it, and folders that local ones lie in."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from tests.support.skill_factories import make_skill, make_version, skill_units
from understudy.core.page import PageRequest
from understudy.core.principal import Principal, Role
from understudy.sessions.model import Session
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.store import BundleChecks, next_number
from understudy.skills.catalogue import Catalogue
from understudy.skills.catalogue_entry import CatalogueEntry
from understudy.skills.content_guard import scan_skill
from understudy.skills.library import SkillLibrary
from understudy.skills.local.roots import Root
from understudy.skills.local.skills import READ_EVERY_MS, LocalSkills
from understudy.skills.model import AgentGrant, Skill, UserGrant
from understudy.storage.unit import Unit, Units
from understudy.testing.clock import FrozenClock

ANN = Principal(user_id="ann", role=Role.OPERATOR)
BOB = Principal(user_id="bob", role=Role.OPERATOR)
VIEWER = Principal(user_id="eve", role=Role.VIEWER)
ADMIN = Principal(user_id="root", role=Role.ADMIN)
ALL = PageRequest(limit=200)


def skill_md(name: str, description: str = "Does it", body: str = "Do it.", extra: str = "") -> str:
    """A SKILL.md."""
    return f"---\nname: {name}\ndescription: {description}\n{extra}---\n{body}\n"


def skill_catalogue_harness(engine: sa.Engine, home: Path) -> "SkillCatalogueHarness":
    """Over a database, with bundles as a daemon keeps them."""
    return SkillCatalogueHarness(skill_units(engine, home), home)


@dataclass
class SkillCatalogueHarness:
    """Everything that reads skills, on one database."""

    units: Units
    home: Path
    clock: FrozenClock = field(default_factory=FrozenClock)

    def __post_init__(self) -> None:
        self.root = self.home / "local"
        self.local = LocalSkills(
            roots=[Root(path=self.root)],
            guard=scan_skill,
            clock=self.clock,
            patience_s=60,
        )
        self.checks = BundleChecks()
        self.catalogue = Catalogue(self.units, self.local, self.checks)
        self.library = SkillLibrary(self.units, self.local, self.checks)

    def keep(self, slug: str, *grants: AgentGrant | UserGrant, **fields: Any) -> Skill:
        """A skill with a bundle of one version, and what is granted of it."""
        text = skill_md(fields.get("name", slug), fields.get("description", "Does it"))
        return self.keep_bundle(slug, Bundle({"SKILL.md": text.encode()}), *grants, **fields)

    def keep_bundle(
        self, slug: str, bundle: Bundle, *grants: AgentGrant | UserGrant, **fields: Any
    ) -> Skill:
        """The same with files of one's own."""
        values = {"digest": bundle.digest, "size": bundle.size, **fields}
        with self.units.write() as unit:
            unit.skills.lock(slug)
            skill = make_skill(slug, version=next_number(unit, slug), **values)
            unit.skill_bundles.put(slug, skill.version, bundle)
            unit.skills.add(skill)
            unit.skills.add_version(make_version(skill, skill.version))
            for grant in grants:
                if isinstance(grant, AgentGrant):
                    unit.skill_grants.give_agent(grant)
                else:
                    unit.skill_grants.give_user(grant)
        return skill

    def put_local(self, name: str, **fields: str) -> Path:
        """A skill in a folder, and time enough for it to be seen."""
        folder = self.root / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "SKILL.md").write_text(skill_md(name, **fields))
        self.clock.advance(READ_EVERY_MS)
        return folder

    def offered(
        self, agent_id: str = "default", user_id: str = "ann", session: Session | None = None
    ) -> tuple[CatalogueEntry, ...]:
        """What is on offer now."""
        self.catalogue.refresh()
        with self.units.read() as unit:
            return self.catalogue.offered(unit, agent_id=agent_id, user_id=user_id, session=session)

    def one_in(self, unit: Unit, slug: str, user_id: str = "ann") -> CatalogueEntry:
        """One of what is on offer, as a unit that is open sees it."""
        offered = self.catalogue.offered(unit, agent_id="default", user_id=user_id, session=None)
        return next(one for one in offered if one.slug == slug)

    def slugs(
        self, agent_id: str = "default", user_id: str = "ann", session: Session | None = None
    ) -> list[str]:
        """The slugs of it."""
        return [one.slug for one in self.offered(agent_id, user_id, session)]

    def one(self, slug: str, agent_id: str = "default", user_id: str = "ann") -> CatalogueEntry:
        """One of it."""
        return next(one for one in self.offered(agent_id, user_id) if one.slug == slug)
