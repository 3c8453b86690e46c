"""A promoted skill has its name alone: no other skill can be taken for it, however it is written."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import ALICE, make_session
from tests.support.mounted_rollouts import EVE, MountedRollouts
from tests.support.rollout_harness import ASKED, RolloutHarness
from tests.support.skill_factories import make_skill
from tests.support.skill_service_harness import ANN, BOB, skill_md
from tests.support.threads_at_once import together
from understudy.core.errors import Conflict, UnderstudyError
from understudy.rollout.model import Rollout, Stage
from understudy.rollout.name_clashes import CatalogueNames
from understudy.settings import Settings
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.content_guard import ContentGuard
from understudy.skills.dependencies.availability import LocalMachine
from understudy.skills.events import SkillEvents
from understudy.skills.model import Visibility
from understudy.skills.revisions import SkillFieldChanges
from understudy.skills.service import SkillService
from understudy.skills.shipped_skills import seed
from understudy.storage.unit import Units

pytestmark = pytest.mark.one_database

NAME = "Tide-Tables"


@pytest.fixture
def scenery(database: UnitsOnDatabase, settings: Settings) -> MountedRollouts:
    scenery = MountedRollouts(database.units, settings.home)
    scenery.hand.learn("lrn_1")
    scenery.hand.learn("lrn_2")
    return scenery


@pytest.fixture
def skills(scenery: MountedRollouts) -> SkillService:
    return SkillService(
        scenery.units,
        scenery.clock,
        guard=ContentGuard(),
        machine_for=lambda _: LocalMachine(),
        listener=SkillEvents(),
        others=scenery.promoted,
    )


def refused(code: str, act: Callable[[], object]) -> None:
    with pytest.raises(Conflict) as caught:
        act()
    assert caught.value.code == code


@pytest.mark.parametrize("other", ["tide-tables", "TIDE-TABLES"])
@pytest.mark.parametrize("stage", [Stage.DRAFT, Stage.ACTIVE])
def test_two_live_rollouts_never_differ_in_capitals_alone(
    scenery: MountedRollouts, stage: Stage, other: str
) -> None:
    hand = scenery.hand
    hand.bring_to(stage, "lrn_1", skill_name=NAME)

    refused("skill_already_exists", lambda: hand.promote("lrn_2", skill_name=other))

    hand.rollouts.revoke(ANN.principal, NAME)
    assert hand.promote("lrn_2", skill_name=other).record.skill_name == other
    # And the other way round: what was revoked does not come back beside it.
    refused("skill_already_exists", lambda: hand.promote("lrn_1", skill_name=NAME))
    if stage is Stage.ACTIVE:
        refused("skill_already_exists", lambda: hand.rollouts.rollback(ANN.principal, NAME))


@pytest.mark.every_database
def test_the_database_itself_keeps_two_live_names_apart(units: Units) -> None:
    hand = RolloutHarness(units)
    hand.learn("lrn_1")
    first = hand.promote("lrn_1", skill_name="sched").record
    hand.learn("lrn_2")
    other = hand.promote("lrn_2", skill_name="other").record

    with units.write() as unit:
        assert unit.rollouts.live_called("SCHED") == "sched"
        assert unit.rollouts.live_called("sch\0ed") is None
        assert not unit.rollouts.add(_renamed(other, "Sched", "lrn_3"))
        assert unit.rollouts.add(_renamed(first, "sched2", "lrn_3"))


def _renamed(record: Rollout, name: str, learning_id: str) -> Rollout:
    definition = replace(record.definition, skill_name=name)
    return replace(record, skill_name=name, definition=definition, source_learning_id=learning_id)


def kept(skills: SkillService, name: str = "Other", **more: str) -> str:
    return skills.create(ANN, skill_md(name, **more)).skill.skill_id


TAKING: dict[str, Callable[[SkillService], object]] = {
    "a new skill by its slug": lambda it: it.create(ANN, skill_md("Mine"), slug="tide-tables"),
    "a new skill by its name": lambda it: it.create(ANN, skill_md("tide-TABLES"), slug="mine"),
    "an archive": lambda it: it.keep(
        ANN, Bundle({"SKILL.md": skill_md("Tide-Tables").encode()}), action="skills.upload"
    ),
    "a patch": lambda it: it.patch(ANN, kept(it), find="name: Other", replace=f"name: {NAME}"),
    "another name": lambda it: it.update(ANN, kept(it), SkillFieldChanges(name=NAME)),
}


@pytest.mark.parametrize("way", TAKING)
@pytest.mark.parametrize("stage", [Stage.DRAFT, Stage.ACTIVE])
def test_no_kept_skill_takes_the_name_of_a_live_rollout(
    scenery: MountedRollouts, skills: SkillService, stage: Stage, way: str
) -> None:
    scenery.hand.bring_to(stage, skill_name=NAME)

    refused("skill_name_promoted", lambda: TAKING[way](skills))

    scenery.hand.rollouts.revoke(ANN.principal, NAME)
    TAKING[way](skills)


@pytest.mark.every_database
def test_a_skill_does_not_come_back_from_the_trash_or_an_old_version_into_such_a_name(
    scenery: MountedRollouts, skills: SkillService
) -> None:
    skill_id = kept(skills, NAME)
    trashed = skills.delete(ANN, skill_id)
    versions = skills.create(ANN, skill_md(NAME), slug="mine").skill.skill_id
    skills.create(ANN, skill_md("Mine"), slug="mine")
    scenery.hand.promote(skill_name=NAME)

    refused("skill_name_promoted", lambda: skills.undelete(ANN, trashed.trash_name))
    refused("skill_name_promoted", lambda: skills.restore(ANN, versions, 1))


def test_what_came_with_the_product_takes_no_such_name_either(scenery: MountedRollouts) -> None:
    scenery.hand.promote(skill_name=NAME)
    shipped = {"tide-tables": Bundle({"SKILL.md": skill_md("Tides").encode()})}

    report = seed(scenery.units, scenery.clock, ContentGuard(), shipped, others=scenery.promoted)

    assert [each.slug for each in report.refused] == ["tide-tables"]
    assert seed(scenery.units, scenery.clock, ContentGuard(), shipped).added == ("tide-tables",)


def test_a_skill_that_has_the_name_already_goes_on_with_its_versions(
    scenery: MountedRollouts, skills: SkillService
) -> None:
    # The rollout does not ask who has the name, as if both had begun at once.
    kept(skills, NAME)
    scenery.hand.promote(skill_name=NAME)

    again = skills.create(ANN, skill_md(NAME, body="Otherwise.\n")).skill

    assert again.version == 2
    assert (
        skills.update(ANN, again.skill_id, SkillFieldChanges(description="Says more")).revision > 1
    )


@pytest.mark.every_database
@pytest.mark.parametrize("is_back", [False, True])
def test_what_somebody_put_beside_it_meanwhile_keeps_it_from_being_active(
    scenery: MountedRollouts, is_back: bool
) -> None:
    hand = scenery.hand
    if is_back:
        hand.bring_to(Stage.ACTIVE, skill_name=NAME)
        hand.rollouts.revoke(ANN.principal, NAME)
    else:
        hand.bring_to(Stage.CANARY, skill_name=NAME)
        hand.show("canary", hand.run(), skill_name=NAME)
    hand.taken.add(NAME)

    def act() -> object:
        if is_back:
            return hand.rollouts.rollback(ANN.principal, NAME)
        return hand.promote(skill_name=NAME, status=Stage.ACTIVE)

    refused("skill_already_exists", act)
    hand.taken.clear()
    act()


def test_of_all_who_want_a_name_at_once_just_one_gets_it(
    scenery: MountedRollouts, skills: SkillService
) -> None:
    rollouts = replace(scenery.hand.rollouts, is_taken=CatalogueNames(scenery.keeper.shadows))

    def promote(learning_id: str, name: str) -> object:
        return rollouts.promote(ALICE, learning_id, replace(ASKED, skill_name=name))

    answers = together(
        [
            lambda: promote("lrn_1", "tide-tables"),
            lambda: promote("lrn_2", "Tide-Tables"),
            lambda: skills.create(ANN, skill_md("Mine"), slug="tide-tables"),
            lambda: skills.create(BOB, skill_md("TIDE-tables"), slug="other"),
        ]
    )

    codes = [it.code for it in answers if isinstance(it, UnderstudyError)]
    # Kept skills may have one name; a promoted one has its own alone.
    is_promoted = [not isinstance(it, UnderstudyError) for it in answers[:2]]
    assert (sum(is_promoted), len(codes)) in {(1, 3), (0, 2)}
    assert set(codes) <= {"skill_already_exists", "skill_name_promoted"}


@pytest.mark.every_database
def test_a_file_that_an_agent_wrote_keeps_no_name_from_a_promoted_skill(
    scenery: MountedRollouts,
) -> None:
    is_taken = CatalogueNames(scenery.keeper.shadows)
    scenery.put_local("workspace/skills", "squat")
    scenery.put_local("named", "of-people")

    with scenery.units.read() as unit:
        assert not is_taken(unit, "squat")
        assert is_taken(unit, "of-people")


@pytest.mark.every_database
def test_in_full_it_is_found_though_a_kept_skill_comes_first(scenery: MountedRollouts) -> None:
    scenery.hand.bring_to(Stage.ACTIVE, skill_name=NAME)
    with scenery.units.write() as unit:
        unit.skills.add(make_skill("tide-tables", name=NAME, visibility=Visibility.PUBLIC))
    ref = f"promoted:{NAME}"
    session = make_session("s1")
    denied = make_session("s1", capability_scope={"skill_deny": [NAME]})

    assert scenery.library.get(EVE, ref).skill.skill_id == ref
    with scenery.units.read() as unit:
        assert [one.ref for one in scenery.catalogue.from_elsewhere(unit, ref, session)] == [ref]
        assert scenery.catalogue.from_elsewhere(unit, ref, denied) == ()
        assert scenery.catalogue.from_elsewhere(unit, f"{ref}x", session) == ()
