"""Bundles as folders a person can open: `<slug>/<number>/`, and `.trash/<slug>.<seconds>/`.

They are only created and moved within a write unit. On SQLite there is one such unit at a time and
one daemon per home, so no two writers race for a folder name. The changes of a unit are undone when
it fails, also when its commit fails: SQLite has rolled it back then. A crash may leave a version in
the wrong place or one without a row; `settle` repairs that.
"""

import os
import re
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

import structlog

from understudy.core.errors import Invalid, LimitExceeded, coded_error
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.folder import read_folder, read_open_folder
from understudy.skills.bundles.store import BundlePlace, Places, Settled
from understudy.skills.slug import check_slug
from understudy.storage import bundle_folders as folders
from understudy.storage.files import opened
from understudy.storage.skill_bundle_places import (
    LOST,
    STAGED,
    TRASH,
    Place,
    all_places,
    drop_place,
    free_name,
    inside,
    is_trash_of,
    made_place,
    move,
    move_all,
    numbers_at,
    place_of,
    places_of,
    unfinished_in,
)
from understudy.storage.unit import Unit

log = structlog.get_logger()

# A bundle with fewer files is not staged.
MANY_FILES: Final = 10
_NAME: Final = re.compile(r"(?P<slug>[a-z0-9-]+)\.(?P<number>[1-9][0-9]{0,8})(?:-[0-9]+)?")


class FileSkillBundles:
    """The bundles of a home, for one unit."""

    def __init__(self, directory: Path, unit: Unit) -> None:
        self._directory = directory
        self._unit = unit
        # Undo functions of this unit, in the order of its changes.
        self._undo: list[Callable[[int], None]] = []
        # A cache of `numbers` by slug, until the slug changes.
        self._in_use: dict[str, frozenset[int]] = {}

    def stage(self, bundle: Bundle) -> None:
        """Write a large bundle to disk before the unit that stores it."""
        if is_large(bundle):
            with _or_unavailable("kept"), self._made() as top:
                stage(top, bundle)

    def unstage(self, bundle: Bundle) -> None:
        """Remove a staged bundle that was not stored."""
        with _logged(), self._top() as top:
            if top is not None:
                unstage(top, bundle)

    def put(self, slug: str, number: int, bundle: Bundle) -> None:
        """Store a bundle; `Conflict` when the number is in use."""
        check_slug(slug)
        in_use = self._in_use.pop(slug, None)
        if number in (self.numbers(slug) if in_use is None else in_use):
            raise coded_error("skills/skill_version_taken", number=number, slug=slug)
        self._in_use.pop(slug, None)
        with _or_unavailable("kept"), self._made() as top:
            self._undoing(partial(_withdraw, slug=slug, number=number))
            try:
                with folders.made(slug, within=top) as folder:
                    place_staged(top, folder, str(number), bundle)
            except BaseException:
                folders.drop_if_empty(top, slug)
                raise

    def get(self, slug: str, number: int) -> Bundle | None:
        """The bundle of a version; None without one."""
        found = self.folder(slug, number)
        if found is None:
            return None
        try:
            return read_folder(found)
        except (Invalid, LimitExceeded):
            # The folder may have been moved meanwhile; else the bundle is damaged.
            again = self.folder(slug, number)
            return None if again in {None, found} else self.get(slug, number)

    def read(self, slug: str, number: int, path: str) -> bytes | None:
        """One file of a version; None when there is none of that path, or it is a symlink."""
        with _or_unavailable("read"), self._version(slug, number) as version:
            return None if version is None else folders.content(version, path)

    def folder(self, slug: str, number: int, *, unpack: bool = True) -> Path | None:
        """The folder of a version."""
        with _or_unavailable("read"), self._top() as top:
            place = None if top is None else _place(top, slug, number)
            return None if place is None else self._directory.joinpath(*place, str(number))

    def numbers(self, slug: str) -> frozenset[int]:
        """Every number in use, including the trash and bundles without a row."""
        with _or_unavailable("read"), self._top() as top:
            if top is None:
                return frozenset()
            found = frozenset().union(*(numbers_at(top, place) for place in places_of(top, slug)))
        self._in_use[slug] = found
        return found

    def trash(self, slug: str, *, at_ms: int) -> str:
        """Move all versions of a slug to the trash; returns their trash name."""
        check_slug(slug)
        with (
            _or_unavailable("moved"),
            self._made() as top,
            folders.made(TRASH, within=top) as trash,
        ):
            name = free_name(slug, at_ms // 1000, partial(folders.is_there, within=trash))
            moved = numbers_at(top, (slug,))
            self._undoing(partial(move, source=(TRASH, name), target=(slug,), numbers=moved))
            move_all(top, (slug,), (TRASH, name))
            # Also for a slug without versions, so that the trash name is reserved.
            folders.make(name, within=trash)
        return name

    def restore(self, slug: str, trash_name: str) -> None:
        """Move versions back from the trash."""
        source = (TRASH, trash_name)
        with _or_unavailable("moved"), self._top() as top:
            if top is None or not is_trash_of(slug, trash_name):
                raise coded_error("skills/skill_trash_not_found", trash_name=trash_name)
            moved = numbers_at(top, source)
            if not moved:
                raise coded_error("skills/skill_trash_not_found", trash_name=trash_name)
            self._undoing(partial(move, source=(slug,), target=source, numbers=moved))
            move_all(top, source, (slug,))

    def erase(self, slug: str, numbers: Collection[int]) -> None:
        """Delete the files of versions wherever they are, also among lost ones."""
        with _or_unavailable("erased"), self._top() as top:
            if top is None:
                return
            for place in tuple(places_of(top, slug)):
                _remove(top, place, [str(number) for number in numbers])
            aside = [(name, _NAME.fullmatch(name)) for name in lost_names(top)]
            _remove(
                top,
                (LOST,),
                [
                    name
                    for name, named in aside
                    if named and named["slug"] == slug and int(named["number"]) in numbers
                ],
            )
        self._in_use.pop(slug, None)

    def settle(self, places: Places) -> Settled:
        """Move every version to the place that its row names; others are set aside."""
        done = Settled()
        self._require_folder()
        with _or_unavailable("put in order"), self._top() as top:
            if top is None:
                return done
            with _logged():
                done += Settled(removed=unstage_all(top))
            for slug, place in tuple(all_places(top)):
                # A folder that cannot be moved does not stop the others.
                with _logged():
                    done += _settle(top, place, slug, places.get(slug, {}))
            for name in lost_names(top):
                with _logged():
                    done += Settled(brought_back=int(bring_back(top, name, places)))
        return done

    def _require_folder(self) -> None:
        """Raise `Unavailable` when the store is not a folder."""
        with suppress(FileNotFoundError):
            if not stat.S_ISDIR(self._directory.lstat().st_mode):
                raise coded_error(
                    "skills/skill_storage_unavailable:not_a_folder", directory=self._directory
                )

    @contextmanager
    def _made(self) -> Iterator[int]:
        """The top folder of the store, created if needed."""
        with suppress(FileExistsError):
            self._directory.mkdir(mode=0o755)
            with opened(self._directory.parent) as home:
                os.fsync(home)
        with opened(self._directory) as top:
            yield top

    @contextmanager
    def _top(self) -> Iterator[int | None]:
        """The top folder of the store; None before the first bundle."""
        with ExitStack() as stack:
            top = None
            with suppress(FileNotFoundError):
                top = stack.enter_context(opened(self._directory))
            yield top

    @contextmanager
    def _version(self, slug: str, number: int) -> Iterator[int | None]:
        """The folder of a version; None when there is none."""
        with self._top() as top, ExitStack() as stack:
            place = None if top is None else _place(top, slug, number)
            if top is None or place is None:
                yield None
            else:
                yield stack.enter_context(inside(top, *place, str(number)))

    def _undoing(self, act: Callable[[int], None]) -> None:
        """Register an undo function for a rollback; the last one runs first."""
        if not self._undo:
            self._unit.after_rollback(self._take_back)
        self._undo.append(act)

    def _take_back(self, _: BaseException) -> None:
        with _logged(), opened(self._directory) as top:
            for act in reversed(self._undo):
                with _logged():
                    act(top)


def _place(top: int, slug: str, number: int) -> Place | None:
    """The place of a version; a symbolic link is not a version."""
    for place in places_of(top, slug):
        with inside(top, *place, str(number)) as version:
            if version is not None:
                return place
    return None


def _withdraw(top: int, *, slug: str, number: int) -> None:
    with inside(top, slug) as folder:
        if folder is not None:
            folders.remove(folder, str(number))
    folders.drop_if_empty(top, slug)


def _remove(top: int, place: Place, names: Collection[str]) -> None:
    with inside(top, *place) as folder:
        if folder is not None:
            for name in names:
                folders.remove(folder, name)


def _settle(top: int, place: Place, slug: str, known: Mapping[int, BundlePlace]) -> Settled:
    """Move the versions of one place to where their rows say."""
    unfinished: tuple[str, ...] = ()
    with inside(top, *place) as folder:
        if folder is not None:
            unfinished = unfinished_in(folder)
            for name in unfinished:
                folders.drop(folder, name)
    there = numbers_at(top, place)
    unknown = sorted(number for number in there if number not in known)
    for number in unknown:
        set_aside(top, place, slug, number)
    belongs = {number: place_of(slug, known[number].trash_name) for number in there & known.keys()}
    astray = [number for number, target in belongs.items() if target != place]
    for number in astray:
        move(top, place, belongs[number], frozenset({number}))
    drop_place(top, place)
    return Settled(moved=len(astray), removed=len(unfinished), set_aside=len(unknown))


@contextmanager
def _logged() -> Iterator[None]:
    """Log an error that the next `settle` repairs."""
    try:
        yield
    except OSError as problem:
        log.warning("skills.bundles_unsettled", reason=problem.strerror, errno=problem.errno)


@contextmanager
def _or_unavailable(what: str) -> Iterator[None]:
    """Turn an `OSError` into `Unavailable`."""
    try:
        yield
    except OSError as problem:
        log.warning("skills.storage_failed", reason=problem.strerror, errno=problem.errno)
        raise coded_error(
            "skills/skill_storage_unavailable:operation", what=what, strerror=problem.strerror
        ) from problem


def set_aside(top: int, place: Place, slug: str, number: int) -> None:
    """Move one version out of a place.

    No fsync: after a crash, the next start does it again.
    """
    with inside(top, *place) as folder, folders.made(LOST, within=top) as lost:
        if folder is not None:
            name = free_name(slug, number, partial(folders.is_there, within=lost))
            os.rename(str(number), name, src_dir_fd=folder, dst_dir_fd=lost)


def lost_names(top: int) -> list[str]:
    """The names of all versions that were set aside."""
    with inside(top, LOST) as lost:
        return [] if lost is None else folders.names_in(lost)


def bring_back(top: int, name: str, places: Places) -> bool:
    """Move a version that was set aside back if a row names it again; returns whether one does."""
    named = _NAME.fullmatch(name)
    if named is None:
        return False
    slug, number = named["slug"], int(named["number"])
    wanted = places.get(slug, {}).get(number)
    if wanted is None or not _is_exact(top, (LOST, name), wanted):
        return False
    place = place_of(slug, wanted.trash_name)
    if _is_exact(top, (*place, str(number)), wanted):
        return False
    _put_back(top, name, place, slug, number)
    return True


def _put_back(top: int, name: str, place: Place, slug: str, number: int) -> None:
    """Move a version to its place, and set aside what is there."""
    with inside(top, *place) as folder:
        if folder is not None and folders.is_there(str(number), within=folder):
            set_aside(top, place, slug, number)
    with inside(top, LOST) as lost, made_place(top, place) as folder:
        os.rename(name, str(number), src_dir_fd=lost, dst_dir_fd=folder)


def _is_exact(top: int, place: Place, wanted: BundlePlace) -> bool:
    with inside(top, *place) as folder:
        if folder is None:
            return False
        try:
            bundle, _ = read_open_folder(folder, place[-1])
        except (Invalid, LimitExceeded):
            return False
        return bundle.digest == wanted.digest


def is_large(bundle: Bundle) -> bool:
    """Whether a bundle is large enough to be staged."""
    return len(bundle) >= MANY_FILES


def stage(top: int, bundle: Bundle) -> None:
    """Write a bundle to the staging folder; a failure is raised when it is stored."""
    with suppress(OSError), folders.made(STAGED, within=top) as staged:
        if not folders.is_there(bundle.digest, within=staged):
            folders.place(staged, bundle.digest, bundle)


def unstage(top: int, bundle: Bundle) -> None:
    """Remove a staged bundle that was not stored."""
    with inside(top, STAGED) as staged:
        if staged is not None:
            folders.remove(staged, bundle.digest)


def unstage_all(top: int) -> int:
    """Remove staged bundles that a crash left; returns how many."""
    with inside(top, STAGED) as staged:
        if staged is None:
            return 0
        names = folders.names_in(staged)
        for name in names:
            folders.drop(staged, name)
    folders.drop_if_empty(top, STAGED)
    return len(names)


def place_staged(top: int, folder: int, name: str, bundle: Bundle) -> None:
    """Place a bundle under its number: rename the staged one, else write it."""
    with inside(top, STAGED) as staged:
        if staged is not None:
            with suppress(FileNotFoundError):
                os.rename(bundle.digest, name, src_dir_fd=staged, dst_dir_fd=folder)
                os.fsync(folder)
                return
    folders.place(folder, name, bundle)
