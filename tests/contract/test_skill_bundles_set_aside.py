"""Bundles that another database does not know, and bundles that are written before their unit opens."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.support.skill_bundle_steps import SLUG, begin, below, delete, settle, text_of
from tests.support.skill_factories import keep_version, make_bundle, make_skill, skill_units
from tests.support.skill_service_harness import ANN, BOB, SkillServiceHarness
from understudy.core.errors import Invalid
from understudy.skills.bundles.store import Settled
from understudy.storage.engine import open_engine
from understudy.storage.unit import Units


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


@pytest.fixture
def elsewhere(sqlite_template: Path, tmp_path: Path) -> Iterator[Units]:
    """Units of another database on the same home."""
    shutil.copy(sqlite_template, tmp_path / "other.db")
    engine = open_engine(f"sqlite:///{tmp_path / 'other.db'}")
    yield skill_units(engine, tmp_path)
    engine.dispose()


def test_a_start_with_another_database_loses_no_version(
    alone: Units, elsewhere: Units, store: Path
) -> None:
    begin(alone, "one", "two")
    gone = make_skill("gone")
    with alone.write() as unit:
        unit.skills.add(gone)
        keep_version(unit, gone, make_bundle("gone"))
        delete(unit, gone)
    before = below(store)

    assert settle(elsewhere) == Settled(set_aside=3)
    assert [name for name in below(store) if name.endswith(f"{SLUG}/1")] == []
    assert settle(alone) == Settled(brought_back=3)

    assert below(store) == sorted([*before, ".lost"])
    assert [text_of(alone, 1), text_of(alone, 2)] == ["one", "two"]


def test_what_the_other_database_put_in_the_place_of_a_version_gives_way_and_is_not_lost(
    alone: Units, elsewhere: Units, store: Path
) -> None:
    begin(alone, "one")
    settle(elsewhere)
    begin(elsewhere, "another")

    assert settle(alone) == Settled(brought_back=1)
    assert text_of(alone, 1) == "one"
    assert settle(elsewhere) == Settled(brought_back=1)
    assert text_of(elsewhere, 1) == "another"
    assert [path.name for path in (store / ".lost").iterdir()] == [f"{SLUG}.1"]


def test_nothing_comes_back_that_is_not_exactly_what_a_row_knows(
    alone: Units, elsewhere: Units, store: Path
) -> None:
    begin(alone, "one")
    settle(elsewhere)
    (store / ".lost" / f"{SLUG}.1" / "SKILL.md").write_text("changed")
    (store / ".lost" / "notes").write_text("mine")

    assert settle(alone) == Settled()

    assert text_of(alone, 1) == ""


def test_a_large_bundle_is_written_before_the_unit_that_puts_it(alone: Units, store: Path) -> None:
    skill = begin(alone)
    large = make_bundle("large", {f"data/{at}.txt": b"x" for at in range(20)})
    with alone.read() as unit:
        unit.skill_bundles.stage(large)
    written = (store / ".staged" / large.digest / "SKILL.md").stat().st_ino

    with alone.write() as unit:
        keep_version(unit, skill, large)

    assert (store / SLUG / "1" / "SKILL.md").stat().st_ino == written
    with alone.read() as unit:
        assert unit.skill_bundles.get(SLUG, 1) == large


def test_what_was_staged_and_not_put_is_gone(alone: Units, store: Path) -> None:
    large = make_bundle("large", {f"data/{at}.txt": b"x" for at in range(20)})
    with alone.read() as unit:
        unit.skill_bundles.stage(make_bundle("small"))
        assert not store.exists()
        unit.skill_bundles.stage(large)
        unit.skill_bundles.unstage(large)
    assert below(store) == [".staged"]
    with alone.read() as unit:
        unit.skill_bundles.stage(large)

    assert settle(alone) == Settled(removed=1)
    assert below(store) == []


def test_the_service_stages_large_bundles_and_leaves_nothing_of_what_is_refused(
    alone: Units, store: Path
) -> None:
    seen: list[list[str]] = []
    sa.event.listen(
        alone.engine,
        "commit",
        lambda _: seen.append([path.name for path in (store / ".staged").glob("*")]),
    )
    service = SkillServiceHarness(alone).service
    large = make_bundle("large", {f"data/{at}.txt": b"x" for at in range(20)})
    service.keep(ANN, large, action="skills.upload")

    other = make_bundle("other", {f"data/{at}.txt": b"x" for at in range(20)})
    with pytest.raises(Invalid) as told:
        service.keep(BOB, other, action="skills.upload", slug=SLUG)
    assert told.value.code == "invalid_slug"

    assert seen == [[]]
    assert list((store / ".staged").iterdir()) == []
    with alone.read() as unit:
        assert unit.skill_bundles.get(SLUG, 1) == large
