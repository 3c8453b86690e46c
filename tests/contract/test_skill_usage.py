"""What came of skills, counted over real runs, on both databases."""

from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import sqlalchemy as sa

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import NOW, make_run
from tests.support.skill_runs import ANN, BOB, OK_MD, ROOT, SkillRuns, author, make_skill_runs
from understudy.agent.offers import CatalogueSkills
from understudy.core.clock import DAY_MS
from understudy.core.errors import NotFound
from understudy.core.page import PageRequest
from understudy.core.principal import Principal
from understudy.guard.scan import scan_bundle
from understudy.runs.model import RunStatus
from understudy.settings import Settings
from understudy.skills.bundles.store import BundleChecks
from understudy.skills.library import SkillLibrary
from understudy.skills.local.skills import LocalSkills
from understudy.skills.usage import (
    KEPT_DAYS,
    NO_VERSION,
    RecordedUse,
    SkillListing,
    SkillVersionUsage,
    UsageDay,
    UsageUpkeep,
)
from understudy.storage.unit import Units
from understudy.testing.answers import Answer, call
from understudy.testing.clock import FrozenClock
from understudy.testing.fake_model import FakeModel

USE = call("use_skill", {"name": "weekly-report"})
LOOK = call("list_files", {"path": "."})


@pytest.fixture
async def skilled(
    database: UnitsOnDatabase, settings: Settings, fake: FakeModel
) -> AsyncIterator[SkillRuns]:
    """An agent that is told of its skills."""
    skilled = make_skill_runs(database.units, database.queued, settings, fake)
    skilled.harness.skills = CatalogueSkills(skilled.catalogue)
    skilled.harness.executor = skilled.harness._executor()
    yield skilled
    await skilled.harness.providers.close()


def figures(
    skilled: SkillRuns, ref: str = "weekly-report", who: Principal = ANN
) -> list[SkillVersionUsage]:
    local = LocalSkills(roots=(), guard=scan_bundle, clock=skilled.harness.clock)
    library = SkillLibrary(skilled.units, local, BundleChecks())
    return list(library.usage(who, ref, PageRequest()).items)


async def test_runs_are_counted_by_what_they_did_with_a_skill(skilled: SkillRuns) -> None:
    kept = skilled.service.create(author(), OK_MD)
    await skilled.run(LOOK)
    await skilled.run(USE, USE)

    [found] = figures(skilled)

    assert found == SkillVersionUsage(
        ref=kept.skill.skill_id,
        version=1,
        offered=2,
        used=1,
        succeeded=1,
        last_used_at_ms=skilled.harness.clock.now_ms(),
    )


async def test_each_version_has_figures_of_its_own(skilled: SkillRuns) -> None:
    skilled.service.create(author(), OK_MD)
    await skilled.run(USE)
    skilled.service.patch(author(), "weekly-report", find="Collect", replace="Gather")
    await skilled.run(USE)
    skilled.service.patch(author(), "weekly-report", find="Gather", replace="Find")

    found = figures(skilled)

    assert [(it.version, it.offered, it.used) for it in found] == [(3, 0, 0), (2, 1, 1), (1, 1, 1)]


async def test_a_run_that_fails_counts_against_what_it_used(skilled: SkillRuns) -> None:
    skilled.service.create(author(), OK_MD)
    await skilled.run(USE, Answer(status=400))

    [found] = figures(skilled)

    assert (found.used, found.succeeded, found.failed) == (1, 0, 1)


async def test_a_skill_that_was_on_no_list_was_on_offer_when_it_was_used(
    skilled: SkillRuns,
) -> None:
    skilled.service.create(author(), OK_MD)
    await skilled.run(USE)
    with skilled.units.write() as unit:
        unit.connection.execute(sa.text("DELETE FROM skill_listings"))
    # The same call again, after a crash: what it noted is noted once.
    await skilled.run(USE)

    [found] = figures(skilled)

    assert (found.offered, found.used) == (1, 2)


async def test_nobody_learns_of_a_skill_by_its_figures(skilled: SkillRuns) -> None:
    skilled.service.create(author(), OK_MD)

    with pytest.raises(NotFound):
        figures(skilled, who=BOB)
    with pytest.raises(NotFound):
        figures(skilled, ref="no-such-skill")


async def test_its_owner_and_admins_still_see_the_figures_of_a_deleted_skill(
    skilled: SkillRuns,
) -> None:
    kept = skilled.service.create(author(), OK_MD)
    await skilled.run(USE)
    skilled.service.grant_user(author(), "weekly-report", "bob")
    before = figures(skilled)
    assert figures(skilled, who=BOB) == before

    skilled.service.delete(author(), "weekly-report")

    for ref in ("weekly-report", kept.skill.skill_id):
        assert figures(skilled, ref) == figures(skilled, ref, ROOT) == before
        with pytest.raises(NotFound):
            figures(skilled, ref, BOB)


def note(
    units: Units,
    number: int,
    status: RunStatus,
    *,
    at_ms: int = NOW,
    skill_id: str | None,
    user_id: str = "ann",
) -> str:
    """A run in some status that used a skill, or what lies in a folder."""
    run = make_run(run_id=f"run_{number}", status=status)
    with units.write() as unit:
        unit.runs.add(run)
        unit.skill_uses.add(
            RecordedUse(
                use_id=f"use_{number}",
                skill_id=skill_id,
                slug="weekly-report",
                version=None if skill_id is None else 1,
                digest="0" * 64,
                agent_id="default",
                user_id=user_id,
                session_id="s1",
                run_id=run.run_id,
                at_ms=at_ms,
            )
        )
    return run.run_id


async def test_uses_are_told_by_day_and_run_and_for_several_skills_at_once(
    database: UnitsOnDatabase, skilled: SkillRuns
) -> None:
    units = database.units
    skill_id = skilled.service.create(author(), OK_MD).skill.skill_id
    note(units, 1, RunStatus.FAILED, at_ms=NOW - DAY_MS, skill_id=skill_id)
    note(units, 2, RunStatus.COMPLETED, at_ms=NOW - 1, skill_id=skill_id)
    note(units, 3, RunStatus.RUNNING, skill_id=skill_id)
    note(units, 4, RunStatus.COMPLETED, skill_id=None)
    today = NOW // DAY_MS * DAY_MS

    with units.read() as unit:
        days = unit.skill_uses.days(skill_id)
        runs = unit.skill_uses.recent_runs(skill_id)
        both = unit.skill_uses.usage_of([skill_id, "local:weekly-report", "skl_other"], since_ms=0)
        lately = unit.skill_uses.usage_of([skill_id], since_ms=NOW)

    assert days == (
        UsageDay(day_at_ms=today - DAY_MS, used=1, failed=1),
        UsageDay(day_at_ms=today, used=2, succeeded=1),
    )
    assert [(it.run_id, it.status, it.version) for it in runs] == [
        ("run_3", RunStatus.RUNNING, 1),
        ("run_2", RunStatus.COMPLETED, 1),
        ("run_1", RunStatus.FAILED, 1),
    ]
    assert {ref: (it.used, it.succeeded) for ref, it in both.items()} == {
        skill_id: (3, 1),
        "local:weekly-report": (1, 1),
    }
    assert (lately[skill_id].used, lately[skill_id].failed) == (2, 0)


async def test_figures_can_be_narrowed_to_a_time(skilled: SkillRuns) -> None:
    skill_id = skilled.service.create(author(), OK_MD).skill.skill_id
    note(skilled.units, 1, RunStatus.FAILED, at_ms=NOW - DAY_MS, skill_id=skill_id)
    note(skilled.units, 2, RunStatus.CANCELLED, skill_id=skill_id)
    note(skilled.units, 3, RunStatus.COMPLETED, skill_id=None)
    with skilled.units.write() as unit:
        unit.skill_uses.list_for(
            [
                SkillListing(ref=skill_id, version=1, run_id="run_1", at_ms=NOW - DAY_MS),
                SkillListing(ref=skill_id, version=1, run_id="run_2", at_ms=NOW),
                SkillListing(ref="local:weekly-report", version=0, run_id="run_3", at_ms=NOW),
            ]
        )
        unit.skill_uses.list_for([])

        [ever] = unit.skill_uses.usage(skill_id)
        [lately] = unit.skill_uses.usage(skill_id, since_ms=NOW)
        [local] = unit.skill_uses.usage("local:weekly-report")
        everything = unit.skill_uses.usage_since(NOW)

    assert (ever.offered, ever.used, ever.failed, ever.abandoned) == (2, 2, 1, 1)
    assert (lately.offered, lately.used, lately.failed, lately.abandoned) == (1, 1, 0, 1)
    assert (local.version, local.offered, local.succeeded) == (NO_VERSION, 1, 1)
    assert everything == (local, lately)


async def test_uses_of_one_slug_in_the_roots_of_two_users_are_apart(skilled: SkillRuns) -> None:
    ref = "local:weekly-report"
    for number, user_id in enumerate(("ann", "bob", "bob")):
        note(skilled.units, number, RunStatus.COMPLETED, skill_id=None, user_id=user_id)

    with skilled.units.read() as unit:
        uses = unit.skill_uses
        used = [sum(it.used for it in uses.usage(ref, user_id=who)) for who in ("ann", "bob", None)]
        runs = [it.run_id for it in uses.recent_runs(ref, user_id="ann")]
        listed = uses.usage_of([ref], since_ms=0, user_id="ann")

    assert used == [1, 2, 3]
    assert runs == ["run_0"]
    assert listed[ref].used == 1


async def test_the_runs_that_speak_against_a_skill_are_named_first(skilled: SkillRuns) -> None:
    skill_id = skilled.service.create(author(), OK_MD).skill.skill_id
    statuses = (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.COMPLETED, RunStatus.CANCELLED)
    for at, status in enumerate(statuses):
        note(skilled.units, at, status, at_ms=NOW + at, skill_id=skill_id)

    with skilled.units.read() as unit:
        of = {"since_ms": 0, "limit": 3}
        found = unit.skill_uses.runs_that_used(skill_id, 1, **of)
        others = unit.skill_uses.runs_that_used(skill_id, 2, **of)
        local = unit.skill_uses.runs_that_used("local:weekly-report", NO_VERSION, **of)

    assert found == ("run_3", "run_1", "run_2")
    assert (others, local) == ((), ())


def listings(units: Units) -> int:
    """How many runs are still listed one by one."""
    with units.read() as unit:
        return unit.connection.execute(sa.text("SELECT count(*) FROM skill_listings")).scalar() or 0


def tell(units: Units, ref: str, *runs: str, days_ago: int = 0, version: int = 1) -> None:
    at = NOW - days_ago * DAY_MS
    told = [SkillListing(ref=ref, version=version, run_id=run, at_ms=at) for run in runs]
    with units.write() as unit:
        unit.skill_uses.list_for(told)


def offered(units: Units, ref: str, since_ms: int = 0) -> dict[int, int]:
    with units.read() as unit:
        return {it.version: it.offered for it in unit.skill_uses.usage(ref, since_ms=since_ms)}


def test_what_ended_runs_were_told_of_is_summed_up_and_counts_as_before(units: Units) -> None:
    tell(units, "skl_1", "run_1", "run_2", "run_3")
    tell(units, "skl_1", "run_4", version=2, days_ago=3)
    tell(units, "local:x", "run_1", version=0, days_ago=9)
    upkeep = UsageUpkeep(units, FrozenClock(NOW))

    def figures_now() -> tuple[object, ...]:
        with units.read() as unit:
            everything = tuple(unit.skill_uses.usage_since(since) for since in (0, week_ago))
        return (*everything, offered(units, "skl_1"), offered(units, "skl_1", NOW))

    week_ago = NOW - 7 * DAY_MS
    before = figures_now()
    assert upkeep.sweep() == 5

    assert listings(units) == 0
    assert figures_now() == before
    assert (offered(units, "skl_1"), offered(units, "skl_1", NOW)) == ({2: 1, 1: 3}, {1: 3})
    assert upkeep.sweep() == 0
    tell(units, "skl_1", "run_5")
    assert upkeep.sweep() == 1
    assert offered(units, "skl_1") == {2: 1, 1: 4}


def test_a_run_that_goes_on_is_counted_once_however_often_it_is_told(units: Units) -> None:
    run = make_run(run_id="run_1", status=RunStatus.RUNNING)
    with units.write() as unit:
        unit.runs.add(run)
    upkeep = UsageUpkeep(units, FrozenClock(NOW))

    tell(units, "skl_1", "run_1")
    assert upkeep.sweep() == 0
    tell(units, "skl_1", "run_1")
    assert offered(units, "skl_1") == {1: 1}

    with units.write() as unit:
        unit.runs.update(replace(run, status=RunStatus.COMPLETED, finished_at_ms=NOW))
    assert upkeep.sweep() == 1
    assert offered(units, "skl_1") == {1: 1}


def test_what_is_long_ago_counts_only_in_the_total(units: Units) -> None:
    clock = FrozenClock(NOW)
    tell(units, "skl_1", "run_1", "run_2", days_ago=KEPT_DAYS)
    tell(units, "skl_1", "run_3", days_ago=KEPT_DAYS - 1)
    since = NOW - (KEPT_DAYS + 5) * DAY_MS

    UsageUpkeep(units, clock).sweep()
    assert offered(units, "skl_1", since) == {1: 3}
    clock.advance(DAY_MS)
    UsageUpkeep(units, clock).sweep()
    assert offered(units, "skl_1", since) == {1: 1}
    clock.advance(DAY_MS)
    UsageUpkeep(units, clock).sweep()

    assert offered(units, "skl_1", since) == {}
    assert offered(units, "skl_1") == {1: 3}
    with units.read() as unit:
        rows = unit.connection.execute(sa.text("SELECT day, runs FROM skill_listing_days")).all()
    assert [tuple(row) for row in rows] == [(0, 3)]


def test_only_so_many_are_summed_up_at_once(units: Units) -> None:
    tell(units, "skl_1", *(f"run_{number}" for number in range(5)))

    with units.write() as unit:
        assert unit.skill_uses.sum_up(limit=2) == 2
    assert listings(units) == 3
    assert offered(units, "skl_1") == {1: 5}


def test_no_plan_of_postgresql_takes_more_than_was_asked_for(database: UnitsOnDatabase) -> None:
    if database.engine.dialect.name == "sqlite":
        pytest.skip("SQLite plans otherwise")
    tell(database.units, "skl_1", *(f"run_{number}" for number in range(5)))

    with database.units.write() as unit:
        # What is left is a loop that looks into the choice once for each row.
        for other in ("hashjoin", "mergejoin", "hashagg", "sort", "material", "memoize"):
            unit.connection.execute(sa.text(f"SET LOCAL enable_{other} = off"))
        assert unit.skill_uses.sum_up(limit=2) == 2


def test_daemons_that_sum_up_at_once_count_nothing_twice(database: UnitsOnDatabase) -> None:
    if database.engine.dialect.name == "sqlite":
        pytest.skip("one daemon per database")
    units = database.units
    tell(units, "skl_1", *(f"run_{number}" for number in range(5)))

    def sum_up() -> int:
        with units.write() as unit:
            return unit.skill_uses.sum_up(limit=3)

    with ThreadPoolExecutor(1) as elsewhere:
        with units.write() as unit:
            assert unit.skill_uses.sum_up(limit=3) == 3
            other = elsewhere.submit(sum_up)
        assert other.result(timeout=10) == 2
    assert (listings(units), offered(units, "skl_1")) == (0, {1: 5})
