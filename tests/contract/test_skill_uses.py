"""How often skills were used, on both databases."""

from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.support.factories import NOW
from tests.support.skill_catalogue_harness import SkillCatalogueHarness, skill_catalogue_harness
from understudy.skills.usage import RecordedUse


@pytest.fixture
def harness(migrated_engine: sa.Engine, tmp_path: Path) -> SkillCatalogueHarness:
    return skill_catalogue_harness(migrated_engine, tmp_path)


def make_use(
    use_id: str, version: int | None = 1, skill_id: str | None = "skl_weekly"
) -> RecordedUse:
    return RecordedUse(
        use_id=use_id,
        skill_id=skill_id,
        slug="weekly",
        version=version,
        digest="0" * 64,
        agent_id="default",
        user_id="ann",
        session_id="s1",
        run_id="run_1",
        at_ms=NOW,
    )


def test_a_call_that_is_done_again_counts_once(harness: SkillCatalogueHarness) -> None:
    harness.keep("weekly")
    with harness.units.write() as unit:
        assert unit.skill_uses.add(make_use("call-1"))
    with harness.units.write() as unit:
        assert not unit.skill_uses.add(replace(make_use("call-1"), at_ms=NOW + 1))
        assert unit.skill_uses.get("call-1") == make_use("call-1")


def test_an_undone_unit_leaves_no_use(harness: SkillCatalogueHarness) -> None:
    harness.keep("weekly")

    def used_and_undone() -> None:
        with harness.units.write() as unit:
            unit.skill_uses.add(make_use("call-1"))
            raise KeyError

    with pytest.raises(KeyError):
        used_and_undone()
    with harness.units.read() as unit:
        assert unit.skill_uses.get("call-1") is None
