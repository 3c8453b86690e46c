"""The mounted files of active skills: written, checked and removed as the rollout records say."""

import re
import threading
from bisect import bisect_right
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Final

import structlog

from understudy.core.errors import DamagedRecord, FieldError, UnderstudyError, coded_error
from understudy.guard.rule import Finding
from understudy.rollout.files import bundle_of, field_at, reads_back
from understudy.rollout.model import Definition, Rollout, Stage
from understudy.rollout.name_clashes import Shadows
from understudy.skills.content_guard import ContentGuard

if TYPE_CHECKING:
    from understudy.storage.mount_folders import MountFolders
    from understudy.storage.unit import Unit, Units

log = structlog.get_logger()

# Below the home; each source learning has a folder in it.
PLACE: Final = ("skills", "procedural")
# How many folders one check reads; the next check goes on with the others.
MAX_CHECKED: Final = 200
_FOLDER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
# How many findings of the content guard an error carries.
MAX_FINDINGS: Final = 100


class MountTroubleCode(StrEnum):
    """What can be wrong with the files of a promoted skill."""

    UNMOUNTED = "rollout_unmounted"  # the files cannot be written, or do not stay as written
    SHADOWED = "rollout_shadowed"  # a local skill has the same name
    DRIFTED = "rollout_drifted"  # somebody changed the files
    LEFT = "rollout_files_left"  # the files cannot be removed


@dataclass(frozen=True, slots=True, kw_only=True)
class MountTrouble:
    """Why an active skill is not mounted, or one that is not active still has files."""

    code: MountTroubleCode
    # The name of the skill, or of the folder where no record belongs to it.
    name: str
    # May contain paths of this machine.
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """A folder as it was when it last matched its record."""

    name: str
    digest: str
    # The stat of its files at that time.
    look: Hashable


class MountKeeper:
    """Writes and checks mounted folders. Callers of `bring` hold `lock`, and no unit of work."""

    def __init__(self, folders: "MountFolders", shadows: Shadows) -> None:
        self.folders = folders
        self.shadows = shadows
        self.lock = threading.Lock()
        self._kept: dict[str, _Kept] = {}
        self._troubles: dict[str, MountTrouble] = {}
        # The folder that the last check ended with.
        self._last_checked = ""

    def troubles(self) -> tuple[MountTrouble, ...]:
        """All current troubles, by name."""
        found = tuple(self._troubles.copy().values())
        return tuple(sorted(found, key=lambda it: (it.name, it.code)))

    def mounted(self) -> int:
        """The number of folders that match their records."""
        return len(self._kept.copy().keys() - self._troubles.copy().keys())

    def trouble_of(self, folder: str) -> MountTrouble | None:
        """The trouble of the skill of a learning."""
        return self._troubles.get(folder)

    def found_drifted(self, rollout: Rollout) -> None:
        """Record that the files of a skill differ from its record."""
        folder = rollout.source_learning_id
        if folder not in self._troubles:
            self._note(folder, _drifted(rollout.skill_name))

    def check_changes(self) -> None:
        """Detect changes to mounted files by their stat; reads only files whose stat changed.

        Checks a limited number of folders and locks for one at a time, so that nobody waits long.
        """
        for folder in self._next(MAX_CHECKED):
            with self.lock:
                kept, trouble = self._kept.get(folder), self._troubles.get(folder)
                is_told = trouble is not None and trouble.code is not MountTroubleCode.DRIFTED
                if kept is not None and not is_told:
                    self._check_folder(folder, kept, trouble)

    def _next(self, most: int) -> list[str]:
        """The next folders to check, in a cycle."""
        every = sorted(self._kept.copy())
        at = bisect_right(every, self._last_checked)
        some = [*every[at:], *every[:at]][:most]
        self._last_checked = some[-1] if some else ""
        return some

    def _check_folder(self, folder: str, kept: _Kept, trouble: MountTrouble | None) -> None:
        look: Hashable = None
        try:
            look = self.folders.look(folder)
            if trouble is None and look == kept.look:
                return
            is_in_line = self.folders.digest(folder) == kept.digest
        except (OSError, RecursionError):
            is_in_line = False
        if not is_in_line:
            self._note(folder, _drifted(kept.name))
            return
        self._kept[folder] = replace(kept, look=look)
        self._troubles.pop(folder, None)

    def bring(self, folder: str, rollout: Rollout | None, *, by_force: bool) -> None:
        """Write the files of an active rollout into a folder, or remove the folder.

        Without force, files that somebody else changed are left for a person to see.
        """
        try:
            trouble = self._brought(folder, rollout, by_force=by_force)
        except (OSError, RecursionError) as problem:
            # RecursionError: folders may be nested too deep to be removed.
            code = MountTroubleCode.LEFT if rollout is None else MountTroubleCode.UNMOUNTED
            detail = getattr(problem, "strerror", None) or type(problem).__name__
            name = folder if rollout is None else rollout.skill_name
            trouble = MountTrouble(code=code, name=name, detail=detail)
        if trouble is None:
            self._troubles.pop(folder, None)
        else:
            self._note(folder, trouble)

    def only(self, folders: set[str]) -> None:
        """Forget the troubles of all other folders, which no longer exist."""
        for folder in self._troubles.copy().keys() - folders:
            del self._troubles[folder]

    def _brought(
        self, folder: str, rollout: Rollout | None, *, by_force: bool
    ) -> MountTrouble | None:
        if rollout is None:
            self._remove(folder)
            return None
        if _FOLDER.fullmatch(folder) is None:
            detail = "no folder can be called like its learning"
            return MountTrouble(
                code=MountTroubleCode.UNMOUNTED, name=rollout.skill_name, detail=detail
            )
        shadow = self.shadows.over(rollout.skill_name)
        if shadow is not None:
            self._remove(folder)
            detail = f"{shadow.path} has its name and comes first"
            return MountTrouble(
                code=MountTroubleCode.SHADOWED, name=rollout.skill_name, detail=detail
            )
        return self._mount(folder, rollout, by_force=by_force)

    def _mount(self, folder: str, rollout: Rollout, *, by_force: bool) -> MountTrouble | None:
        bundle = bundle_of(rollout.definition)
        # The stat comes before the read: a change in between is then read again.
        look = self.folders.look(folder)
        if self._is_in_line(folder, bundle.digest, look):
            return None
        found = self.folders.digest(folder)
        if found != bundle.digest:
            kept = self._kept.get(folder)
            # Files that match what was written before belong to an earlier record.
            is_known = found is None or (kept is not None and found == kept.digest)
            if not by_force and not is_known:
                return _drifted(rollout.skill_name)
            self.folders.write(folder, bundle)
            look = self.folders.look(folder)
            if self.folders.digest(folder) != bundle.digest:
                detail = "the files are not as they were written"
                return MountTrouble(
                    code=MountTroubleCode.UNMOUNTED, name=rollout.skill_name, detail=detail
                )
            log.info("rollout.mounted", learning_id=folder, replaced=found is not None)
        self._kept[folder] = _Kept(name=rollout.skill_name, digest=bundle.digest, look=look)
        return None

    def _is_in_line(self, folder: str, digest: str, look: Hashable) -> bool:
        """Whether the stat is unchanged since the folder matched, so that it need not be read."""
        kept = self._kept.get(folder)
        is_same = kept is not None and (kept.digest, kept.look) == (digest, look)
        return is_same and look is not None and folder not in self._troubles

    def _remove(self, folder: str) -> None:
        self._kept.pop(folder, None)
        if self.folders.has(folder):
            self.folders.remove(folder)
            log.info("rollout.unmounted", folder=folder[:200])

    def _note(self, folder: str, trouble: MountTrouble) -> None:
        if self._troubles.get(folder) != trouble:
            log.warning("rollout.not_in_line", folder=folder[:200], reason=str(trouble.code))
        self._troubles[folder] = trouble


def _drifted(skill_name: str) -> MountTrouble:
    detail = "mismatch: the files are not as the record says"
    return MountTrouble(code=MountTroubleCode.DRIFTED, name=skill_name, detail=detail)


@dataclass(frozen=True, slots=True, kw_only=True)
class MountSync:
    """Keeps mounted files in line with their records; the record is the authority."""

    units: "Units"
    keeper: MountKeeper
    guard: ContentGuard

    def check(self, definition: Definition) -> None:
        """Refuse a definition that the content guard rejects, or whose files would not parse back to it."""
        if not reads_back(definition):
            raise coded_error("rollout/unreadable_definition", pointer="/instructions")
        findings = self.guard.findings(bundle_of(definition))
        if findings:
            raise unsafe_definition(definition, findings)

    def digest(self, definition: Definition) -> str:
        """The digest of the files of a definition."""
        return bundle_of(definition).digest

    def after(self, unit: "Unit", rollout: Rollout) -> None:
        """Update the mounted files of a learning's skill after this unit has committed."""
        unit.after_commit(partial(self._follow, rollout.source_learning_id))

    def _follow(self, learning_id: str) -> None:
        """Mount what the record says now: notices of commits may arrive out of order."""
        try:
            with self.keeper.lock:
                with self.units.read() as unit:
                    rollout = active_of(unit, learning_id)
                self.keeper.bring(learning_id, rollout, by_force=True)
        except Exception:
            # The change is committed; the next repair writes the files.
            log.exception("rollout.files_not_followed", learning_id=learning_id)


def active_of(unit: "Unit", learning_id: str) -> Rollout | None:
    """The active rollout of a learning; None where it cannot be read."""
    try:
        found = unit.rollouts.live_of(learning_id)
    except DamagedRecord:
        return None
    return found if found is not None and found.status is Stage.ACTIVE else None


def unsafe_definition(definition: Definition, findings: Sequence[Finding]) -> UnderstudyError:
    """The findings of the content guard, each with the field that it is in."""
    errors = tuple(
        FieldError(
            pointer=f"/{field_at(definition, one.path, one.line)}",
            code=one.rule_id,
            detail=one.reason,
        )
        for one in findings[:MAX_FINDINGS]
    )
    told = "; ".join(dict.fromkeys(f"{each.detail} ({each.code})" for each in errors))
    return coded_error("rollout/unsafe_definition", errors=errors, detail=told)
