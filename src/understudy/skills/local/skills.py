"""The local skills of this machine: scanned in the background, and only those that are safe."""

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import structlog

from understudy.core.clock import Clock
from understudy.core.errors import UnderstudyError
from understudy.core.recent_cache import RecentCache
from understudy.core.text import and_more
from understudy.guard.rule import Finding
from understudy.guard.texts import is_text
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.folder import Stamp, read_folder, stamp_of
from understudy.skills.bundles.manifest import read
from understudy.skills.local.roots import LocalCatalogue, Root, find_local
from understudy.skills.local.skill import LocalLoad, LocalSkill, load_skill, unusable

log = structlog.get_logger()


# Limits of one skill: its files, its text, and the text that the guard scans during a call.
MAX_SKILL_BYTES: Final = 5 * 1024 * 1024
MAX_TEXT_BYTES: Final = 1024 * 1024
MAX_TEXT_AT_ONCE: Final = 128 * 1024
# Per root and scan. Unchanged skills are cached, so the next scan continues where this one ended.
MAX_SKILLS: Final = 200
MAX_ENTRIES: Final = 20_000
MAX_SECONDS: Final = 10.0
# The number of findings in the warning about an unsafe skill.
_TOLD: Final = 5
_VERDICTS: Final = 4_096
READ_EVERY_MS: Final = 2_000
# A caller waits this long for a scan; a longer one continues in the background.
PATIENCE_S: Final = 1.0
# A scan that took longer than this is followed by a pause of the same length.
LONG_LOOK_MS: Final = 4_000
_UNREADABLE: Final = "the skill cannot be read"


def text_bytes(bundle: Bundle) -> int:
    """The bytes of text in a bundle, which the guard scans."""
    return sum(len(data) for path, data in bundle.items() if is_text(path, data))


@dataclass(slots=True)
class RootBudget:
    """The budget of one root during one scan."""

    now: Callable[[], float] = time.monotonic
    _bytes: int = MAX_SKILL_BYTES
    _entries: int = MAX_ENTRIES
    _skills: int = MAX_SKILLS
    _until: float = field(init=False)

    def __post_init__(self) -> None:
        self._until = self.now() + MAX_SECONDS

    @property
    def is_spent(self) -> bool:
        """Whether the budget is used up."""
        return self._entries <= 0 or self.now() > self._until

    def count_skill(self) -> bool:
        """Count a skill; False when the limit is reached."""
        self._skills -= 1
        return self._skills >= 0

    def looked_at(self, entries: int) -> None:
        """Count files and folders whose stamps were read."""
        self._entries -= entries

    def may_read(self, size: int) -> bool:
        """Whether the budget allows so many more bytes; the first skill is always read."""
        if size > self._bytes:
            return False
        self._bytes -= size
        return True


Guard = Callable[[Mapping[str, bytes]], tuple[Finding, ...]]


class LocalReader:
    """Reads local skills, with a cache of guard results by digest."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        # The problem by digest; "" for a safe bundle.
        self._verdicts = RecentCache[str, str](_VERDICTS)

    def read(
        self, path: Path, *, root: Path, at_once: bool = False
    ) -> tuple[LocalLoad, Bundle | None]:
        """The skill of a SKILL.md with its files; none if something is wrong.

        With `at_once`, for a waiting caller, the guard scans only a bounded amount of text.
        """
        folder = folder_of(path)
        if not folder.is_relative_to(root):
            return unusable(path, "link_leaves_root", "a link leads out of the root"), None
        try:
            bundle = read_folder(folder)
        except UnderstudyError as problem:
            return unusable(path, problem.code, problem.detail), None
        wrong = self._refused(path, bundle, MAX_TEXT_AT_ONCE if at_once else MAX_TEXT_BYTES)
        if wrong is not None:
            return wrong, None
        loaded = load_skill(path, root)
        if loaded.skill is not None and not _agrees(loaded.skill, bundle):
            return unusable(path, "changed", "SKILL.md changed while it was read"), None
        return _measured(loaded, path, bundle), bundle

    def _refused(self, path: Path, bundle: Bundle, most: int) -> LocalLoad | None:
        known = self._verdicts.get(bundle.digest)
        if known is None:
            if text_bytes(bundle) > most:
                return too_large(path, f"more than {most} bytes of text")
            known = _told(self._guard(bundle))
            self._verdicts.put(bundle.digest, known)
        return unusable(path, "unsafe", known) if known else None


def folder_of(path: Path) -> Path:
    """The real folder of a SKILL.md, where its path has a symlink within the root."""
    return Path(os.path.realpath(path.parent))


def bytes_in(stamp: Stamp) -> int:
    """The bytes in a folder with this stamp."""
    return sum(size for _, _, size, _, _ in stamp)


def too_large(path: Path, what: str = f"more than {MAX_SKILL_BYTES} bytes") -> LocalLoad:
    """The result of a local skill that is too large; a stored skill may be larger."""
    return unusable(path, "too_large", f"the folder holds {what}, too much for a local skill")


def _measured(loaded: LocalLoad, path: Path, bundle: Bundle) -> LocalLoad:
    if loaded.skill is None:
        return loaded
    try:
        changed_at_ms = path.stat().st_mtime_ns // 1_000_000
    except OSError:
        return unusable(path, "unreadable", "SKILL.md cannot be read")
    skill = replace(loaded.skill, size=bundle.size, changed_at_ms=changed_at_ms)
    return replace(loaded, skill=skill)


def _agrees(skill: LocalSkill, bundle: Bundle) -> bool:
    """Whether the loaded skill is the one that the guard scanned."""
    reading = read(bundle.manifest_text)
    return reading.manifest == skill.manifest and reading.body == skill.instructions


def _told(findings: Sequence[Finding]) -> str:
    told = [f"{each.path} line {each.line}: {each.reason}" for each in findings[:_TOLD]]
    return "; ".join(and_more(told, len(findings) - _TOLD))


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedSkill:
    """A local skill with its bundle, as its folder is now."""

    skill: LocalSkill
    bundle: Bundle = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """The cached result of a folder with this stamp."""

    stamp: Stamp
    loaded: LocalLoad


class _Stopped(Exception):
    """The daemon stops, so the scan is cancelled."""


class LocalSkills:
    """Scans the roots in a background thread, at most every two seconds.

    Only folders whose stamp changed are read again.
    """

    def __init__(
        self,
        *,
        roots: Sequence[Root] = (),
        added: Callable[[], Sequence[Root]] | None = None,
        guard: Guard,
        clock: Clock,
        stores: Sequence[Path] = (),
        mounts: Sequence[Path] = (),
        patience_s: float = PATIENCE_S,
    ) -> None:
        # The roots of the config file, and the query for those that operators added.
        self._fixed = tuple(roots)
        self._added = added
        self._roots = self._fixed
        # The folders where the daemon stores skills: these are never roots.
        self._stores = tuple(stores)
        # The folders of promoted skills, which are listed elsewhere.
        self._mounts = tuple(mounts)
        self._reader = LocalReader(guard)
        self._clock = clock
        self._patience_s = patience_s
        self._starting = threading.Lock()
        self._stopped = threading.Event()
        self._look: threading.Event | None = None
        # Whether the roots changed since the last scan began.
        self._is_stale = False
        # What the last scan found, by the owner of the roots; None for those of the config file.
        self._found: Mapping[str | None, LocalCatalogue] = {}
        self._by_slug: Mapping[str | None, Mapping[str, LocalSkill]] = {None: {}}
        self._read_at_ms: int | None = None
        self._rest_ms = READ_EVERY_MS
        # By root and SKILL.md: a root may lie in another.
        self._seen: dict[tuple[Path, Path], _Seen] = {}

    def refresh(self) -> None:
        """Wait a moment for a scan that is due; never while a unit is open.

        While another caller waits, the previous result is used.
        """
        look = self._due()
        if look is not None:
            look.wait(self._patience_s)

    def scan(self) -> None:
        """Wait a moment for a scan that begins now, as the roots have changed."""
        with self._starting:
            # A scan that is under way may have read the roots before they changed.
            self._is_stale, under_way = True, self._look
        if under_way is not None:
            under_way.wait(self._patience_s)
        look = self._due() or self._look
        if look is not None:
            look.wait(self._patience_s)

    def roots(self) -> Sequence[Root]:
        """The roots of the last scan."""
        return self._roots

    def catalogue(self, *, shared: bool = False) -> LocalCatalogue:
        """The local skills of all roots and warnings after a `refresh`.

        With `shared`, only those that are offered to everybody.
        """
        self.refresh()
        found = [each for owner_id, each in self._found.items() if not shared or owner_id is None]
        return LocalCatalogue(
            skills=tuple(skill for each in found for skill in each.skills),
            warnings=tuple(warned for each in found for warned in each.warnings),
        )

    def of_owner(self, owner_id: str) -> LocalCatalogue:
        """What the last scan found in the roots that an operator added; reads no files."""
        return self._found.get(owner_id, LocalCatalogue(skills=(), warnings=()))

    def known(self, user_id: str | None = None) -> Mapping[str, LocalSkill]:
        """The local skills that the last scan found for a user, by slug; reads no files.

        Without a user, those that are offered to everybody.
        """
        by_slug = self._by_slug
        return by_slug.get(user_id, by_slug[None])

    def open(self, slug: str, user_id: str | None = None) -> OpenedSkill | None:
        """A local skill of a user with its files as they are now; None when it is gone or unsafe."""
        known = self.known(user_id).get(slug)
        if known is None or not _can_be_read(folder_of(known.path)):
            return None
        loaded, bundle = self._reader.read(known.path, root=known.root, at_once=True)
        if loaded.skill is None or bundle is None:
            return None
        if (loaded.skill.slug, loaded.skill.name) != (slug, known.name):
            return None
        skill = replace(loaded.skill, owner_id=known.owner_id)
        return OpenedSkill(skill=skill, bundle=bundle)

    def stop(self) -> None:
        """Stop the background scans."""
        self._stopped.set()

    def _due(self) -> threading.Event | None:
        """The scan to wait for: one that begins now, or the first one."""
        with self._starting:
            has_roots = bool(self._fixed) or self._added is not None
            if not has_roots or self._is_fresh() or self._stopped.is_set():
                return None
            if self._look is not None:
                return self._look if self._read_at_ms is None else None
            self._look = done = threading.Event()
            self._is_stale = False
        threading.Thread(
            target=self._look_around, args=[done], name="local-skills", daemon=True
        ).start()
        return done

    def _look_around(self, done: threading.Event) -> None:
        began = time.monotonic()
        try:
            with suppress(_Stopped):
                self._read()
        except (OSError, UnderstudyError) as error:
            # Without the rows of the roots, the result of the last scan is used.
            log.warning("skills.local_unreadable", reason=type(error).__name__)
        finally:
            took_ms = int((time.monotonic() - began) * 1000)
            with self._starting:
                self._rest_ms = took_ms if took_ms > LONG_LOOK_MS else READ_EVERY_MS
                self._read_at_ms = self._clock.now_ms()
                self._look = None
            done.set()

    def _is_fresh(self) -> bool:
        # In both directions: the clock may have been set back.
        read_at = self._read_at_ms
        if self._is_stale:
            return False
        return read_at is not None and abs(self._clock.now_ms() - read_at) < self._rest_ms

    def _read(self) -> None:
        seen: dict[tuple[Path, Path], _Seen] = {}
        roots = (*self._fixed, *(self._added() if self._added else ()))
        shared = self._look_into(seen, [each for each in roots if each.owner_id is None])
        found: dict[str | None, LocalCatalogue] = {None: shared}
        for owner_id in dict.fromkeys(each.owner_id for each in roots):
            if owner_id is not None:
                own = [each for each in roots if each.owner_id == owner_id]
                found[owner_id] = self._look_into(seen, own, before=shared.skills)
        # Only existing folders stay in the cache, so that it does not grow.
        self._seen = seen
        self._roots, self._found = roots, found
        self._by_slug = {
            owner_id: {skill.slug: skill for skill in (*shared.skills, *each.skills)}
            for owner_id, each in found.items()
        }

    def _look_into(
        self,
        seen: dict[tuple[Path, Path], _Seen],
        roots: Sequence[Root],
        before: Sequence[LocalSkill] = (),
    ) -> LocalCatalogue:
        budgets: dict[Path, RootBudget] = {}

        def load(path: Path, root: Path) -> LocalLoad:
            budget = budgets.setdefault(root, RootBudget())
            return self._bounded(seen, budget, path, root=root)

        return find_local(roots, load=load, stores=self._stores, mounts=self._mounts, before=before)

    def _bounded(
        self, seen: dict[tuple[Path, Path], _Seen], budget: RootBudget, path: Path, *, root: Path
    ) -> LocalLoad:
        """A skill, if the budget of this scan allows it."""
        if self._stopped.is_set():
            raise _Stopped
        if not budget.count_skill():
            return unusable(path, "too_many", f"only {MAX_SKILLS} skills of a root are read")
        known = self._seen.get((root, path))
        if not budget.is_spent:
            known = self._current(budget, known, path, root=root)
        if known is None:
            return unusable(path, "not_yet_read", "there is so much here that it comes later")
        seen[root, path] = known
        return known.loaded

    def _current(
        self, budget: RootBudget, known: _Seen | None, path: Path, *, root: Path
    ) -> _Seen | None:
        """The skill of a folder: cached unless its stamp changed and the budget allows it."""
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
        return _Seen(stamp=stamp, loaded=self._loaded(path, root))

    def _loaded(self, path: Path, root: Path) -> LocalLoad:
        try:
            loaded, _ = self._reader.read(path, root=root)
        except Exception as problem:  # noqa: BLE001 - one skill must hide no other, whatever it is
            log.warning("skills.local_failed", reason=type(problem).__name__)
            return unusable(path, "unreadable", _UNREADABLE)
        if loaded.skill is None:
            return loaded
        # The instructions are read when the skill is opened, not cached.
        return replace(loaded, skill=replace(loaded.skill, instructions=""))


def _can_be_read(folder: Path) -> bool:
    try:
        return _is_moderate(stamp_of(folder))
    except OSError:
        return False


def _is_moderate(stamp: Stamp | None) -> bool:
    return stamp is not None and bytes_in(stamp) <= MAX_SKILL_BYTES
