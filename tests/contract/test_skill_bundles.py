"""Bundles of skills, as files and as rows: kept for good, taken back whole, found after a crash."""

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.support.factories import NOW
from tests.support.skill_bundle_steps import FILES, SLUG, begin, below, delete, settle, text_of
from tests.support.skill_factories import keep_version, make_bundle, skill_units
from understudy.core.errors import (
    Conflict,
    DamagedRecord,
    DatabaseUnavailable,
    Invalid,
    NotFound,
    Unavailable,
)
from understudy.core.page import PageRequest
from understudy.skills.bundles.limits import MAX_BUNDLE_BYTES
from understudy.skills.bundles.store import Settled, next_number, require_bundle
from understudy.storage.engine import open_engine
from understudy.storage.skill_bundle_files import FileSkillBundles
from understudy.storage.unit import Unit, Units


class Broken(Exception):
    """Whatever ends a unit."""


class Killed(Unit):
    """A unit that comes to nothing and does not live to say so."""

    def __init__(self) -> None:
        """It has no connection."""

    def after_rollback(self, act: Callable[[BaseException], None]) -> None:
        """Forget it."""


@pytest.fixture
def engine(migrated_engine: sa.Engine) -> sa.Engine:
    return migrated_engine


@pytest.fixture
def units(engine: sa.Engine, tmp_path: Path) -> Units:
    return skill_units(engine, tmp_path)


@pytest.fixture
def alone(sqlite_template: Path, tmp_path: Path) -> Iterator[Units]:
    """Units whose bundles are files."""
    shutil.copy(sqlite_template, tmp_path / "understudy.db")
    engine = open_engine(f"sqlite:///{tmp_path / 'understudy.db'}")
    yield skill_units(engine, tmp_path)
    engine.dispose()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "skills-store"


def put_one(units: Units, text: str) -> int:
    with units.write() as unit:
        unit.skills.lock(SLUG)
        skill = unit.skills.by_slug(SLUG)
        assert skill is not None
        return keep_version(unit, skill, make_bundle(text)).number


def come_to_nothing(
    units: Units, change: Callable[[Unit], None], problem: Exception | None = None
) -> None:
    """Change something in a unit that fails after it."""
    expected = problem or Broken()

    def fail(unit: Unit) -> None:
        change(unit)
        raise expected

    with pytest.raises(type(expected)), units.write() as unit:
        fail(unit)


def test_a_bundle_comes_back_as_it_was_put(units: Units) -> None:
    begin(units, "one")

    with units.read() as unit:
        bundles = unit.skill_bundles
        assert bundles.get(SLUG, 1) == make_bundle("one", FILES)
        assert bundles.read(SLUG, 1, "scripts/deep/run.py") == FILES["scripts/deep/run.py"]
        assert bundles.read(SLUG, 1, "notes..md") == b""


STRANGE_PATHS = (
    *("", ".", "..", "../SKILL.md", "./SKILL.md", "SKILL.md/x", "/etc/hosts", "SKILL.md\x00"),
    *("scripts", "scripts/../SKILL.md", "scripts//deep/run.py", "skill.md", "\ud800", "no.md"),
)


def test_only_the_paths_of_a_bundle_are_read(units: Units) -> None:
    begin(units, "one")

    with units.read() as unit:
        read = {path: unit.skill_bundles.read(SLUG, 1, path) for path in STRANGE_PATHS}
    assert read == dict.fromkeys(STRANGE_PATHS)


def test_what_was_never_put_is_not_there(units: Units) -> None:
    for slug, number in ((SLUG, 1), ("..", 1), (".trash", 1), ("a/b", 1)):
        with units.read() as unit:
            bundles = unit.skill_bundles
            assert bundles.get(slug, number) is None
            assert bundles.read(slug, number, "SKILL.md") is None
            assert bundles.folder(slug, number) is None
            assert bundles.numbers(slug) == frozenset()


def test_nothing_is_put_under_a_name_that_is_no_slug(units: Units) -> None:
    for slug in ("..", ".trash", "a/b", "A-b", "", "a--b"):
        with pytest.raises(Invalid), units.write() as unit:
            unit.skill_bundles.put(slug, 1, make_bundle())
        with pytest.raises(Invalid), units.write() as unit:
            unit.skill_bundles.trash(slug, at_ms=NOW)


def test_a_version_is_never_put_over_another(units: Units) -> None:
    begin(units, "one")

    with pytest.raises(Conflict, match="version 1"), units.write() as unit:
        unit.skill_bundles.put(SLUG, 1, make_bundle("other"))

    assert text_of(units, 1) == "one"


def test_many_at_once_get_numbers_that_follow_each_other(units: Units) -> None:
    begin(units)

    with ThreadPoolExecutor(20) as pool:
        numbers = list(pool.map(lambda at: put_one(units, f"text {at}"), range(20)))

    assert sorted(numbers) == list(range(1, 21))
    assert [text_of(units, number) for number in numbers] == [f"text {at}" for at in range(20)]


def test_a_version_of_a_unit_that_comes_to_nothing_is_not_there(units: Units) -> None:
    begin(units, "one")

    come_to_nothing(units, lambda unit: unit.skill_bundles.put(SLUG, 2, make_bundle("two")))

    with units.read() as unit:
        assert unit.skill_bundles.numbers(SLUG) == {1}
    assert put_one(units, "again") == 2


def test_the_first_version_that_comes_to_nothing_leaves_no_folder(
    alone: Units, store: Path
) -> None:
    come_to_nothing(alone, lambda unit: unit.skill_bundles.put(SLUG, 1, make_bundle("one", FILES)))

    assert below(store) == []


def test_what_a_crash_left_is_skipped_and_swept(alone: Units, store: Path) -> None:
    begin(alone, "one")
    FileSkillBundles(store, Killed()).put(SLUG, 2, make_bundle("lost"))
    (store / SLUG / ".tmp-0123456789abcdef").mkdir()
    (store / "unknown" / "1").mkdir(parents=True)

    assert put_one(alone, "next") == 3
    assert settle(alone) == Settled(removed=1, set_aside=2)

    assert sorted(path.name for path in (store / SLUG).iterdir()) == ["1", "3"]
    assert not (store / "unknown").exists()
    lost = sorted(path.name for path in (store / ".lost").iterdir())
    assert lost == ["unknown.1", f"{SLUG}.2"]
    assert [text_of(alone, number) for number in (1, 3)] == ["one", "next"]
    assert settle(alone) == Settled()


def test_sweeping_leaves_alone_what_is_not_ours(alone: Units, store: Path) -> None:
    begin(alone, "one")
    for name in ("README", f"{SLUG}/notes", ".trash/old.stuff", ".git/config"):
        (store / name).parent.mkdir(exist_ok=True)
        (store / name).write_text("mine")
    before = below(store)

    settle(alone)

    assert below(store) == before


def test_a_deletion_moves_every_version_to_the_trash(units: Units, tmp_path: Path) -> None:
    skill = begin(units, "one", "two")
    with units.write() as unit:
        name = delete(unit, skill)

    assert name == f"{SLUG}.{NOW // 1000}"
    with units.read() as unit:
        assert unit.skill_bundles.numbers(SLUG) == {1, 2}
    if units.engine.dialect.name == "sqlite":
        trash = tmp_path / "skills-store" / ".trash" / name
        assert sorted(path.name for path in trash.iterdir()) == ["1", "2"]
        assert not (tmp_path / "skills-store" / SLUG).exists()


def test_deleting_twice_within_a_second_gives_two_places(units: Units) -> None:
    first = begin(units, "one")
    with units.write() as unit:
        delete(unit, first)
        revived = replace(first, revision=3)
        unit.skills.update(revived, expected_version=2)
    assert put_one(units, "two") == 2

    with units.write() as unit:
        second = delete(unit, revived)

    assert second == f"{SLUG}.{NOW // 1000}-1"
    assert [text_of(units, 1), text_of(units, 2)] == ["one", "two"]
    assert settle(units) == Settled()


def test_what_is_restored_is_back_in_its_place(units: Units, tmp_path: Path) -> None:
    skill = begin(units, "one", "two")
    with units.write() as unit:
        name = delete(unit, skill)
    with units.write() as unit:
        unit.skill_bundles.restore(SLUG, name)
        restored = unit.skills.untrash(name)
        unit.skills.update(replace(skill, revision=3), expected_version=2)

    assert restored is not None
    assert restored.skill == skill
    assert [text_of(units, 1), text_of(units, 2)] == ["one", "two"]
    with units.read() as unit:
        page = unit.skills.versions(skill.skill_id, PageRequest(limit=10))
    assert [version.number for version in page.items] == [2, 1]
    if units.engine.dialect.name == "sqlite":
        assert list((tmp_path / "skills-store" / ".trash").iterdir()) == []
    assert put_one(units, "three") == 3


def test_only_what_is_in_the_trash_of_that_slug_is_restored(units: Units) -> None:
    begin(units, "one")

    for name in ("../../etc", "other.1", f"{SLUG}.1", f"{SLUG}.x", "", "."):
        with pytest.raises(NotFound), units.write() as unit:
            unit.skill_bundles.restore(SLUG, name)


def test_a_deletion_that_comes_to_nothing_is_taken_back(units: Units) -> None:
    skill = begin(units, "one", "two")

    def change(unit: Unit) -> None:
        keep_version(unit, skill, make_bundle("three"))
        delete(unit, skill)

    come_to_nothing(units, change)

    with units.read() as unit:
        assert unit.skill_bundles.numbers(SLUG) == {1, 2}
        folder = unit.skill_bundles.folder(SLUG, 1)
    assert folder is not None
    assert ".trash" not in folder.parts
    assert put_one(units, "three") == 3
    assert settle(units) == Settled()


def test_a_restore_that_comes_to_nothing_is_taken_back(alone: Units, store: Path) -> None:
    skill = begin(alone, "one", "two")
    with alone.write() as unit:
        name = delete(unit, skill)
    before = below(store)

    def change(unit: Unit) -> None:
        unit.skill_bundles.restore(SLUG, name)
        keep_version(unit, skill, make_bundle("three"))

    come_to_nothing(alone, change)

    assert below(store) == before


def test_a_skill_is_read_and_put_right_after_a_crash_within_its_deletion(
    alone: Units, store: Path
) -> None:
    begin(alone, "one", "two")
    FileSkillBundles(store, Killed()).trash(SLUG, at_ms=NOW)

    assert [text_of(alone, 1), text_of(alone, 2)] == ["one", "two"]
    assert put_one(alone, "three") == 3
    assert settle(alone) == Settled(moved=2)

    assert sorted(path.name for path in (store / SLUG).iterdir()) == ["1", "2", "3"]
    assert list((store / ".trash").iterdir()) == []


def test_a_crash_within_a_restore_is_put_right(alone: Units, store: Path) -> None:
    skill = begin(alone, "one", "two")
    with alone.write() as unit:
        name = delete(unit, skill)
    before = below(store)
    FileSkillBundles(store, Killed()).restore(SLUG, name)

    assert settle(alone) == Settled(moved=2)

    assert below(store) == before


def test_a_database_that_cannot_commit_leaves_nothing_of_what_was_changed(
    alone: Units, store: Path
) -> None:
    skill = begin(alone, "one", "two")
    before = below(store)
    full = DatabaseUnavailable("database_unavailable", domain="storage")

    def change(unit: Unit) -> None:
        keep_version(unit, skill, make_bundle("three"))
        delete(unit, skill)

    come_to_nothing(alone, change, full)

    assert below(store) == [".trash", *before]
    with alone.write() as unit:
        name = delete(unit, skill)
    assert sorted(path.name for path in (store / ".trash" / name).iterdir()) == ["1", "2"]


@pytest.mark.parametrize("how", ["link", "file"])
def test_a_store_that_is_no_folder_is_named_with_what_to_do(
    alone: Units, store: Path, tmp_path: Path, how: str
) -> None:
    (tmp_path / "disk").mkdir()
    store.symlink_to(tmp_path / "disk") if how == "link" else store.write_text("in the way")

    with pytest.raises(Unavailable, match=f"{store} has to be a folder.*mount") as told:
        settle(alone)

    assert told.value.code == "skill_storage_unavailable"


def test_a_planted_link_is_neither_followed_nor_served(
    alone: Units, store: Path, tmp_path: Path
) -> None:
    skill = begin(alone, "one")
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "SKILL.md").write_text("told")
    version = store / SLUG / "1"
    (version / "leak.md").symlink_to(secret / "SKILL.md")
    (version / "leaks").symlink_to(secret)
    (store / SLUG / "7").symlink_to(secret)
    (store / "other-skill").symlink_to(secret.parent)

    with alone.read() as unit:
        bundles = unit.skill_bundles
        kept = unit.skills.version(skill.skill_id, 1)
        assert kept is not None
        assert require_bundle(unit, SLUG, kept) == make_bundle("one", FILES)
        for path in ("leak.md", "leaks/SKILL.md"):
            assert bundles.read(SLUG, 1, path) is None
        for slug, number in ((SLUG, 7), ("other-skill", 1)):
            assert bundles.get(slug, number) is None
            assert bundles.read(slug, number, "SKILL.md") is None
            assert bundles.folder(slug, number) is None
    assert put_one(alone, "next") == 8
    settle(alone)
    assert (secret / "SKILL.md").read_text() == "told"


@pytest.mark.parametrize("how", ["changed", "more", "less", "linked", "gone"])
def test_a_bundle_that_somebody_changed_is_not_taken_for_the_one_that_was_kept(
    alone: Units, store: Path, how: str
) -> None:
    skill = begin(alone, "one")
    version = store / SLUG / "1"
    acts: dict[str, Callable[[], object]] = {
        "changed": lambda: (version / "SKILL.md").write_text("---\nname: x\n---\n"),
        "more": lambda: (version / "extra.md").write_text("more"),
        "less": lambda: (version / "notes..md").unlink(),
        "linked": lambda: link_in(version).replace(version / "SKILL.md"),
        "gone": lambda: shutil.rmtree(version),
    }
    acts[how]()

    with alone.read() as unit:
        kept = unit.skills.version(skill.skill_id, 1)
        assert kept is not None
        with pytest.raises(DamagedRecord, match="version 1"):
            require_bundle(unit, SLUG, kept)


def link_in(version: Path) -> Path:
    link = version.parent / "link"
    link.symlink_to(version / "notes..md")
    return link


def test_everybody_may_read_and_only_the_owner_write(alone: Units, store: Path) -> None:
    mask = os.umask(0o077)
    try:
        begin(alone, "one")
    finally:
        os.umask(mask)

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (store / SLUG).rglob("*")}
    assert {modes[name] for name in ("1", "scripts", "deep", "data")} == {0o755}
    assert {modes[name] for name in ("SKILL.md", "run.py", "raw.bin")} == {0o644}


def test_a_store_that_fails_says_so_and_keeps_nothing(alone: Units, store: Path) -> None:
    store.write_text("in the way")

    with pytest.raises(Unavailable), alone.write() as unit:
        unit.skill_bundles.put(SLUG, 1, make_bundle())

    with pytest.raises(Unavailable), alone.read() as unit:
        unit.skill_bundles.numbers(SLUG)


def test_the_largest_companions_are_kept(alone: Units) -> None:
    bundle = make_bundle("", {"big.bin": bytes(MAX_BUNDLE_BYTES)})
    with alone.write() as unit:
        unit.skill_bundles.put(SLUG, 1, bundle)

    with alone.read() as unit:
        assert unit.skill_bundles.get(SLUG, 1) == bundle


def test_the_files_of_a_version_can_be_opened_on_this_machine(units: Units) -> None:
    begin(units, "one")

    for _ in range(2):
        with units.read() as unit:
            folder = unit.skill_bundles.folder(SLUG, 1)
        assert folder is not None
        assert (folder / "scripts/deep/run.py").read_bytes() == FILES["scripts/deep/run.py"]


@pytest.mark.postgres
def test_a_copy_that_somebody_changed_is_made_anew(postgres_shared: str, tmp_path: Path) -> None:
    engine = open_engine(postgres_shared)
    with engine.begin() as connection:
        for table in ("skill_bundle_files", "skill_bundles"):
            connection.execute(sa.text(f"DELETE FROM {table}"))
    units = skill_units(engine, tmp_path)
    with units.write() as unit:
        unit.skill_bundles.put(SLUG, 1, make_bundle("one", FILES))
    with units.read() as unit:
        folder = unit.skill_bundles.folder(SLUG, 1)
        assert folder is not None
        (folder / "SKILL.md").write_text("changed")
        again = unit.skill_bundles.folder(SLUG, 1)
    engine.dispose()

    assert again == folder
    assert (folder / "SKILL.md").read_text().endswith("one")
    assert [path.name for path in folder.parent.iterdir()] == [make_bundle("one", FILES).digest]


def test_the_next_number_is_one_that_no_version_ever_had(units: Units) -> None:
    skill = begin(units, "one", "two")
    with units.write() as unit:
        assert next_number(unit, "other-skill") == 1
        delete(unit, skill)
        assert next_number(unit, SLUG) == 3
