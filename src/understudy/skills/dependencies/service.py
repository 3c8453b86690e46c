"""Looks after what skills need: which of it is there, and how the rest gets there."""

import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.principal import Role
from understudy.skills.author import Author
from understudy.skills.change import ChangeMaker
from understudy.skills.dependencies.bringing import bring
from understudy.skills.dependencies.environments import Environments
from understudy.skills.dependencies.install_plans import Plan, plans_for_missing, plans_for_one
from understudy.skills.dependencies.names import Dependency, Manager, check_dependency
from understudy.skills.dependencies.needs import Needs, keep, needs_in_use
from understudy.skills.dependencies.next_steps import next_step
from understudy.skills.dependencies.runtimes import FindRuntimes, Runtimes
from understudy.skills.events import EventName, SkillEvents

if TYPE_CHECKING:
    from understudy.skills.dependencies.installing import PackageInstaller
    from understudy.storage.unit import Units

# For everything that one call installs.
INSTALL_WITHIN_S: Final = 300.0
# How the audit names what is not about one skill.
ALL: Final = "dependencies"
NOTHING_MISSING: Final = "every skill in use has what it needs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """How one skill stands: `ok` when it needs nothing, else its status, and what it lacks."""

    slug: str
    status: str
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescan:
    """How every skill in use stands, and how many of them changed."""

    updated: int
    results: tuple[Checked, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """What was installed, by who installs it; `message` stands alone when nothing was missing."""

    system: tuple[str, ...] = ()
    pip: tuple[str, ...] = ()
    npm: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledOne:
    """Whether one dependency is there now, for every skill that needs it."""

    ok: bool
    error: str = ""


class DependencyService:
    """For admins: checks and installs what skills need. Nothing of a skill is ever run here."""

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
        self._maker = ChangeMaker(units=units, clock=clock, listener=events)
        self._environments = environments
        self._installer = installer
        self._events = events
        self._find_runtimes = find_runtimes

    def runtimes(self) -> Runtimes:
        """What there is on this machine to run scripts with."""
        return self._find_runtimes()

    def rescan(self, author: Author) -> Rescan:
        """Check every skill in use: one that lacks something is archived, one that does not is not."""
        author.principal.require(Role.ADMIN)
        rescan = self._check(author)
        self._record(author, "skills.rescan", ALL, f"{rescan.updated} skills changed")
        self._events.tell(EventName.DEPS_COMPLETE, {})
        return rescan

    def install_missing(self, author: Author) -> Installed:
        """Install what the skills in use lack, and check all of them again."""
        author.principal.require(Role.ADMIN)
        with self._installer.alone():
            lacking = [one for one in self._needs() if one.missing]
            if not lacking:
                return Installed(message=NOTHING_MISSING)
            labels = {label for one in lacking for label in one.missing}
            self._events.tell(EventName.DEPS_INSTALLING, {"count": len(labels)})
            by_hand = [label for label in sorted(labels) if _is_by_hand(check_dependency(label))]
            installed = self._install(
                chain.from_iterable(map(plans_for_missing, lacking)),
                errors=[f"{label}: {next_step(label)}" for label in by_hand],
            )
        self._events.tell(EventName.DEPS_INSTALLED, {"result": _result(installed)})
        self._record(author, "skills.install", ALL, _summary(installed))
        self._check(author)
        self._events.tell(EventName.DEPS_COMPLETE, {})
        return installed

    def install_one(self, author: Author, label: str) -> InstalledOne:
        """Install one dependency for every skill that needs it, and check all of them again."""
        author.principal.require(Role.ADMIN)
        dependency = check_dependency(label)
        if _is_by_hand(dependency):
            return InstalledOne(ok=False, error=next_step(label))
        with self._installer.alone():
            plans = [plan for one in self._needs() for plan in plans_for_one(one, dependency)]
            if not plans:
                return InstalledOne(ok=False, error=f"no skill in use needs {dependency.label}")
            self._events.tell(EventName.DEP_INSTALLING, {"dep": dependency.label})
            installed = self._install(plans)
        one = InstalledOne(ok=not installed.errors, error="; ".join(installed.errors))
        self._events.tell(
            EventName.DEP_INSTALLED,
            {"dep": dependency.label, "ok": one.ok} | ({} if one.ok else {"error": one.error}),
        )
        self._record(author, "skills.install", dependency.label, _summary(installed))
        self._check(author)
        return one

    def _needs(self) -> Iterable[Needs]:
        return needs_in_use(self._units, self._environments)

    def _check(self, author: Author) -> Rescan:
        """How every skill in use stands, written down where it is news."""
        updated = 0
        results: list[Checked] = []
        for needs in self._needs():
            updated += needs.is_news and self._keep(author, needs)
            one = Checked(slug=needs.skill.slug, status=needs.said, missing=needs.missing)
            results.append(one)
            payload = {"slug": one.slug, "status": one.status, "missing": list(one.missing)}
            self._events.tell(EventName.DEPS_CHECKED, payload)
        return Rescan(updated=updated, results=tuple(results))

    def _keep(self, author: Author, needs: Needs) -> bool:
        with self._maker.by(author) as change:
            return keep(change, needs)

    def _install(self, plans: Iterable[Plan], errors: Iterable[str] = ()) -> Installed:
        until = time.monotonic() + INSTALL_WITHIN_S
        there: dict[Manager, set[str]] = {manager: set() for manager in Manager}
        failed = list(errors)
        for plan in plans:
            brought = bring(self._installer, plan, held=self._held(plan), until=until)
            there[plan.manager].update(brought.names)
            failed += brought.errors
        return Installed(
            pip=tuple(sorted(there[Manager.PIP])),
            npm=tuple(sorted(there[Manager.NPM])),
            errors=tuple(failed),
        )

    def _held(self, plan: Plan) -> frozenset[str]:
        """What the environment of a skill has of a plan already; the machine around it is no matter."""
        if not self._environments.folder(plan.slug).is_dir():
            return frozenset()
        machine = self._environments.machine_for(plan.slug)
        return frozenset(name for name in plan.names if machine.has(plan.manager, name))

    def _record(self, author: Author, action: str, about: str, reason: str) -> None:
        now = self._clock.now_ms()
        with self._units.write() as unit:
            unit.audit.add(audit.done(author.principal, action, about, at_ms=now, reason=reason))


def _is_by_hand(dependency: Dependency) -> bool:
    """Whether no installer of ours brings it: programs of the system are a person's to install."""
    return dependency.manager is Manager.SYSTEM


def _result(installed: Installed) -> dict[str, list[str]]:
    told = asdict(installed)
    return {name: list(told[name]) for name in ("system", "pip", "npm", "errors")}


def _summary(installed: Installed) -> str:
    named = [*(f"pip:{name}" for name in installed.pip), *(f"npm:{name}" for name in installed.npm)]
    return f"installed {', '.join(named) or 'nothing'}; {len(installed.errors)} failed"
