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
from understudy.core.errors import Conflict, DamagedRecord, Invalid, NotFound, UnderstudyError
from understudy.skills.bundles.store import Settled
from understudy.skills.model import SkillStatus, Visibility
from understudy.skills.revisions import SkillFieldChanges

FILES = {"scripts/a.py": b"print('hi')\n"}


@pytest.fixture
def harness(database: UnitsOnDatabase) -> SkillServiceHarness:
    return SkillServiceHarness(database.units).hand_over()


def code_of(problem: pytest.ExceptionInfo[UnderstudyError]) -> str:
    return problem.value.code


def test_a_deletion_moves_every_version_to_the_trash_and_takes_every_grant(
    harness: SkillServiceHarness,
) -> None:
    harness.service.keep(run_of(ANN), make_bundle(files=FILES), action="skills.publish")
    harness.service.patch(ANN, SLUG, find="Collect", replace="Count")
    harness.service.grant_user(ANN, SLUG, "bob")
    before = harness.row()

    trashed = harness.service.delete(run_of(ANN), SLUG)

    assert trashed.trash_name == f"{SLUG}.{harness.clock.now_ms() // 1000}"
    assert trashed.skill == before
    assert (harness.row().status, harness.row().trash_name) == (
        SkillStatus.DELETED,
        trashed.trash_name,
    )
    assert harness.grants() == ([], [])
    with harness.units.read() as unit:
        _, found = unit.skills.maybe_open(agent_id="default", user_id="ann")
        folders = [unit.skill_bundles.folder(SLUG, number) for number in (1, 2)]
    assert not found
    if harness.units.engine.dialect.name == "sqlite":
        assert [folder.parts[-3:] for folder in folders if folder] == [
            (".trash", trashed.trash_name, "1"),
            (".trash", trashed.trash_name, "2"),
        ]
    entry = harness.audit()[0]
    assert (entry.action, entry.resource_id) == ("skills.delete", before.skill_id)
    assert harness.heard.changes[-1] == (SLUG, "delete")


def test_deleting_twice_within_a_second_leaves_two_things_in_the_trash(
    harness: SkillServiceHarness,
) -> None:
    harness.service.create(ANN, OK_MD)
    first = harness.service.delete(ANN, SLUG)
    harness.service.create(ANN, OK_MD)
    second = harness.service.delete(ANN, SLUG)

    assert first.trash_name != second.trash_name
    assert second.trash_name.startswith(first.trash_name)
    assert harness.service.undelete(ANN, first.trash_name).version == 1


def test_what_is_deleted_is_not_there(harness: SkillServiceHarness) -> None:
    skill_id = harness.service.create(ANN, OK_MD).skill.skill_id
    harness.service.delete(ANN, SLUG)
    service = harness.service

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
    assert harness.row().status is SkillStatus.DELETED


def test_what_is_created_after_a_deletion_has_a_number_that_was_never_used(
    harness: SkillServiceHarness,
) -> None:
    harness.service.create(run_of(ANN), OK_MD)
    harness.service.patch(ANN, SLUG, find="Collect", replace="Count")
    harness.service.grant_user(ANN, SLUG, "bob")
    harness.service.delete(ANN, SLUG)

    alone = harness.service.create(ANN, OK_MD)
    harness.service.delete(ANN, SLUG)
    granted = harness.service.create(run_of(ANN), OK_MD)

    assert (alone.skill.version, alone.skill.visibility) == (3, Visibility.PRIVATE)
    assert (granted.skill.version, granted.skill.visibility) == (4, Visibility.INTERNAL)
    assert harness.grants() == (["default"], [])
    assert [version.number for version in harness.versions()] == [4]


def test_an_archived_skill_can_be_deleted(harness: SkillServiceHarness) -> None:
    harness.machine.lacks = {"pandas"}
    harness.service.create(ANN, skill_md(deps="[pip:pandas]"))
    harness.service.toggle(ANN, SLUG, enabled=True)

    assert harness.service.delete(ANN, SLUG).skill.status is SkillStatus.ARCHIVED


def test_only_the_owner_or_an_admin_deletes(harness: SkillServiceHarness) -> None:
    skill_id = harness.service.create(ANN, OK_MD).skill.skill_id
    before = harness.state()

    for author, ref, code in (
        (BOB, SLUG, "skill_not_found"),
        (run_of(BOB), skill_id, "skill_not_yours"),
    ):
        with pytest.raises(UnderstudyError) as problem:
            harness.service.delete(author, ref)
        assert code_of(problem) == code
    assert harness.state() == before

    assert harness.service.delete(run_of(ROOT), SLUG).deleted_by == "root"


def test_what_comes_back_is_as_it_stood_without_its_grants(harness: SkillServiceHarness) -> None:
    harness.service.keep(run_of(ANN), make_bundle(files=FILES), action="skills.publish")
    harness.service.update(ANN, SLUG, SkillFieldChanges(name="Ours"))
    harness.service.patch(ANN, SLUG, find="Collect", replace="Count")
    stood, bundle = harness.row(), harness.bundle()
    name = harness.service.delete(ANN, SLUG).trash_name

    back = harness.service.undelete(ANN, name)

    assert back == harness.row()
    assert (back.skill_id, back.name, back.version) == (stood.skill_id, "Ours", 3)
    assert (back.status, back.visibility) == (SkillStatus.ACTIVE, Visibility.PRIVATE)
    assert harness.bundle() == bundle
    assert [version.number for version in harness.versions()] == [3, 2, 1]
    assert harness.grants() == ([], [])
    assert harness.audit()[0].action == "skills.undelete"
    with harness.units.write() as unit:
        assert unit.skill_bundles.settle(unit.skills.places()) == Settled()
    assert harness.service.patch(ANN, SLUG, find="Count", replace="Sum").skill.version == 4


def test_an_earlier_life_comes_back_while_a_later_one_stays_in_the_trash(
    harness: SkillServiceHarness,
) -> None:
    harness.service.create(ANN, OK_MD)
    first = harness.service.delete(ANN, SLUG).trash_name
    harness.clock.advance(5000)
    harness.service.create(BOB, skill_md(body="Of bob.\n"))
    second = harness.service.delete(BOB, SLUG).trash_name

    back = harness.service.undelete(ANN, first)

    assert (back.owner_id, back.version) == ("ann", 1)
    assert harness.bundle().manifest_text == OK_MD
    # Bob may not know of it: the answer is that of a word that nobody may take.
    with pytest.raises(Invalid) as hidden:
        harness.service.undelete(BOB, second)
    assert code_of(hidden) == "invalid_slug"
    assert "ann" not in str(hidden.value)
    harness.service.grant_user(ANN, SLUG, "bob")
    with pytest.raises(Conflict) as problem:
        harness.service.undelete(BOB, second)
    assert code_of(problem) == "skill_slug_in_use"
    assert harness.service.patch(ANN, SLUG, find="Collect", replace="Count").skill.version == 3


def test_the_trash_of_another_is_empty(harness: SkillServiceHarness) -> None:
    harness.service.create(ANN, OK_MD)
    name = harness.service.delete(ANN, SLUG).trash_name

    for author, what in ((BOB, name), (ANN, "other.1"), (ANN, "../x"), (ANN, "\0")):
        with pytest.raises(NotFound) as problem:
            harness.service.undelete(author, what)
        assert code_of(problem) == "skill_trash_not_found"
    assert harness.service.undelete(ROOT, name).owner_id == "ann"


def test_what_is_back_is_not_in_the_trash(harness: SkillServiceHarness) -> None:
    harness.service.create(ANN, OK_MD)
    name = harness.service.delete(ANN, SLUG).trash_name
    harness.service.undelete(ANN, name)
    harness.service.delete(ANN, SLUG)
    harness.service.undelete(ANN, name)

    with pytest.raises(NotFound):
        harness.service.undelete(ANN, name)


def test_what_is_damaged_in_the_trash_stays_there(harness: SkillServiceHarness) -> None:
    harness.service.keep(ANN, make_bundle(files=FILES), action="skills.upload")
    name = harness.service.delete(ANN, SLUG).trash_name
    harness.damage("scripts/a.py")

    with pytest.raises(DamagedRecord):
        harness.service.undelete(ANN, name)

    assert (harness.row().status, harness.row().trash_name) == (SkillStatus.DELETED, name)
    with harness.units.write() as unit:
        assert unit.skill_bundles.settle(unit.skills.places()) == Settled()
