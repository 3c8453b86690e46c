"""Skill roots that operators add, each for themselves."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import UnderstudyError, coded_error
from understudy.core.ids import new_id
from understudy.core.principal import Principal, Role
from understudy.core.records import extended
from understudy.skills.local.roots import Root, is_within, is_writable_by_all
from understudy.skills.local.skill import Warned
from understudy.skills.local.skills import LocalSkills

if TYPE_CHECKING:
    from understudy.storage.unit import Units

# Limit per operator; each root is scanned every two seconds.
MAX_ROOTS: Final = 20
# Limit of reported skills that are left out, per root.
MAX_LEFT_OUT: Final = 50
# Folders of the system: nobody's skills, and not theirs to be read as such. Below the first three is
# nothing that anybody put there.
_VIRTUAL: Final = ("/proc", "/sys", "/dev")
_SYSTEM: Final = (
    *_VIRTUAL,
    *("/bin", "/boot", "/etc", "/lib", "/lib64", "/run", "/sbin", "/usr", "/usr/bin", "/usr/lib"),
    *("/usr/local", "/usr/sbin", "/usr/share", "/var", "/var/lib", "/var/log", "/var/run"),
)
COVERED: Final = "a kept or promoted skill has its slug or name and comes first"


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillRoot:
    """A skill root that an operator added; its skills are offered to them alone."""

    root_id: str
    path: str
    owner_id: str
    created_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOutSkill:
    """A file or folder of a root that is not offered, and why."""

    path: str
    code: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillRootReport(SkillRoot):
    """A root with the slugs of its skills as of the last scan, and those left out."""

    skills: tuple[str, ...] = ()
    left_out: tuple[LeftOutSkill, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonFolders:
    """Folders of the daemon and of its account that no root may be or contain."""

    home: Path
    workspace: Path
    user_home: Path | None
    # Where the SQLite file lies; None for PostgreSQL.
    database: Path | None = None

    def is_too_wide(self, path: Path) -> bool:
        """Whether a path is or contains the workspace, the daemon's home or database, or the account's."""
        folders = (self.home, self.workspace, self.user_home, self.database)
        return path == Path(path.anchor) or any(
            is_within(_real(each), path) for each in folders if each is not None
        )

    def is_own(self, path: Path) -> bool:
        """Whether a path lies in the daemon's home outside of the workspace."""
        is_work = is_within(path, _real(self.workspace))
        return is_within(path, _real(self.home)) and not is_work


# In order: the first match is reported.
_REFUSED: Final[tuple[tuple[str, Callable[[Path, DaemonFolders], bool]], ...]] = (
    ("missing", lambda path, _: not path.exists()),
    ("no_folder", lambda path, _: not path.is_dir()),
    ("system", lambda path, _: is_of_system(path)),
    ("too_wide", lambda path, own: own.is_too_wide(path)),
    ("own_home", lambda path, own: own.is_own(path)),
    ("open", lambda path, _: is_writable_by_all(path)),
)


def is_of_system(path: Path) -> bool:
    """Whether a folder belongs to the operating system itself."""
    return str(path) in _SYSTEM or any(path.is_relative_to(each) for each in _VIRTUAL)


@dataclass(frozen=True, slots=True)
class SkillRootService:
    """Adds, lists and removes the roots of operators."""

    units: "Units"
    clock: Clock
    local: LocalSkills
    folders: DaemonFolders = field(repr=False)
    # The slugs of the local skills that no kept or promoted skill shadows for a user.
    offered: Callable[[str], frozenset[str]]

    def all(self, principal: Principal) -> tuple[SkillRootReport, ...]:
        """The caller's own roots in the order they were added; for an admin everybody's."""
        is_admin = principal.role.includes(Role.ADMIN)
        self.local.refresh()
        with self.units.read() as unit:
            roots = unit.skill_roots.all(None if is_admin else principal.user_id)
        return tuple(map(self._report, roots))

    def add(self, principal: Principal, path: str) -> SkillRootReport:
        """Add a root: its skills are offered to the caller from now on."""
        root = SkillRoot(
            root_id=new_id("root"),
            path=str(self._checked(path)),
            owner_id=principal.user_id,
            created_at_ms=self.clock.now_ms(),
        )
        with self.units.write() as unit:
            if not unit.skill_roots.add(root):
                raise coded_error("skills/root_exists", pointer="/path", path=root.path)
            if len(unit.skill_roots.all(principal.user_id)) > MAX_ROOTS:
                raise coded_error("skills/too_many_roots", pointer="/path", limit=MAX_ROOTS)
            unit.audit.add(_entry(principal, "skills.add_root", root, root.created_at_ms))
        self.local.scan()
        return self._report(root)

    def remove(self, principal: Principal, root_id: str) -> None:
        """Remove a root: its skills are no longer offered; the folder is not changed."""
        with self.units.write() as unit:
            root = unit.skill_roots.get(root_id)
            is_own = root is not None and root.owner_id == principal.user_id
            if root is None or not (is_own or principal.role.includes(Role.ADMIN)):
                raise coded_error("skills/root_not_found", root_id=root_id)
            unit.skill_roots.delete(root_id)
            unit.audit.add(_entry(principal, "skills.remove_root", root, self.clock.now_ms()))
        self.local.scan()

    def _checked(self, given: str) -> Path:
        """The resolved folder of a path, symlinks followed; `Invalid` if it cannot be a root."""
        if not Path(given).is_absolute() or not given.isprintable():
            raise _invalid("not_absolute", given)
        try:
            path = _real(Path(given))
            reason = next((code for code, applies in _REFUSED if applies(path, self.folders)), None)
        except OSError:
            raise _invalid("unreadable", given) from None
        if reason is None and not (os.access(path, os.R_OK | os.X_OK) and str(path).isprintable()):
            reason = "unreadable"
        if reason is not None:
            raise _invalid(reason, given)
        return path

    def _report(self, root: SkillRoot) -> SkillRootReport:
        path, found = Path(root.path), self.local.of_owner(root.owner_id)
        own = [skill for skill in found.skills if skill.root == path]
        offered = self.offered(root.owner_id)
        left_out = [
            *(each for each in found.warnings if each.path.is_relative_to(path)),
            *(
                Warned(path=skill.path, code="covered", detail=COVERED)
                for skill in own
                if skill.slug not in offered
            ),
        ]
        return extended(
            SkillRootReport,
            root,
            skills=tuple(sorted(skill.slug for skill in own if skill.slug in offered)),
            left_out=tuple(map(_left_out, left_out[:MAX_LEFT_OUT])),
        )


def as_roots(rows: Sequence[SkillRoot]) -> tuple[Root, ...]:
    """The roots of operators as the scan takes them."""
    return tuple(Root(path=Path(each.path), owner_id=each.owner_id) for each in rows)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _invalid(reason: str, path: str) -> UnderstudyError:
    return coded_error(f"skills/invalid_root:{reason}", pointer="/path", path=path)


def _left_out(warned: Warned) -> LeftOutSkill:
    return LeftOutSkill(path=str(warned.path), code=warned.code, detail=warned.detail)


def _entry(principal: Principal, action: str, root: SkillRoot, at_ms: int) -> audit.AuditEntry:
    return audit.done(principal, action, root.root_id, at_ms=at_ms, reason=root.path)
