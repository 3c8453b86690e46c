"""Repairs mounted files of promoted skills from the records: at startup and periodically."""

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Final

import structlog

from understudy.core.batches import batches
from understudy.core.errors import UnderstudyError
from understudy.rollout.model import RolloutMark, Stage
from understudy.rollout.mounts import MountKeeper
from understudy.skills.catalogue_entry import folded

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

log = structlog.get_logger()

MOUNTED: Final = (Stage.ACTIVE,)
# How many folders are repaired before the lock is released.
TOGETHER: Final = 50
# How long startup repairs files, and how long one periodic repair goes on with the rest. A skill
# whose files differ is refused until then, as each use reads them.
START_S: Final = 5.0
LOOK_S: Final = 20.0


@dataclass(frozen=True, slots=True)
class _Seen:
    """The records and shadowed names of the last repair."""

    marks: Mapping[str, RolloutMark] = field(default_factory=dict)
    # The names that local skills shadow.
    shadows: frozenset[str] = frozenset()

    def changed(self, now: "_Seen") -> set[str]:
        """The skills whose files may need an update."""
        names = {
            name
            for name in self.marks.keys() | now.marks.keys()
            if self.marks.get(name) != now.marks.get(name)
        }
        taken = self.shadows ^ now.shadows
        return names | {name for name in now.marks if taken & {name, folded(name)}}

    def folders(self, names: Iterable[str]) -> Iterator[str]:
        """The folders of some skills."""
        return (self.marks[name].source_learning_id for name in names if name in self.marks)


class MountRepair:
    """Repairs mounted files; an error affects only its own skill, and never startup or a run."""

    def __init__(self, units: "Units", keeper: MountKeeper) -> None:
        self._units = units
        self._keeper = keeper
        self._seen: _Seen | None = None
        # Active records that could not be read.
        self._unreadable = frozenset[str]()
        # Skills that startup had no time for.
        self._late: Mapping[str, RolloutMark] = {}

    @property
    def unreadable(self) -> tuple[str, ...]:
        """The active skills whose records could not be read in the last repair."""
        return tuple(sorted(self._unreadable))

    def startup(self, *, patience_s: float = START_S) -> None:
        """Write all files as the records say, also changed ones; `look` goes on with what takes
        longer."""
        with self._keeper.lock:
            self._late = self._begin(by_force=True)
        self._bring_late(patience_s)

    def look(self) -> None:
        """Retry what failed, and follow changes that other daemons on the same database made.

        Files that somebody changed are reported, and left as they are until the next startup.
        """
        self._bring_late(LOOK_S)
        if self._late:
            return
        with self._keeper.lock:
            marks = self._begin(by_force=False)
        for some in batches(tuple(marks.items()), TOGETHER):
            self._bring(dict(some), by_force=False)

    def keep_up(self) -> None:
        """Follow records that changed since the last repair; quick. Not while a unit is open."""
        try:
            if self._seen is None:
                self.look()
            elif self._seen != self._latest():
                self._bring_changed()
        except UnderstudyError as problem:
            log.warning("rollout.not_kept_up", code=problem.code)

    def _latest(self) -> _Seen:
        with self._units.read() as unit:
            return self._as_of(unit)

    def _as_of(self, unit: "Unit") -> _Seen:
        return _Seen(unit.rollouts.stamp(MOUNTED), self._keeper.shadows.stamp())

    def _bring_changed(self) -> None:
        with self._keeper.lock:
            before = self._seen or _Seen()
            with self._units.read() as unit:
                now = self._as_of(unit)
                names = before.changed(now)
                found = unit.rollouts.several(names & now.marks.keys())
            active = {it.source_learning_id: it for it in found if it.status is Stage.ACTIVE}
            for folder in {*before.folders(names), *now.folders(names)}:
                self._keeper.bring(folder, active.get(folder), by_force=False)
            unread = (names & now.marks.keys()) - {it.skill_name for it in found}
            self._unreadable = (self._unreadable - names) | unread
            self._seen = now

    def _begin(self, *, by_force: bool) -> Mapping[str, RolloutMark]:
        """Remove folders without an active record; answers the marks of the active records."""
        with self._units.read() as unit:
            marks = unit.rollouts.stamp(MOUNTED)
        self._seen = seen = _Seen(marks, self._keeper.shadows.stamp())
        wanted, there = set(seen.folders(marks)), self._there()
        for folder in there - wanted:
            self._keeper.bring(folder, None, by_force=by_force)
        self._keeper.only(there | wanted)
        self._unreadable &= marks.keys()
        return marks

    def _bring_late(self, patience_s: float) -> None:
        until = time.monotonic() + patience_s
        while self._late:
            some, *rest = batches(tuple(self._late.items()), TOGETHER)
            self._bring(dict(some), by_force=True)
            self._late = dict(chain.from_iterable(rest))
            if time.monotonic() >= until:
                return

    def _bring(self, marks: Mapping[str, RolloutMark], *, by_force: bool) -> None:
        with self._keeper.lock:
            # Read again: rollouts that are no longer active were unmounted when they changed.
            with self._units.read() as unit:
                found = {it.skill_name: it for it in unit.rollouts.several(marks.keys())}
            for name, mark in marks.items():
                rollout = found.get(name)
                if rollout is None or rollout.status is Stage.ACTIVE:
                    source = mark if rollout is None else rollout
                    self._keeper.bring(source.source_learning_id, rollout, by_force=by_force)
            unread = frozenset(marks.keys() - found.keys())
            self._unreadable = (self._unreadable - marks.keys()) | unread

    def _there(self) -> set[str]:
        try:
            return set(self._keeper.folders.names())
        except OSError as problem:
            # Missing folders are reported one by one; surplus ones are offered to nobody.
            log.warning("rollout.folders_unreadable", reason=problem.strerror)
            return set()
