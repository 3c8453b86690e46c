"""The services of skills with their dependencies, and the sources of local skills."""

import os
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

import sqlalchemy as sa
import structlog

from understudy.access.signing_keys import SigningKeyService
from understudy.access.tokens import TokenService
from understudy.core.principal import Role
from understudy.daemon.resources import SKILLS, SKILLS_CACHE, Resources
from understudy.daemon.skill_status import SkillReport
from understudy.evolution.consent import asks_to_change
from understudy.guard.scan import forget_compiled
from understudy.runs.model import require_run
from understudy.runs.taint import untrusted_path
from understudy.skills.bundles.limits import MANIFEST
from understudy.skills.bundles.signature import BundleSignatures
from understudy.skills.bundles.store import BundleChecks, Settled
from understudy.skills.catalogue import Catalogue
from understudy.skills.content_guard import ContentGuard, scan_skill
from understudy.skills.dependencies.environments import Environments, find_runtimes
from understudy.skills.dependencies.installer import PackageInstaller
from understudy.skills.dependencies.service import DependencyService
from understudy.skills.events import SkillEvents
from understudy.skills.library import SkillLibrary
from understudy.skills.local.roots import USUAL_FOLDERS, Root, is_within
from understudy.skills.local.service import DaemonFolders, SkillRootService, as_roots
from understudy.skills.local.skill import record_of
from understudy.skills.local.skills import LocalSkills
from understudy.skills.model import LOCAL, Skill
from understudy.skills.service import SkillService
from understudy.skills.shipped_skills import RefusedSeed, seed
from understudy.skills.sources import OtherSkills
from understudy.storage.mount_folders import MountFolders
from understudy.storage.skill_bundle_places import LOST
from understudy.tools.base import ToolContext
from understudy.tools.programs import Programs

log = structlog.get_logger()

ENVIRONMENTS: Final = "skills-env"
# Maximum number of folders searched for a hint that there are skills.
MAX_SEARCHED: Final = 200


class SkillSources:
    """The sources of skills that are not stored: local folders and mounts."""

    def __init__(self, resources: Resources) -> None:
        settings = resources.settings
        self.guard = ContentGuard(allow_acknowledged=settings.guard_allow_acknowledged)
        self.mounts = MountFolders(settings.home)
        self.local = LocalSkills(
            roots=[Root(path=path) for path in settings.skill_roots],
            added=self._added,
            guard=scan_skill,
            clock=resources.clock,
            stores=[settings.home / name for name in (SKILLS, SKILLS_CACHE, ENVIRONMENTS)],
            mounts=[self.mounts.root],
        )
        self._units = resources.units

    def _added(self) -> Sequence[Root]:
        """The roots that operators added."""
        with self._units.read() as unit:
            return as_roots(unit.skill_roots.all())


class SkillServices:
    """Services of skills: storage, catalogue, grants, dependencies, tools."""

    def __init__(
        self,
        resources: Resources,
        tokens: TokenService,
        sources: SkillSources,
        promoted: OtherSkills,
        keys: SigningKeyService,
    ) -> None:
        self._resources = resources
        self._tokens = tokens
        self._promoted = promoted
        units, clock, settings = resources.units, resources.clock, resources.settings
        self.events = SkillEvents()
        self.environments = Environments(settings.home / ENVIRONMENTS)
        self.guard, self.local = sources.guard, sources.local
        file = sa.make_url(settings.database_url).database if settings.is_sqlite else None
        folders = DaemonFolders(
            home=settings.home,
            workspace=settings.workspace,
            user_home=settings.user_home,
            database=Path(file).parent if file else None,
        )
        checks = BundleChecks()
        signatures = BundleSignatures(units, keys)
        self.library = SkillLibrary(units, self.local, checks, promoted, signatures)
        self.roots = SkillRootService(units, clock, self.local, folders, self.library.local_slugs)
        self.service = SkillService(
            units,
            clock,
            guard=self.guard,
            machine_for=self.environments.machine_for,
            listener=self.events,
            others=promoted,
            unstored=self.library.find_unstored,
            signatures=signatures,
        )
        self.catalogue = Catalogue(units, self.local, checks, self.environments.python, promoted)
        self.programs = programs = Programs(settings.environment, resources.children)
        self.dependencies = DependencyService(
            units,
            clock,
            environments=self.environments,
            installer=PackageInstaller(self.environments, programs),
            events=self.events,
            find_runtimes=partial(find_runtimes, programs),
        )
        self._refused: tuple[RefusedSeed, ...] = ()
        self.status = SkillReport(
            units,
            self.local.catalogue,
            lambda: self._refused,
            checks.damaged,
            promoted,
            self._unread_folders,
        )

    def startup(self) -> None:
        """Settle the bundles with their rows, and seed the shipped skills."""
        units = self._resources.units
        with units.exclusively(), units.write() as unit:
            settled = unit.skill_bundles.settle(unit.skills.places())
        if settled != Settled():
            log.info("skills.settled", **asdict(settled))
        if settled.set_aside:
            # The database may have been replaced since the last start.
            log.warning("skills.set_aside", versions=settled.set_aside, place=LOST)
        report = seed(units, self._resources.clock, self.guard, others=self._promoted)
        if report.added or report.upgraded:
            # The first start of a home or a version scans skills; others may never do.
            forget_compiled()
        self._refused = report.refused
        for slug, why in self._refused:
            log.warning("skills.shipped_refused", slug=slug, reason=why)

    def stop(self) -> None:
        """Stop installations, scans, and the search of skill roots."""
        self.guard.stop()
        self.local.stop()
        self.programs.stop()

    def local_record(self, ref: str) -> Skill | None:
        """The record of a local skill, by `local:` and its slug."""
        found = self.local.known().get(ref.removeprefix(LOCAL)) if ref.startswith(LOCAL) else None
        return None if found is None else record_of(found)

    def _unread_folders(self) -> Sequence[Path]:
        """The usual folders of skills that hold some, but are no roots."""
        settings = self._resources.settings
        above = filter(None, (settings.workspace, settings.user_home))
        usual = (folder / name for folder in above for name in USUAL_FOLDERS)
        roots = [root.path for root in self.local.roots()]
        return [path for path in usual if _holds_skills(path) and not _is_covered(path, roots)]

    def role_of(self, context: ToolContext) -> Role:
        """The role of a run: the lower of its user's role at submission and now."""
        with self._resources.units.read() as unit:
            now = self._tokens.role_in_runs(unit, context.user_id)
            then = require_run(unit, context.run_id).role
        return now if then.includes(now) else then

    def untrusted_of(self, context: ToolContext) -> tuple[str, ...]:
        """The codes of the untrusted sources that a run has read so far."""
        with self._resources.units.read() as unit:
            return untrusted_path(unit, require_run(unit, context.run_id))

    def asked_of(self, context: ToolContext, ref: str) -> bool:
        """Whether the user of a run asked in their own words to change a skill."""
        with self._resources.units.read() as unit:
            return asks_to_change(unit, require_run(unit, context.run_id), ref)


def _holds_skills(folder: Path) -> bool:
    """Whether a folder right below this one has a SKILL.md."""
    try:
        return any((each / MANIFEST).is_file() for each in islice(folder.iterdir(), MAX_SEARCHED))
    except OSError:
        return False


def _is_covered(path: Path, roots: Sequence[Path]) -> bool:
    return any(is_within(Path(os.path.realpath(path)), root) for root in roots)
