"""The skills in folders of this machine: looked at now and then, and only those that are safe."""

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import structlog

from understudy.core.clock import Clock
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.local.budget import MAX_SKILL_BYTES, MAX_SKILLS, Budget
from understudy.skills.local.folder_stamp import Stamp, stamp_of
from understudy.skills.local.reading import Guard, LocalReader, bytes_in, folder_of, too_large
from understudy.skills.local.roots import LocalCatalogue, Root, find_local
from understudy.skills.local.skill import LocalLoad, LocalSkill, Warned, unusable

log = structlog.get_logger()

READ_EVERY_MS: Final = 2_000
# Who wants to know waits this long for a look; a longer one goes on without them.
PATIENCE_S: Final = 1.0
# A look that took longer than this is followed by a rest of the same length.
LONG_LOOK_MS: Final = 4_000
_UNREADABLE: Final = "the skill cannot be read"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A local skill as it lies there now, with all of its files."""

    skill: LocalSkill
    bundle: Bundle = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What a folder held when it had this stamp."""

    stamp: Stamp
    loaded: LocalLoad


class _Stopped(Exception):
    """The daemon ends; what the look found does not matter any more."""


class LocalSkills:
    """Looks into the roots on a thread of its own, which nobody has to wait for.

    At most every two seconds, and again only into folders that were touched.
    """

    def __init__(
        self,
        *,
        roots: Sequence[Root],
        guard: Guard,
        clock: Clock,
        stores: Sequence[Path] = (),
        mounts: Sequence[Path] = (),
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._roots = tuple(roots)
        # Where the daemon keeps skills itself: these are never taken for folders of anybody's.
        self._stores = tuple(stores)
        # Where the files of promoted skills lie: who has them on offer knows them better.
        self._mounts = tuple(mounts)
        self._reader = LocalReader(guard)
        self._clock = clock
        self._patience_s = patience_s
        self._starting = threading.Lock()
        self._stopped = threading.Event()
        self._look: threading.Event | None = None
        self._found = LocalCatalogue(skills=(), warnings=())
        self._by_slug: Mapping[str, LocalSkill] = {}
        self._read_at_ms: int | None = None
        self._rest_ms = READ_EVERY_MS
        self._seen: dict[Path, _Seen] = {}

    def refresh(self) -> None:
        """Give a look that is due a moment; never while a unit is open.

        Whoever comes while another one waits goes on with what was there before.
        """
        look = self._due()
        if look is not None:
            look.wait(self._patience_s)

    def catalogue(self) -> LocalCatalogue:
        """What is there, and what was wrong, after a `refresh`."""
        self.refresh()
        return self._found

    def known(self) -> Mapping[str, LocalSkill]:
        """What was there at the last look, by slug; reads nothing."""
        return self._by_slug

    def open(self, slug: str) -> Opened | None:
        """A skill with its files as they are at this moment; None when it is gone, or not safe."""
        known = self._by_slug.get(slug)
        if known is None or not _can_be_read(folder_of(known.path)):
            return None
        loaded, bundle = self._reader.read(
            known.path, root=known.root, scope=known.scope, at_once=True
        )
        if loaded.skill is None or bundle is None:
            return None
        if (loaded.skill.slug, loaded.skill.name) != (slug, known.name):
            return None
        return Opened(skill=loaded.skill, bundle=bundle)

    def stop(self) -> None:
        """Look no more."""
        self._stopped.set()

    def _due(self) -> threading.Event | None:
        """The look to wait for: one that begins now, or the very first."""
        with self._starting:
            if not self._roots or self._is_fresh() or self._stopped.is_set():
                return None
            if self._look is not None:
                return self._look if self._read_at_ms is None else None
            self._look = done = threading.Event()
        threading.Thread(
            target=self._look_around, args=[done], name="local-skills", daemon=True
        ).start()
        return done

    def _look_around(self, done: threading.Event) -> None:
        began = time.monotonic()
        try:
            with suppress(_Stopped):
                self._read()
        except OSError as error:
            log.warning("skills.local_unreadable", reason=error.strerror)
        finally:
            took_ms = int((time.monotonic() - began) * 1000)
            with self._starting:
                self._rest_ms = took_ms if took_ms > LONG_LOOK_MS else READ_EVERY_MS
                self._read_at_ms = self._clock.now_ms()
                self._look = None
            done.set()

    def _is_fresh(self) -> bool:
        # Either way: the clock may have been set back.
        read_at = self._read_at_ms
        return read_at is not None and abs(self._clock.now_ms() - read_at) < self._rest_ms

    def _read(self) -> None:
        seen: dict[Path, _Seen] = {}
        budgets: dict[Path, Budget] = {}

        def load(path: Path, root: Path, scope: str) -> LocalLoad:
            budget = budgets.setdefault(root, Budget())
            return self._bounded(seen, budget, path, root=root, scope=scope)

        found = find_local(self._roots, load=load, stores=self._stores, mounts=self._mounts)
        by_slug: dict[str, LocalSkill] = {}
        warnings = list(found.warnings)
        for skill in found.skills:
            first = by_slug.setdefault(skill.slug, skill)
            if first is not skill:
                detail = f"{first.path} has the same slug and comes first"
                warnings.append(Warned(path=skill.path, code="slug_taken", detail=detail))
        # Only what is still there is remembered, so that this does not grow.
        self._seen = seen
        self._found = LocalCatalogue(skills=tuple(by_slug.values()), warnings=tuple(warnings))
        self._by_slug = by_slug

    def _bounded(
        self, seen: dict[Path, _Seen], budget: Budget, path: Path, *, root: Path, scope: str
    ) -> LocalLoad:
        """A skill, as far as there is time and room for it in this look."""
        if self._stopped.is_set():
            raise _Stopped
        if not budget.count_skill():
            return unusable(path, "too_many", f"only {MAX_SKILLS} skills of a root are read")
        known = self._seen.get(path)
        if not budget.is_spent:
            known = self._current(budget, known, path, root=root, scope=scope)
        if known is None:
            return unusable(path, "not_yet_read", "there is so much here that it comes later")
        seen[path] = known
        return known.loaded

    def _current(
        self, budget: Budget, known: _Seen | None, path: Path, *, root: Path, scope: str
    ) -> _Seen | None:
        """What a folder holds now, read again only if it was touched; what was known for too much."""
        try:
            stamp = stamp_of(folder_of(path))
        except OSError:
            return _Seen(stamp=(), loaded=unusable(path, "unreadable", _UNREADABLE))
        budget.looked_at(len(stamp or ()))
        if known is not None and known.stamp == stamp:
            return known
        if stamp is None or not _is_moderate(stamp):
            return _Seen(stamp=stamp or (), loaded=too_large(path))
        if not budget.may_read(bytes_in(stamp)):
            return known
        return _Seen(stamp=stamp, loaded=self._loaded(path, root, scope))

    def _loaded(self, path: Path, root: Path, scope: str) -> LocalLoad:
        try:
            loaded, _ = self._reader.read(path, root=root, scope=scope)
        except Exception as problem:  # noqa: BLE001 - one skill must hide no other, whatever it is
            log.warning("skills.local_failed", reason=type(problem).__name__)
            return unusable(path, "unreadable", _UNREADABLE)
        if loaded.skill is None:
            return loaded
        # Who opens it reads its words then; of many this would be a lot to remember.
        return replace(loaded, skill=replace(loaded.skill, instructions=""))


def _can_be_read(folder: Path) -> bool:
    try:
        return _is_moderate(stamp_of(folder))
    except OSError:
        return False


def _is_moderate(stamp: Stamp | None) -> bool:
    return stamp is not None and bytes_in(stamp) <= MAX_SKILL_BYTES
