"""Bundles as folders a person can open: `<slug>/<number>/`, and `.trash/<slug>.<seconds>/`.

They are only written and moved within a unit that writes, so on SQLite, where there is one such unit
at a time and one daemon per home, nobody meets a folder that another is about to name. A crash may
leave a version in the wrong place or one that no row knows; `settle` puts that right.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Protocol

import structlog

from understudy.core.errors import DatabaseUnavailable, Invalid, LimitExceeded, Unavailable
from understudy.skills.bundle import Bundle
from understudy.skills.folder import read_folder
from understudy.skills.ports import BundleFile, Places, Settled, number_taken, trash_missing
from understudy.skills.slug import check_slug
from understudy.storage import bundle_folders as folders
from understudy.storage.files import opened
from understudy.storage.skill_bundle_places import (
    TRASH,
    Place,
    all_places,
    drop_place,
    free_name,
    inside,
    is_trash_of,
    move,
    move_all,
    numbers_at,
    place_of,
    places_of,
    unfinished_in,
)

log = structlog.get_logger()


class Hooks(Protocol):
    """A unit that can be told what to do should it come to nothing."""

    def otherwise(self, act: Callable[[BaseException], None]) -> None:
        """Have something done then; it is given why."""
        ...


class FileSkillBundles:
    """The bundles of a home, for one unit."""

    def __init__(self, directory: Path, unit: Hooks) -> None:
        self._directory = directory
        self._unit = unit
        # How to take back what this unit did, in the order in which it did it.
        self._undo: list[Callable[[int], None]] = []

    def put(self, slug: str, number: int, bundle: Bundle) -> None:
        """Keep a bundle for good; `Conflict` when the number is in use."""
        check_slug(slug)
        with _speaking("kept"):
            self._directory.mkdir(mode=0o755, exist_ok=True)
            with opened(self._directory) as top:
                if any(number in numbers_at(top, place) for place in places_of(top, slug)):
                    raise number_taken(slug, number)
                self._undoing(partial(_withdraw, slug=slug, number=number))
                try:
                    with folders.made(slug, within=top) as folder:
                        folders.place(folder, str(number), bundle)
                except BaseException:
                    folders.drop_if_empty(top, slug)
                    raise

    def get(self, slug: str, number: int) -> Bundle | None:
        """The whole bundle; None when there is none, or not any more."""
        found = self.folder(slug, number)
        if found is None:
            return None
        try:
            return read_folder(found)
        except (Invalid, LimitExceeded):
            # It may have been moved since; if not, it is no bundle any more.
            again = self.folder(slug, number)
            return None if again in {None, found} else self.get(slug, number)

    def files(self, slug: str, number: int) -> tuple[BundleFile, ...] | None:
        """Its files by path; None when there is no such bundle."""
        with _speaking("read"), self._version(slug, number) as version:
            return None if version is None else folders.listed(version)

    def read(self, slug: str, number: int, path: str) -> bytes | None:
        """One of its files; None when there is none of that path, or it is a link."""
        with _speaking("read"), self._version(slug, number) as version:
            return None if version is None else folders.content(version, path)

    def folder(self, slug: str, number: int) -> Path | None:
        """Where its files can be opened."""
        with _speaking("read"), self._top() as top:
            place = None if top is None else _place(top, slug, number)
            return None if place is None else self._directory.joinpath(*place, str(number))

    def numbers(self, slug: str) -> frozenset[int]:
        """Every number in use, also in the trash and by bundles that no row knows."""
        with _speaking("read"), self._top() as top:
            if top is None:
                return frozenset()
            return frozenset().union(*(numbers_at(top, place) for place in places_of(top, slug)))

    def trash(self, slug: str, *, at_ms: int) -> str:
        """Move all versions of a slug to the trash; answers the name they have there."""
        check_slug(slug)
        with _speaking("moved"):
            self._directory.mkdir(mode=0o755, exist_ok=True)
            with opened(self._directory) as top, folders.made(TRASH, within=top) as trash:
                name = free_name(trash, slug, at_ms // 1000)
                moved = numbers_at(top, (slug,))
                self._undoing(partial(move, source=(TRASH, name), target=(slug,), numbers=moved))
                move_all(top, (slug,), (TRASH, name))
                # Of a slug that has nothing to move as well, so that the name stays its own.
                folders.make(name, within=trash)
        return name

    def restore(self, slug: str, trash_name: str) -> None:
        """Move versions back from the trash."""
        source = (TRASH, trash_name)
        with _speaking("moved"), self._top() as top:
            if top is None or not is_trash_of(slug, trash_name):
                raise trash_missing(trash_name)
            moved = numbers_at(top, source)
            if not moved:
                raise trash_missing(trash_name)
            self._undoing(partial(move, source=(slug,), target=source, numbers=moved))
            move_all(top, source, (slug,))

    def settle(self, places: Places) -> Settled:
        """Have every version where the rows say, and nothing that they do not know of."""
        done = Settled()
        with _speaking("put in order"), self._top() as top:
            if top is not None:
                for slug, place in tuple(all_places(top)):
                    # One folder that resists keeps no other from being put right.
                    with _telling():
                        done += _settle(top, place, slug, places.get(slug, {}))
        return done

    @contextmanager
    def _top(self) -> Iterator[int | None]:
        """The store; None before anything was put into it."""
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
        """Have this done, last things first, if the unit comes to nothing."""
        if not self._undo:
            self._unit.otherwise(self._take_back)
        self._undo.append(act)

    def _take_back(self, problem: BaseException) -> None:
        if isinstance(problem, DatabaseUnavailable):
            # The change may have been committed all the same; `settle` sees what came of it.
            log.warning("skills.bundles_unsettled", reason=problem.code)
            return
        with _telling(), opened(self._directory) as top:
            for act in reversed(self._undo):
                act(top)


def _place(top: int, slug: str, number: int) -> Place | None:
    """Where a version lies; a link in its place is no version."""
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


def _settle(top: int, place: Place, slug: str, known: Mapping[int, str | None]) -> Settled:
    """Bring one place in order."""
    there = numbers_at(top, place)
    unknown = frozenset(number for number in there if number not in known)
    removed = 0
    with inside(top, *place) as folder:
        if folder is not None:
            gone = (*unfinished_in(folder), *map(str, unknown))
            for name in gone:
                folders.remove(folder, name)
            removed = len(gone)
    astray = [number for number in there - unknown if place_of(slug, known[number]) != place]
    for number in astray:
        move(top, place, place_of(slug, known[number]), frozenset({number}))
    drop_place(top, place)
    return Settled(moved=len(astray), removed=removed)


@contextmanager
def _telling() -> Iterator[None]:
    """Tell the log of what has to wait until the store is settled next."""
    try:
        yield
    except OSError as problem:
        log.warning("skills.bundles_unsettled", reason=problem.strerror, errno=problem.errno)


@contextmanager
def _speaking(what: str) -> Iterator[None]:
    """Say of a file system that fails that it does."""
    try:
        yield
    except OSError as problem:
        log.warning("skills.storage_failed", reason=problem.strerror, errno=problem.errno)
        raise Unavailable(
            "skill_storage_unavailable",
            domain="skills",
            detail=f"the files of the skills cannot be {what} now: {problem.strerror}",
        ) from problem
