"""Deleting a skill and bringing it back."""

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.skill_factories import make_bundle
from tests.support.skill_service_harness import (
    ANN,
    BOB,
    OK_MD,
    ROOT,
    SLUG,
    SkillServiceHarness,
    run_of,
    skill_md,
)
from understudy.core.errors import Conflict, DamagedRecord, NotFound, UnderstudyError
from understudy.skills.bundles.store import Settled
from understudy.skills.model import SkillStatus, Visibility
from understudy.skills.revisions import SkillFieldChanges

FILES = {"scripts/a.py": b"print('hi')\n"}


@pytest.fixture
def shop(house: UnitsOnDatabase) -> SkillServiceHarness:
    return SkillServiceHarness(house.units)


def code_of(problem: pytest.ExceptionInfo[UnderstudyError]) -> str:
    return problem.value.code


def test_a_deletion_moves_every_version_to_the_trash_and_takes_every_grant(
    shop: SkillServiceHarness,
) -> None:
    shop.service.keep(run_of(ANN), make_bundle(files=FILES), action="skills.publish")
    shop.service.patch(ANN, SLUG, find="Collect", replace="Count")
    shop.service.grant_user(ANN, SLUG, "bob")
    before = shop.row()

    trashed = shop.service.delete(run_of(ANN), SLUG)

    assert trashed.trash_name == f"{SLUG}.{shop.clock.now_ms() // 1000}"
    assert trashed.skill == before
    assert (shop.row().status, shop.row().trash_name) == (SkillStatus.DELETED, trashed.trash_name)
    assert shop.grants() == ([], [])
    with shop.units.read() as unit:
        found = unit.skills.maybe_open(agent_id="default", user_id="ann")
        folders = [unit.skill_bundles.folder(SLUG, number) for number in (1, 2)]
    assert not found
    if shop.units.engine.dialect.name == "sqlite":
        assert [folder.parts[-3:] for folder in folders if folder] == [
            (".trash", trashed.trash_name, "1"),
            (".trash", trashed.trash_name, "2"),
        ]
    entry = shop.audit()[0]
    assert (entry.action, entry.resource_id) == ("skills.delete", before.skill_id)
    assert shop.heard.changes[-1] == (SLUG, "delete")


def test_deleting_twice_within_a_second_leaves_two_things_in_the_trash(
    shop: SkillServiceHarness,
) -> None:
    shop.service.create(ANN, OK_MD)
    first = shop.service.delete(ANN, SLUG)
    shop.service.create(ANN, OK_MD)
    second = shop.service.delete(ANN, SLUG)

    assert first.trash_name != second.trash_name
    assert second.trash_name.startswith(first.trash_name)
    assert shop.service.undelete(ANN, first.trash_name).version == 1


def test_what_is_deleted_is_not_there(shop: SkillServiceHarness) -> None:
    skill_id = shop.service.create(ANN, OK_MD).skill.skill_id
    shop.service.delete(ANN, SLUG)
    service = shop.service

    for ref in (SLUG, skill_id):
        for act in (
            lambda ref=ref: service.patch(ANN, ref, find="Collect", replace="Count"),
            lambda ref=ref: service.delete(ANN, ref),
            lambda ref=ref: service.toggle(ROOT, ref, enabled=True),
            lambda ref=ref: service.update(ROOT, ref, SkillFieldChanges(name="Again")),
            lambda ref=ref: service.restore(ANN, ref, 1),
            lambda ref=ref: service.grant_user(ANN, ref, "bob"),
            lambda ref=ref: service.revoke_agent(ANN, ref, "default"),
        ):
            with pytest.raises(NotFound) as problem:
                act()
            assert code_of(problem) == "skill_not_found"
    assert shop.row().status is SkillStatus.DELETED


def test_what_is_created_after_a_deletion_has_a_number_that_was_never_used(
    shop: SkillServiceHarness,
) -> None:
    shop.service.create(run_of(ANN), OK_MD)
    shop.service.patch(ANN, SLUG, find="Collect", replace="Count")
    shop.service.grant_user(ANN, SLUG, "bob")
    shop.service.delete(ANN, SLUG)

    alone = shop.service.create(ANN, OK_MD)
    shop.service.delete(ANN, SLUG)
    granted = shop.service.create(run_of(ANN), OK_MD)

    assert (alone.skill.version, alone.skill.visibility) == (3, Visibility.PRIVATE)
    assert (granted.skill.version, granted.skill.visibility) == (4, Visibility.INTERNAL)
    assert shop.grants() == (["default"], [])
    assert [version.number for version in shop.versions()] == [4]


def test_an_archived_skill_can_be_deleted(shop: SkillServiceHarness) -> None:
    shop.machine.lacks = {"pandas"}
    shop.service.create(ANN, skill_md(deps="[pip:pandas]"))
    shop.service.toggle(ANN, SLUG, enabled=True)

    assert shop.service.delete(ANN, SLUG).skill.status is SkillStatus.ARCHIVED


def test_only_the_owner_or_an_admin_deletes(shop: SkillServiceHarness) -> None:
    skill_id = shop.service.create(ANN, OK_MD).skill.skill_id
    before = shop.state()

    for author, ref, code in (
        (BOB, SLUG, "skill_not_found"),
        (run_of(BOB), skill_id, "skill_not_yours"),
    ):
        with pytest.raises(UnderstudyError) as problem:
            shop.service.delete(author, ref)
        assert code_of(problem) == code
    assert shop.state() == before

    assert shop.service.delete(run_of(ROOT), SLUG).deleted_by == "root"


def test_what_comes_back_is_as_it_stood_without_its_grants(shop: SkillServiceHarness) -> None:
    shop.service.keep(run_of(ANN), make_bundle(files=FILES), action="skills.publish")
    shop.service.update(ANN, SLUG, SkillFieldChanges(name="Ours"))
    shop.service.patch(ANN, SLUG, find="Collect", replace="Count")
    stood, bundle = shop.row(), shop.bundle()
    name = shop.service.delete(ANN, SLUG).trash_name

    back = shop.service.undelete(ANN, name)

    assert back == shop.row()
    assert (back.skill_id, back.name, back.version) == (stood.skill_id, "Ours", 2)
    assert (back.status, back.visibility) == (SkillStatus.ACTIVE, Visibility.PRIVATE)
    assert shop.bundle() == bundle
    assert [version.number for version in shop.versions()] == [2, 1]
    assert shop.grants() == ([], [])
    assert shop.audit()[0].action == "skills.undelete"
    with shop.units.write() as unit:
        assert unit.skill_bundles.settle(unit.skills.places()) == Settled()
    assert shop.service.patch(ANN, SLUG, find="Count", replace="Sum").skill.version == 3


def test_an_earlier_life_comes_back_while_a_later_one_stays_in_the_trash(
    shop: SkillServiceHarness,
) -> None:
    shop.service.create(ANN, OK_MD)
    first = shop.service.delete(ANN, SLUG).trash_name
    shop.clock.advance(5000)
    shop.service.create(BOB, skill_md(body="Of bob.\n"))
    second = shop.service.delete(BOB, SLUG).trash_name

    back = shop.service.undelete(ANN, first)

    assert (back.owner_id, back.version) == ("ann", 1)
    assert shop.bundle().manifest_text == OK_MD
    with pytest.raises(Conflict) as problem:
        shop.service.undelete(BOB, second)
    assert code_of(problem) == "skill_slug_in_use"
    assert shop.service.patch(ANN, SLUG, find="Collect", replace="Count").skill.version == 3


def test_the_trash_of_another_is_empty(shop: SkillServiceHarness) -> None:
    shop.service.create(ANN, OK_MD)
    name = shop.service.delete(ANN, SLUG).trash_name

    for author, what in ((BOB, name), (ANN, "other.1"), (ANN, "../x"), (ANN, "\0")):
        with pytest.raises(NotFound) as problem:
            shop.service.undelete(author, what)
        assert code_of(problem) == "skill_trash_not_found"
    assert shop.service.undelete(ROOT, name).owner_id == "ann"


def test_what_is_back_is_not_in_the_trash(shop: SkillServiceHarness) -> None:
    shop.service.create(ANN, OK_MD)
    name = shop.service.delete(ANN, SLUG).trash_name
    shop.service.undelete(ANN, name)
    shop.service.delete(ANN, SLUG)
    shop.service.undelete(ANN, name)

    with pytest.raises(NotFound):
        shop.service.undelete(ANN, name)


def test_what_is_damaged_in_the_trash_stays_there(shop: SkillServiceHarness) -> None:
    shop.service.keep(ANN, make_bundle(files=FILES), action="skills.upload")
    name = shop.service.delete(ANN, SLUG).trash_name
    shop.damage("scripts/a.py")

    with pytest.raises(DamagedRecord):
        shop.service.undelete(ANN, name)

    assert (shop.row().status, shop.row().trash_name) == (SkillStatus.DELETED, name)
    with shop.units.write() as unit:
        assert unit.skill_bundles.settle(unit.skills.places()) == Settled()
