"""A service of skills as a daemon has one, and the people who use it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import sqlalchemy as sa

from understudy.core.audit import AuditEntry
from understudy.core.page import PageRequest
from understudy.core.principal import Principal, Role
from understudy.skills.access import Author
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.store import require_bundle
from understudy.skills.content_guard import ContentGuard
from understudy.skills.dependencies.availability import LocalMachine
from understudy.skills.dependencies.names import Manager
from understudy.skills.events import SkillEvents
from understudy.skills.model import Skill, SkillVersion
from understudy.skills.service import SkillService, UnstoredLookup, no_unstored
from understudy.storage.schema import skill_bundle_files
from understudy.storage.unit import Units
from understudy.testing.clock import FrozenClock

ALL = PageRequest(limit=200)
SLUG = "weekly-report"
OK_MD = """\
---
name: Weekly report
description: Writes the weekly report from the tracker
---
# Weekly report

1. Collect the numbers of the week.
2. Write them down.
"""
# The command is in two parts, so that nobody takes this file for what it tests.
HARMFUL = "rm -" + "rf /"


def person(user_id: str, role: Role = Role.OPERATOR) -> Author:
    """Somebody who acts with their own hands."""
    return Author(principal=Principal(user_id=user_id, role=role))


def run_of(author: Author, agent_id: str = "default", run_id: str = "run_1") -> Author:
    """A run that acts on their behalf."""
    return Author(principal=author.principal, agent_id=agent_id, run_id=run_id)


ANN = person("ann")
BOB = person("bob")
ROOT = person("root", Role.ADMIN)
VERA = person("vera", Role.VIEWER)


def skill_md(name: str = "Weekly report", body: str = "Collect and write.\n", **fields: str) -> str:
    """A SKILL.md of one's own."""
    front = {"name": name, "description": "Writes the report", **fields}
    lines = [f"{key}: {value}" for key, value in front.items()]
    return "\n".join(["---", *lines, "---", body])


@dataclass
class Heard(SkillEvents):
    """Listens to the changes."""

    changes: list[tuple[str, str]] = field(default_factory=list)

    def changed(self, skill: Skill, what: str) -> None:
        """Write it down."""
        self.changes.append((skill.slug, what))


class Bench(LocalMachine):
    """A machine that has everything but what a test takes away."""

    def __init__(self, lacks: Iterable[str] = ()) -> None:
        super().__init__()
        self.lacks = set(lacks)

    def has(self, manager: Manager, name: str) -> bool:
        """Whether it is there."""
        del manager
        return name not in self.lacks


@dataclass
class SkillServiceHarness:
    """A service with everything around it that a test may look at."""

    units: Units
    clock: FrozenClock = field(default_factory=FrozenClock)
    heard: Heard = field(default_factory=Heard)
    machine: Bench = field(default_factory=Bench)
    guard: ContentGuard = field(default_factory=ContentGuard)
    unstored: UnstoredLookup = no_unstored

    @property
    def service(self) -> SkillService:
        """The service itself."""
        return SkillService(
            self.units,
            self.clock,
            guard=self.guard,
            machine_for=lambda _: self.machine,
            listener=self.heard,
            unstored=self.unstored,
        )

    def hand_over(self, agent_id: str = "default", user_id: str = "ann") -> Self:
        """Make somebody the owner of an agent, which is then no shared one."""
        with self.units.write() as unit:
            agent = unit.agents.get(agent_id)
            assert agent is not None
            owned = replace(agent, owner_id=user_id, version=agent.version + 1)
            unit.agents.update(owned, expected_version=agent.version)
        return self

    def row(self, slug: str = SLUG) -> Skill:
        """The skill of a slug, deleted or not."""
        with self.units.read() as unit:
            skill = unit.skills.by_slug(slug)
        assert skill is not None
        return skill

    def bundle(self, slug: str = SLUG, number: int | None = None) -> Bundle:
        """One of its versions, or the one that counts."""
        with self.units.read() as unit:
            skill = unit.skills.by_slug(slug)
            assert skill is not None
            version = unit.skills.version(skill.skill_id, number or skill.version)
            assert version is not None
            return require_bundle(unit, slug, version)

    def versions(self, slug: str = SLUG) -> Sequence[SkillVersion]:
        """Its versions, newest first."""
        skill_id = self.row(slug).skill_id
        with self.units.read() as unit:
            return unit.skills.versions(skill_id, ALL).items

    def nothing_of(self, slug: str = SLUG) -> bool:
        """Whether there is neither a row nor a bundle."""
        with self.units.read() as unit:
            return unit.skills.by_slug(slug) is None and not unit.skill_bundles.numbers(slug)

    def grants(self, slug: str = SLUG) -> tuple[list[str], list[str]]:
        """The agents and the users that may use it."""
        skill_id = self.row(slug).skill_id
        with self.units.read() as unit:
            agents = [one.agent_id for one in unit.skill_grants.to_agents(skill_id)]
            return agents, [one.user_id for one in unit.skill_grants.to_users(skill_id)]

    def pins(self, slug: str = SLUG) -> dict[str, int | None]:
        """The agents that may use it, and in which version only."""
        skill_id = self.row(slug).skill_id
        with self.units.read() as unit:
            granted = unit.skill_grants.to_agents(skill_id)
        return {one.agent_id: one.pinned_version for one in granted}

    def audit(self) -> Sequence[AuditEntry]:
        """What is in the audit of skills, newest first."""
        with self.units.read() as unit:
            return unit.audit.page(ALL, resource="skills", actor=None).items

    def damage(self, path: str, slug: str = SLUG, number: int = 1) -> None:
        """Have a file of a version be gone, as a failing disk would."""
        with self.units.write() as unit:
            folder = unit.skill_bundles.folder(slug, number)
            if self.units.engine.dialect.name == "sqlite":
                assert folder is not None
                (folder / path).unlink()
            else:
                which = (skill_bundle_files.c.number == number, skill_bundle_files.c.path == path)
                gone = sa.delete(skill_bundle_files).where(*which)
                assert unit.connection.execute(gone).rowcount == 1

    def state(self, slug: str = SLUG) -> tuple[Any, ...]:
        """Everything that nobody but its owner may change."""
        return (self.row(slug), self.bundle(slug), self.grants(slug), self.versions(slug))
