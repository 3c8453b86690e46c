"""Rollouts whose skills have files and are in the catalogue, as a daemon puts them together."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.rollout_harness import NAME, RolloutHarness
from understudy.core.principal import Principal, Role
from understudy.rollout.model import Rollout, Stage
from understudy.rollout.mounts import MountKeeper, MountSync
from understudy.rollout.name_clashes import Shadows
from understudy.rollout.promoted_skills import PromotedSkills, is_in_place
from understudy.rollout.repair import MountRepair
from understudy.sessions.model import Session
from understudy.skills.bundles.store import BundleChecks
from understudy.skills.catalogue import Catalogue
from understudy.skills.catalogue_entry import CatalogueEntry
from understudy.skills.content_guard import ContentGuard, scan_skill
from understudy.skills.library import SkillLibrary
from understudy.skills.local.roots import Root
from understudy.skills.local.skills import READ_EVERY_MS, LocalSkills
from understudy.storage.mount_folders import MountFolders
from understudy.storage.unit import Units
from understudy.testing.clock import FrozenClock

EVE = Principal(user_id="eve", role=Role.VIEWER)


class MountedRollouts:
    """One daemon's files and catalogue over a database; others may have theirs over the same."""

    def __init__(self, units: Units, home: Path, *, looks_around: bool = True) -> None:
        self.units = units
        self.home = home
        self.workspace = home / "workspace"
        self.workspace.mkdir(parents=True, exist_ok=True)
        self.clock = FrozenClock()
        self.folders = MountFolders(home)
        self.local = LocalSkills(
            roots=_roots(home) if looks_around else (),
            guard=scan_skill,
            clock=self.clock,
            mounts=[self.folders.root],
            patience_s=60,
        )
        self.keeper = MountKeeper(self.folders, Shadows(self.local.known))
        self.repair = MountRepair(units, self.keeper)
        self.mounting = MountSync(units=units, keeper=self.keeper, guard=ContentGuard())
        self.promoted = PromotedSkills(self.keeper, self.repair, clock=self.clock)
        checks = BundleChecks()
        self.catalogue = Catalogue(units, self.local, checks, others=self.promoted)
        self.library = SkillLibrary(units, self.local, checks, self.promoted)
        self.hand = RolloutHarness(units, mounts=self.mounting)

    def restarted(self) -> "MountedRollouts":
        """The same daemon after a start."""
        again = MountedRollouts(self.units, self.home)
        again.local.refresh()
        again.repair.startup()
        return again

    def activate(self, learning_id: str = "lrn_1", **fields: Any) -> Rollout:
        """A skill that is in force."""
        self.hand.learn(learning_id)
        return self.hand.bring_to(Stage.ACTIVE, learning_id, **fields).record

    def folder(self, learning_id: str = "lrn_1") -> Path:
        """Where the files of a learning's skill lie, if they do."""
        return self.home / "skills" / "procedural" / learning_id

    def files(self) -> Mapping[str, str]:
        """Everything that lies there, by path; of a link, that it is one."""
        root = self.home / "skills" / "procedural"
        return {
            str(path.relative_to(root)): "a link" if path.is_symlink() else path.read_text()
            for path in sorted(root.rglob("*"))
            if path.is_symlink() or not path.is_dir()
        }

    def put_local(self, where: str, name: str) -> Path:
        """A skill in a folder of the machine, and time enough for it to be seen."""
        folder = self.home / where / "of-somebody"
        folder.mkdir(parents=True, exist_ok=True)
        text = f"---\nname: {name}\ndescription: Somebody's own\n---\nDo as I say.\n"
        (folder / "SKILL.md").write_text(text)
        self.look_again()
        return folder

    def look_again(self) -> None:
        """Have the folders looked at, whatever was seen there last."""
        self.clock.advance(READ_EVERY_MS)
        self.catalogue.refresh()

    def offered(self, session: Session | None = None, user_id: str = "eve") -> list[CatalogueEntry]:
        """What is on offer now."""
        self.catalogue.refresh()
        with self.units.read() as unit:
            who = {"agent_id": "default", "user_id": user_id}
            return [*self.catalogue.offered(unit, **who, session=session)]

    def origins(self, session: Session | None = None, name: str = NAME) -> list[str]:
        """Of those called like this, where they come from."""
        return [str(one.origin) for one in self.offered(session) if one.name == name]

    def troubles(self) -> list[tuple[str, str]]:
        """What stands against it, by code and name."""
        return [(str(it.code), it.name) for it in self.keeper.troubles()]

    def check_agreement(self) -> None:
        """Record, files and catalogue say the same."""
        with self.units.read() as unit:
            names = sorted(unit.rollouts.stamp({Stage.ACTIVE}))
            active = sorted(unit.rollouts.several(names), key=lambda it: it.skill_name)
        assert {path.partition("/")[0] for path in self.files()} == {
            it.source_learning_id for it in active
        }
        assert all(is_in_place(self.folders, it) for it in active)
        promoted = [it.slug for it in self.offered() if it.origin == "promoted"]
        assert promoted == [it.skill_name for it in active]
        assert self.troubles() == []


def _roots(home: Path) -> tuple[Root, ...]:
    """Two of the config file, one of them with the mounts, and one that a user added."""
    named, own = home / "named", home / "workspace" / "skills"
    for folder in (named, own):
        folder.mkdir(parents=True, exist_ok=True)
    return (Root(path=named), Root(path=home / "skills"), Root(path=own, owner_id="eve"))
