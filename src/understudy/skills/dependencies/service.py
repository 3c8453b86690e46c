"""The dependencies of skills: which are missing, rescans, and installation."""

import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Final

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import DamagedRecord
from understudy.core.page import MAX_LIMIT, PageRequest, decode_cursor
from understudy.core.principal import Role
from understudy.core.records import OMIT_EMPTY
from understudy.skills.access import Author, is_live
from understudy.skills.bundles import manifest
from understudy.skills.bundles.store import require_bundle
from understudy.skills.change import SkillChange, SkillTransactions
from understudy.skills.dependencies.availability import missing, next_step
from understudy.skills.dependencies.environments import Environments, FindRuntimes, Runtimes
from understudy.skills.dependencies.names import Dependency, Manager, check_dependency
from understudy.skills.dependencies.requirements import Requirements, find_requirements
from understudy.skills.events import SkillEventName, SkillEvents
from understudy.skills.lifecycle import STATUS
from understudy.skills.model import Skill, SkillFilter, SkillStatus

if TYPE_CHECKING:
    from understudy.skills.dependencies.installer import PackageInstaller
    from understudy.storage.unit import Unit, Units

# The timeout of one call, for all of its packages.
INSTALL_WITHIN_S: Final = 300.0
# The subject of audit entries that are not about one skill.
ALL: Final = "dependencies"
NOTHING_MISSING: Final = "every skill in use has what it needs"
# pip treats these separators as equal in names.
_SEPARATORS: Final = re.compile(r"[-_.]+")


class NeedsStatus(StrEnum):
    """The status of a skill in a rescan."""

    OK = "ok"  # it needs nothing
    ACTIVE = "active"
    ARCHIVED = "archived"
    DAMAGED = "damaged"  # its bundle cannot be read


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillNeeds:
    """The requirements of a skill's current version, and which of them are missing."""

    skill: Skill
    requirements: Requirements
    missing: tuple[str, ...]
    is_damaged: bool = False

    @property
    def status(self) -> SkillStatus:
        """The status that follows from the missing dependencies."""
        return SkillStatus.ARCHIVED if self.missing else SkillStatus.ACTIVE

    @property
    def reported_status(self) -> NeedsStatus:
        """The status as a rescan reports it."""
        if self.is_damaged:
            return NeedsStatus.DAMAGED
        return NeedsStatus(self.status) if self.requirements.dependencies else NeedsStatus.OK

    @property
    def is_news(self) -> bool:
        """Whether the row has another status or other missing dependencies."""
        known = (self.skill.status, self.skill.missing_deps)
        return not self.is_damaged and known != (self.status, self.missing)


def needs_in_use(units: "Units", environments: Environments) -> Iterator[SkillNeeds]:
    """The needs of every skill that is enabled and not deleted, by name."""
    after = None
    while True:
        with units.read() as unit:
            request = PageRequest(limit=MAX_LIMIT, after=after)
            page = unit.skills.page(request, narrowed=SkillFilter(enabled=True))
        for skill in page.items:
            machine = environments.machine_for(skill.slug)
            with units.read() as unit:
                requirements = requirements_of(unit, skill)
            if requirements is None:
                yield SkillNeeds(
                    skill=skill, requirements=Requirements(), missing=(), is_damaged=True
                )
            else:
                lacking = missing(requirements, machine)
                yield SkillNeeds(skill=skill, requirements=requirements, missing=lacking)
        if page.next_cursor is None:
            return
        after = decode_cursor(page.next_cursor)


def requirements_of(unit: "Unit", skill: Skill) -> Requirements | None:
    """The requirements of the current version; None when its bundle is damaged."""
    version = unit.skills.version(skill.skill_id, skill.version)
    if version is None:
        return None
    try:
        bundle = require_bundle(unit, skill.slug, version)
    except DamagedRecord:
        return None
    return find_requirements(bundle, manifest.read(bundle.manifest_text).manifest)


def keep(change: SkillChange, needs: SkillNeeds) -> bool:
    """Save the status of a skill; False when it changed meanwhile."""
    change.unit.skills.lock(needs.skill.slug)
    skill = change.unit.skills.get(needs.skill.skill_id)
    is_same = skill is not None and skill.version == needs.skill.version
    if skill is None or not is_same or not skill.enabled or not is_live(skill):
        return False
    STATUS.check(skill.status, needs.status)
    kept = change.save(skill, status=needs.status, missing_deps=needs.missing)
    lacking = ", ".join(kept.missing_deps) or "nothing"
    change.record("skills.rescan", kept, f"is {kept.status}, missing {lacking}")
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallPlan:
    """The packages of one package manager that a skill's environment should have."""

    slug: str
    manager: Manager
    names: tuple[str, ...]


def plans_for_missing(needs: SkillNeeds) -> Iterator[InstallPlan]:
    """The plans for a skill: for each manager with a missing package, all packages of the skill."""
    lacking = {check_dependency(label).manager for label in needs.missing}
    for manager, names in _packages(needs):
        if manager in lacking:
            yield InstallPlan(slug=needs.skill.slug, manager=manager, names=names)


def plans_for_one(needs: SkillNeeds, dependency: Dependency) -> Iterator[InstallPlan]:
    """The plan that adds one package to those that a skill has, if it needs or may use it."""
    wanted = {_key(label) for label in (*needs.requirements.listed, *needs.requirements.optional)}
    if _key(dependency.label) not in wanted:
        return
    lacking = {_key(label) for label in needs.missing} - {_key(dependency.label)}
    for manager, names in _packages(needs):
        if manager is dependency.manager:
            kept = {_key(f"{manager}:{name}"): name for name in names}
            kept.setdefault(_key(dependency.label), dependency.name)
            held = tuple(name for key, name in kept.items() if key not in lacking)
            yield InstallPlan(slug=needs.skill.slug, manager=manager, names=held)


def _packages(needs: SkillNeeds) -> tuple[tuple[Manager, tuple[str, ...]], ...]:
    return (Manager.PIP, needs.requirements.pip), (Manager.NPM, needs.requirements.npm)


def _key(label: str) -> str:
    is_pip = label.startswith("pip:")
    return _SEPARATORS.sub("-", label).casefold() if is_pip else label


@dataclass(frozen=True, slots=True, kw_only=True)
class RescannedSkill:
    """The status of a skill after a rescan, and its missing dependencies."""

    slug: str
    status: NeedsStatus
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescan:
    """The status of every enabled skill, and how many changed."""

    updated: int
    results: tuple[RescannedSkill, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledPackages:
    """The installed packages by manager, and errors; only `message` when nothing was missing."""

    system: tuple[str, ...] = ()
    pip: tuple[str, ...] = ()
    npm: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    message: Annotated[str, OMIT_EMPTY] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledPackage:
    """Whether one dependency was installed for every skill that needs it."""

    ok: bool
    error: Annotated[str, OMIT_EMPTY] = ""


class DependencyService:
    """For admins: checks and installs the dependencies of skills. No code of a skill is run."""

    def __init__(
        self,
        units: "Units",
        clock: Clock,
        *,
        environments: Environments,
        installer: "PackageInstaller",
        events: SkillEvents,
        find_runtimes: FindRuntimes,
    ) -> None:
        self._units = units
        self._clock = clock
        self._maker = SkillTransactions(units=units, clock=clock, listener=events)
        self._environments = environments
        self._installer = installer
        self._events = events
        self._find_runtimes = find_runtimes

    def runtimes(self) -> Runtimes:
        """The programs on this machine that run scripts."""
        return self._find_runtimes()

    def rescan(self, author: Author) -> Rescan:
        """Check every enabled skill: archive those that lack a dependency, activate the others."""
        author.principal.require(Role.ADMIN)
        rescan = self._check(author)
        self._record(author, "skills.rescan", ALL, f"{rescan.updated} skills changed")
        self._events.tell(SkillEventName.DEPS_COMPLETE, {})
        return rescan

    def install_missing(self, author: Author) -> InstalledPackages:
        """Install the missing dependencies of all enabled skills, and rescan."""
        author.principal.require(Role.ADMIN)
        with self._installer.alone():
            lacking = [one for one in self._needs() if one.missing]
            if not lacking:
                return InstalledPackages(message=NOTHING_MISSING)
            labels = {label for one in lacking for label in one.missing}
            self._events.tell(SkillEventName.DEPS_INSTALLING, {"count": len(labels)})
            by_hand = [label for label in sorted(labels) if _is_by_hand(check_dependency(label))]
            installed = self._install(
                chain.from_iterable(map(plans_for_missing, lacking)),
                errors=[f"{label}: {next_step(label)}" for label in by_hand],
            )
        self._events.tell(SkillEventName.DEPS_INSTALLED, {"result": _result(installed)})
        self._record(author, "skills.install", ALL, _summary(installed))
        self._check(author)
        self._events.tell(SkillEventName.DEPS_COMPLETE, {})
        return installed

    def install_one(self, author: Author, label: str) -> InstalledPackage:
        """Install one dependency for every skill that needs it, and rescan."""
        author.principal.require(Role.ADMIN)
        dependency = check_dependency(label)
        if _is_by_hand(dependency):
            return InstalledPackage(ok=False, error=next_step(label))
        with self._installer.alone():
            plans = [plan for one in self._needs() for plan in plans_for_one(one, dependency)]
            if not plans:
                return InstalledPackage(ok=False, error=f"no skill in use needs {dependency.label}")
            self._events.tell(SkillEventName.DEP_INSTALLING, {"dep": dependency.label})
            installed = self._install(plans)
        one = InstalledPackage(ok=not installed.errors, error="; ".join(installed.errors))
        self._events.tell(
            SkillEventName.DEP_INSTALLED,
            {"dep": dependency.label, "ok": one.ok} | ({} if one.ok else {"error": one.error}),
        )
        self._record(author, "skills.install", dependency.label, _summary(installed))
        self._check(author)
        return one

    def _needs(self) -> Iterable[SkillNeeds]:
        return needs_in_use(self._units, self._environments)

    def _check(self, author: Author) -> Rescan:
        """Rescan every enabled skill, and save what changed."""
        updated = 0
        results: list[RescannedSkill] = []
        for needs in self._needs():
            updated += needs.is_news and self._keep(author, needs)
            one = RescannedSkill(
                slug=needs.skill.slug, status=needs.reported_status, missing=needs.missing
            )
            results.append(one)
            payload = {"slug": one.slug, "status": one.status, "missing": list(one.missing)}
            self._events.tell(SkillEventName.DEPS_CHECKED, payload)
        return Rescan(updated=updated, results=tuple(results))

    def _keep(self, author: Author, needs: SkillNeeds) -> bool:
        with self._maker.by(author) as change:
            return keep(change, needs)

    def _install(
        self, plans: Iterable[InstallPlan], errors: Iterable[str] = ()
    ) -> InstalledPackages:
        until = time.monotonic() + INSTALL_WITHIN_S
        there: dict[Manager, set[str]] = {manager: set() for manager in Manager}
        failed = list(errors)
        for plan in plans:
            brought = bring(self._installer, plan, held=self._held(plan), until=until)
            there[plan.manager].update(brought.names)
            failed += brought.errors
        return InstalledPackages(
            pip=tuple(sorted(there[Manager.PIP])),
            npm=tuple(sorted(there[Manager.NPM])),
            errors=tuple(failed),
        )

    def _held(self, plan: InstallPlan) -> frozenset[str]:
        """The packages of a plan that the environment has, without those of the machine."""
        if not self._environments.folder(plan.slug).is_dir():
            return frozenset()
        machine = self._environments.machine_for(plan.slug)
        return frozenset(name for name in plan.names if machine.has(plan.manager, name))

    def _record(self, author: Author, action: str, about: str, reason: str) -> None:
        now = self._clock.now_ms()
        with self._units.write() as unit:
            unit.audit.add(audit.done(author.principal, action, about, at_ms=now, reason=reason))


def _is_by_hand(dependency: Dependency) -> bool:
    """Whether a person must install it: system programs are not installed by the daemon."""
    return dependency.manager is Manager.SYSTEM


def _result(installed: InstalledPackages) -> dict[str, list[str]]:
    told = asdict(installed)
    return {name: list(told[name]) for name in ("system", "pip", "npm", "errors")}


def _summary(installed: InstalledPackages) -> str:
    named = [*(f"pip:{name}" for name in installed.pip), *(f"npm:{name}" for name in installed.npm)]
    return f"installed {', '.join(named) or 'nothing'}; {len(installed.errors)} failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentInstall:
    """The packages that were installed into an environment, and the errors of the others."""

    names: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()


def bring(
    installer: "PackageInstaller", plan: InstallPlan, *, held: frozenset[str], until: float
) -> EnvironmentInstall:
    """Install a plan into an environment. If that fails, each package is tried alone; those that can
    be fetched are installed, unless the environment `held` others of the plan."""
    cause = installer.install(plan.slug, plan.manager, plan.names, within_s=_left(until))
    if cause is None:
        return EnvironmentInstall(names=plan.names)
    together = EnvironmentInstall(errors=(f"{plan.manager} for {plan.slug}: {cause}",))
    if len(plan.names) == 1:
        return together
    causes = {
        name: installer.fetch(plan.slug, plan.manager, name, within_s=_left(until))
        for name in plan.names
    }
    had = tuple(name for name, why in causes.items() if why is None)
    if len(had) == len(plan.names):
        return together
    errors = tuple(
        f"{plan.manager}:{name} for {plan.slug}: {why}" for name, why in causes.items() if why
    )
    if not had or not held <= {*had}:
        return EnvironmentInstall(errors=errors)
    cause = installer.install(plan.slug, plan.manager, had, within_s=_left(until))
    if cause is None:
        return EnvironmentInstall(names=had, errors=errors)
    return EnvironmentInstall(errors=(*errors, f"{plan.manager} for {plan.slug}: {cause}"))


def _left(until: float) -> float:
    return until - time.monotonic()
