"""A service of dependencies whose installer puts packages there at once, from no network."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.skill_service_harness import ANN, SLUG, SkillServiceHarness, skill_md
from understudy.skills.access import Author
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.dependencies.environments import Environments, Runtimes
from understudy.skills.dependencies.installer import PackageInstaller
from understudy.skills.dependencies.names import Manager
from understudy.skills.dependencies.service import DependencyService
from understudy.skills.events import SkillEvent, SkillEvents
from understudy.skills.model import Skill
from understudy.skills.service import SkillService
from understudy.storage.unit import Units
from understudy.ws.connection import AUDIENCES

# Names that no machine has.
NOWHERE = "nowhere-to-be-found"
OTHER = "nor-is-this-one"


@dataclass
class Stock(PackageInstaller):
    """Puts a package into an environment as its installer would write it down, unless it is out."""

    environments: Environments
    out_of: set[str] = field(default_factory=set)
    asked: list[tuple[str, Manager, tuple[str, ...]]] = field(default_factory=list)

    def alone(self) -> AbstractContextManager[None]:
        """As for a real one."""
        return self.environments.alone()

    def install(
        self, slug: str, manager: Manager, names: Sequence[str], *, within_s: float
    ) -> str | None:
        """All of them, or none."""
        assert 0 < within_s <= 300
        self.asked.append((slug, manager, tuple(names)))
        if gone := self.out_of.intersection(names):
            return f"no {gone.pop()} to be had"
        for name in names:
            self.put(slug, manager, name)
        return None

    def fetch(self, slug: str, manager: Manager, name: str, *, within_s: float) -> str | None:
        """One of them, and nothing is put anywhere."""
        del slug, manager
        assert within_s <= 300
        return f"no {name} to be had" if name in self.out_of else None

    def put(self, slug: str, manager: Manager, name: str) -> None:
        """What is left behind of an installation."""
        own = self.environments.folder(slug)
        if manager is Manager.PIP:
            site = own / "python" / "lib" / "python3.11" / "site-packages"
            noted = site / f"{name.replace('-', '_')}-1.0.dist-info" / "METADATA"
            text = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
        else:
            noted, text = own / "node" / "node_modules" / name / "package.json", "{}"
        noted.parent.mkdir(parents=True, exist_ok=True)
        noted.write_text(text)


class DependencyHarness:
    """Everything around the service that a test may look at."""

    def __init__(self, units: Units, home: Path) -> None:
        self.harness = SkillServiceHarness(units)
        self.environments = Environments(home / "skills-env")
        self.stock = Stock(self.environments)
        self.events = SkillEvents()
        self.heard: list[SkillEvent] = []
        self.events.subscribe(self.heard.append)
        self.dependencies = DependencyService(
            units,
            self.harness.clock,
            environments=self.environments,
            installer=self.stock,
            events=self.events,
            find_runtimes=lambda: Runtimes(runtimes=(), ready=False),
        )

    @property
    def skills(self) -> SkillService:
        """The service of skills that looks at the same environments."""
        return SkillService(
            self.harness.units,
            self.harness.clock,
            guard=self.harness.guard,
            machine_for=self.environments.machine_for,
            listener=self.events,
        )

    def keep(
        self,
        script: str = f"import {NOWHERE.replace('-', '_')}\n",
        *,
        name: str = SLUG,
        author: Author = ANN,
        files: Mapping[str, bytes] | None = None,
        **fields: str,
    ) -> Skill:
        """A skill with a script."""
        named = {f"scripts/run{len(script)}.py": script.encode()} if script else {}
        text = skill_md(name, **fields).encode()
        bundle = Bundle({"SKILL.md": text, **named, **(files or {})})
        return self.skills.keep(author, bundle, action="skills.upload").skill

    def told(self) -> list[tuple[str, Mapping[str, object]]]:
        """What clients would hear."""
        return [(event.name, event.payload) for event in self.heard if event.name in AUDIENCES]
