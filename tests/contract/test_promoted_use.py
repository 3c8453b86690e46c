"""Runs meet promoted skills: they are told of active ones, and use them as the record says."""

import json
from collections.abc import AsyncIterator

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import make_session
from tests.support.mounted_rollouts import MountedRollouts
from tests.support.promoted_skill_runs import skilled_with
from tests.support.rollout_harness import MARKER, NAME
from tests.support.skill_runs import ANN, LEARNER, SkillRuns, author
from understudy.rollout.model import Stage
from understudy.settings import Settings
from understudy.testing.answers import Answer, call
from understudy.testing.fake_model import FakeModel


@pytest.fixture
def scenery(database: UnitsOnDatabase, settings: Settings) -> MountedRollouts:
    return MountedRollouts(database.units, settings.home)


@pytest.fixture
async def skilled(
    database: UnitsOnDatabase, settings: Settings, fake: FakeModel, scenery: MountedRollouts
) -> AsyncIterator[SkillRuns]:
    async with skilled_with(database, settings, fake, scenery.catalogue) as skilled:
        yield skilled


def use(name: str = NAME) -> Answer:
    return call("use_skill", {"name": name})


async def names(skilled: SkillRuns, session_id: str = LEARNER) -> list[list[str]]:
    """What each of the tools that list skills names."""
    told = await skilled.told(
        call("list_skills", {}),
        call("skill_search", {"query": NAME}),
        "end",
        session_id=session_id,
    )
    return [
        [it["name"] for it in json.loads(each)["skills"]] if each.startswith("{") else []
        for each in told
    ]


async def test_a_draft_is_found_by_no_run_and_an_active_skill_by_all(
    skilled: SkillRuns, scenery: MountedRollouts
) -> None:
    scenery.hand.learn()
    for stage in (Stage.DRAFT, Stage.CANARY):
        scenery.hand.bring_to(stage)
        assert await names(skilled) == [[], []]
        [refused] = await skilled.told(use(), "end")
        assert f"there is no skill '{NAME}' that you may use here" in refused

    scenery.hand.show("canary", scenery.hand.run())
    scenery.hand.promote(status=Stage.ACTIVE)

    assert await names(skilled) == [[NAME], [NAME]]
    [listed, *_] = await skilled.told(call("list_skills", {}), "end", session_id=LEARNER)
    assert [it["version"] for it in json.loads(listed)["skills"]] == ["1"]
    [told] = await skilled.told(use(), child=(MARKER,))
    report, record = json.loads(told), scenery.hand.get().record
    assert (report["name"], report["digest"]) == (NAME, record.digest)
    assert report["version"] == record.definition.version == "1"
    assert report["spawn"]["final_output"] == MARKER
    assert report["spawn"]["snapshot"]["skill_fingerprint"] == record.fingerprint
    asked = next(each for each in skilled.fake.requests if "Carry out" in each.last_user)
    assert record.definition.instructions in asked.last_user


async def test_a_session_that_is_denied_it_finds_it_nowhere(
    skilled: SkillRuns, scenery: MountedRollouts
) -> None:
    scenery.activate()
    denied = make_session("denied", agent_id=LEARNER, capability_scope={"skill_deny": [NAME]})
    with skilled.units.write() as unit:
        unit.sessions.add(denied)

    assert await names(skilled, "denied") == [[], []]
    [refused] = await skilled.told(use(), "end", session_id="denied")
    assert "there is no skill" in refused


async def test_a_skill_whose_files_were_changed_starts_no_child_until_a_restart(
    skilled: SkillRuns, scenery: MountedRollouts
) -> None:
    scenery.activate()
    manifest = scenery.folder() / "SKILL.md"
    manifest.write_text(manifest.read_text().replace(MARKER, "something else"))

    [refused] = await skilled.told(use(), "end")

    assert "not as its record says" in refused
    with skilled.units.read() as unit:
        assert unit.sidechains.below(LEARNER) == ()

    scenery.repair.startup()
    [told] = await skilled.told(use(), child=(MARKER,))
    assert json.loads(told)["spawn"]["status"] == "completed"


async def test_a_use_counts_for_the_promoted_skill(
    skilled: SkillRuns, scenery: MountedRollouts
) -> None:
    scenery.activate()

    await skilled.run(use(), "end", child=(MARKER,))

    with skilled.units.read() as unit:
        [usage] = unit.skill_uses.usage(f"promoted:{NAME}")
    assert (usage.offered, usage.used, usage.succeeded) == (1, 1, 1)


async def test_its_full_name_means_it_whatever_else_is_called_like_it(
    skilled: SkillRuns, scenery: MountedRollouts
) -> None:
    scenery.activate(skill_name="tides")
    named = "---\nname: {}\ndescription: Somebody's own\n---\nDo as I say.\n"
    for slug, name in (("tides", "Tides"), ("other", "promoted:tides"), ("third", "promoted:none")):
        skilled.service.create(author(ANN), named.format(name), slug=slug)

    kept, promoted, none = await skilled.told(
        use("tides"), use(" promoted:tides "), use("promoted:none"), child=[MARKER]
    )

    assert "Do as I say." in kept
    assert json.loads(promoted)["spawn"]["final_output"] == MARKER
    assert none.startswith("there is no skill")
