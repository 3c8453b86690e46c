"""Patching a skill: exact text, companions copied, old versions as they were."""

import itertools
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.skill_factories import make_bundle
from tests.support.skill_service_harness import (
    ANN,
    BOB,
    OK_MD,
    ROOT,
    SLUG,
    VERA,
    SkillServiceHarness,
    run_of,
    skill_md,
)
from tests.support.skill_texts import companions
from understudy.core.errors import (
    Conflict,
    DamagedRecord,
    Invalid,
    LimitExceeded,
    NotFound,
    UnderstudyError,
    Unsafe,
)
from understudy.guard.rule import Finding
from understudy.guard.scan import scan_bundle
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.limits import MAX_BUNDLE_BYTES, MAX_MANIFEST_BYTES
from understudy.skills.content_guard import ContentGuard
from understudy.skills.model import SkillStatus, Visibility
from understudy.skills.revisions import MAX_ATTEMPTS, SkillFieldChanges

pytestmark = pytest.mark.one_database

SCRIPT = {"scripts/a.py": b"print('hi')\n"}


@pytest.fixture
def harness(database: UnitsOnDatabase) -> SkillServiceHarness:
    return SkillServiceHarness(database.units)


def code_of(problem: pytest.ExceptionInfo[UnderstudyError]) -> str:
    return problem.value.code


def test_a_patch_makes_a_version_with_the_change_and_the_same_companions(
    harness: SkillServiceHarness,
) -> None:
    old = Bundle({"SKILL.md": OK_MD.encode(), **SCRIPT})
    harness.service.keep(ANN, old, action="skills.upload")
    harness.clock.advance()

    kept = harness.service.patch(
        run_of(ANN, run_id="run_9"), SLUG, find="Write them", replace="Put it"
    )

    assert (kept.skill.version, kept.replaced, kept.matches) == (2, 1, 1)
    assert kept.skill == harness.row()
    assert kept.version.run_id == "run_9"
    assert harness.bundle().manifest_text == OK_MD.replace("Write them", "Put it")
    assert companions(harness.bundle()) == SCRIPT
    assert harness.bundle(number=1) == old
    entry = harness.audit()[0]
    assert (entry.action, entry.version, entry.reason) == ("skills.patch", 2, f"{SLUG} in run_9")
    assert harness.heard.changes[-1] == (SLUG, "patch")


def test_a_text_that_is_not_there_changes_nothing(harness: SkillServiceHarness) -> None:
    harness.service.create(ANN, OK_MD)
    before = harness.state()

    with pytest.raises(Conflict) as problem:
        harness.service.patch(ANN, SLUG, find="Not there", replace="x")

    assert code_of(problem) == "skill_text_not_found"
    assert harness.state() == before


@pytest.mark.every_database
def test_a_patch_that_changes_nothing_makes_no_version(harness: SkillServiceHarness) -> None:
    harness.service.create(ANN, OK_MD)
    before = harness.state()

    kept = harness.service.patch(ANN, SLUG, find="Collect", replace="Collect")

    assert (kept.unchanged, kept.version.number, kept.matches) == (True, 1, 1)
    assert harness.state() == before
    assert len(harness.audit()) == 1


def test_of_several_the_first_is_replaced_and_the_count_told(harness: SkillServiceHarness) -> None:
    harness.service.create(ANN, skill_md(body="one one one\n"))

    kept = harness.service.patch(ANN, SLUG, find="one", replace="two")

    assert (kept.replaced, kept.matches) == (1, 3)
    assert harness.bundle().manifest_text.endswith("two one one\n")


def test_all_of_them_are_replaced_when_asked_for(harness: SkillServiceHarness) -> None:
    harness.service.create(ANN, skill_md(body="one one one\n"))

    kept = harness.service.patch(ANN, SLUG, find="one", replace="", replace_all=True)

    assert (kept.replaced, kept.matches) == (3, 3)
    assert harness.bundle().manifest_text.endswith("---\n  \n")


def test_a_strict_patch_refuses_to_choose(harness: SkillServiceHarness) -> None:
    harness.service.create(ANN, skill_md(body="one one one\n"))

    with pytest.raises(Conflict) as problem:
        harness.service.patch(ANN, SLUG, find="one", replace="two", strict=True)

    assert (code_of(problem), problem.value.params) == ("skill_text_ambiguous", {"matches": 3})
    assert harness.row().version == 1


def test_a_patch_says_where(harness: SkillServiceHarness) -> None:
    harness.service.create(ANN, OK_MD)

    with pytest.raises(Invalid) as problem:
        harness.service.patch(ANN, SLUG, find="", replace="x")
    assert code_of(problem) == "skill_find_missing"


def test_half_a_character_is_no_replacement(harness: SkillServiceHarness) -> None:
    harness.service.create(ANN, OK_MD)

    with pytest.raises(Invalid) as problem:
        harness.service.patch(ANN, SLUG, find="Collect", replace="\udc00")
    assert (code_of(problem), problem.value.errors[0].pointer) == ("skill_not_text", "/replace")


def test_a_result_that_is_too_long_is_refused(harness: SkillServiceHarness) -> None:
    harness.service.create(ANN, skill_md(body="here\n"))
    room = MAX_MANIFEST_BYTES - harness.row().size + len("here")

    with pytest.raises(LimitExceeded) as problem:
        harness.service.patch(ANN, SLUG, find="here", replace="x" * (room + 1))
    assert code_of(problem) == "skill_too_large"
    assert harness.service.patch(ANN, SLUG, find="here", replace="x" * room).skill.version == 2


def test_a_thousand_long_replacements_are_refused_before_they_are_made(
    harness: SkillServiceHarness,
) -> None:
    harness.service.create(ANN, skill_md(body="." * 90_000 + "\n"))

    with pytest.raises(LimitExceeded):
        harness.service.patch(ANN, SLUG, find=".", replace="x" * 90_000, replace_all=True)


def test_what_makes_a_skill_another_or_none_is_refused(harness: SkillServiceHarness) -> None:
    harness.service.create(ANN, OK_MD)

    for find, replace, code in (
        ("name: Weekly report\n", "", "skill_name_missing"),
        ("name:", "slug: other\nname:", "skill_slug_changed"),
        ("name: Weekly report", "name: *x", "invalid_front_matter"),
    ):
        with pytest.raises(Invalid) as problem:
            harness.service.patch(ANN, SLUG, find=find, replace=replace)
        assert code_of(problem) == code
    assert harness.row().version == 1


def test_a_skill_may_name_its_own_slug_and_keeps_the_one_it_was_created_under(
    harness: SkillServiceHarness,
) -> None:
    harness.service.create(ANN, skill_md(slug="written"), slug=SLUG)

    patched = harness.service.patch(ANN, SLUG, find="Collect", replace="Count")
    named = harness.service.patch(ANN, SLUG, find="slug: written", replace=f"slug: {SLUG}")

    assert (patched.skill.slug, named.skill.slug) == (SLUG, SLUG)


def test_two_harmless_halves_that_a_patch_joins_are_refused(harness: SkillServiceHarness) -> None:
    body = "```sh\nrm -" + "XX /\n```\n"
    harness.service.create(ANN, skill_md(body=body))
    before = harness.state()

    with pytest.raises(Unsafe) as problem:
        harness.service.patch(ANN, SLUG, find="XX", replace="rf")

    assert "line 6: " in problem.value.detail
    assert harness.state() == before


def test_what_skill_md_says_of_itself_shows_in_the_row(harness: SkillServiceHarness) -> None:
    harness.service.create(ANN, skill_md(tags="weekly, report"))

    harness.service.patch(ANN, SLUG, find="Writes the report", replace="Writes poems")
    harness.service.patch(ANN, SLUG, find="name: Weekly report", replace="name: Weekly poem")
    skill = harness.service.patch(ANN, SLUG, find="weekly, report", replace="poem").skill

    assert (skill.name, skill.description, skill.tags) == ("Weekly poem", "Writes poems", ("poem",))
    assert skill.frontmatter["description"] == "Writes poems"
    assert skill.slug == SLUG


def test_what_somebody_set_beside_the_file_outlives_a_patch_of_something_else(
    harness: SkillServiceHarness,
) -> None:
    harness.service.create(ANN, OK_MD)
    harness.service.update(
        ANN, SLUG, SkillFieldChanges(name="Ours", description="For us", tags=("us",))
    )

    kept = harness.service.patch(ANN, SLUG, find="Collect", replace="Count")
    renamed = harness.service.patch(ANN, SLUG, find="name: Ours", replace="name: Theirs")

    assert (kept.skill.name, kept.skill.description, kept.skill.tags) == ("Ours", "For us", ("us",))
    assert (renamed.skill.name, renamed.skill.description) == ("Theirs", "For us")


def test_a_patch_of_another_version_than_the_expected_one_is_refused(
    harness: SkillServiceHarness,
) -> None:
    harness.service.create(ANN, OK_MD)
    harness.service.patch(ANN, SLUG, find="Collect", replace="Count", expected_version=1)

    with pytest.raises(Conflict) as problem:
        harness.service.patch(ANN, SLUG, find="Count", replace="Collect", expected_version=1)
    assert (code_of(problem), problem.value.params) == ("skill_changed", {"version": 2})


def test_whoever_is_overtaken_patches_what_is_there_then(database: UnitsOnDatabase) -> None:
    """Time passes between reading and writing while the guard looks."""
    other = SkillServiceHarness(database.units)
    other.service.create(ANN, skill_md(body="one\ntwo\n"))
    overtaking = ["first"]

    def slow(files: Mapping[str, bytes]) -> tuple[Finding, ...]:
        if overtaking:
            other.service.patch(ANN, SLUG, find="one", replace=overtaking.pop())
        return scan_bundle(files)

    harness = SkillServiceHarness(database.units, guard=ContentGuard(scan=slow))
    kept = harness.service.patch(ANN, SLUG, find="two", replace="second")

    assert kept.skill.version == 3
    assert harness.bundle().manifest_text.endswith("first\nsecond\n")


def test_whoever_is_overtaken_again_and_again_gets_through_in_the_end(
    database: UnitsOnDatabase,
) -> None:
    """Once they hold the slug, nobody can overtake them."""
    other = SkillServiceHarness(database.units)
    other.service.create(ANN, skill_md(body="0\ntwo\n"))
    count = itertools.count()

    def slow(files: Mapping[str, bytes]) -> tuple[Finding, ...]:
        at = next(count)
        if at < MAX_ATTEMPTS:
            other.service.patch(ANN, SLUG, find=f"\n{at}\n", replace=f"\n{at + 1}\n")
        return ()

    harness = SkillServiceHarness(database.units, guard=ContentGuard(scan=slow))
    kept = harness.service.patch(ANN, SLUG, find="two", replace="second")

    assert kept.replaced == 1
    assert kept.skill.version == MAX_ATTEMPTS + 2
    assert harness.bundle().manifest_text.endswith(f"{MAX_ATTEMPTS}\nsecond\n")


def test_patches_of_one_skill_in_one_process_are_scanned_one_after_another(
    database: UnitsOnDatabase,
) -> None:
    scans: list[int] = []

    def scan(files: Mapping[str, bytes]) -> tuple[Finding, ...]:
        scans.append(len(files))
        return ()

    harness = SkillServiceHarness(database.units, guard=ContentGuard(scan=scan))
    service = harness.service
    service.create(ANN, skill_md(body="n=\n"))

    with ThreadPoolExecutor(8) as pool:
        at = range(16)
        list(pool.map(lambda k: service.patch(ANN, SLUG, find="n=", replace=f"m{k} n="), at))

    assert harness.row().version == 17
    assert len(scans) == 17


@pytest.mark.every_database
def test_a_grant_that_is_pinned_stays_where_it_is(harness: SkillServiceHarness) -> None:
    harness.service.create(ANN, OK_MD)
    harness.service.grant_agent(ANN, SLUG, "default", version=1)
    harness.service.patch(ANN, SLUG, find="Collect", replace="Count")

    assert harness.pins() == {"default": 1}


def test_patching_opens_a_skill_to_nobody(harness: SkillServiceHarness) -> None:
    harness.service.create(ANN, OK_MD)

    kept = harness.service.patch(run_of(ROOT), SLUG, find="Collect", replace="Count")

    assert (kept.granted, kept.skill.visibility) == (False, Visibility.PRIVATE)
    assert (kept.skill.owner_id, kept.version.actor) == ("ann", "root")


def test_an_archived_skill_can_be_patched_and_is_well_when_nothing_is_missing(
    harness: SkillServiceHarness,
) -> None:
    harness.machine.lacks = {"pandas"}
    harness.service.create(ANN, skill_md(deps="[pip:pandas]"))
    harness.service.toggle(ANN, SLUG, enabled=True)
    assert harness.row().status is SkillStatus.ARCHIVED

    still = harness.service.patch(ANN, SLUG, find="Collect", replace="Count")
    well = harness.service.patch(ANN, SLUG, find="deps: [pip:pandas]\n", replace="")

    assert (still.skill.status, still.missing) == (SkillStatus.ARCHIVED, ("pip:pandas",))
    assert (well.skill.status, well.missing) == (SkillStatus.ACTIVE, ())


@pytest.mark.every_database
def test_only_the_owner_or_an_admin_patches(harness: SkillServiceHarness) -> None:
    kept = harness.service.create(ANN, OK_MD)
    before = harness.state()

    for author, ref, code in (
        (BOB, SLUG, "skill_not_found"),
        (run_of(BOB), SLUG, "skill_not_found"),
        (BOB, kept.skill.skill_id, "skill_not_yours"),
        (VERA, kept.skill.skill_id, "forbidden"),
    ):
        with pytest.raises(UnderstudyError) as problem:
            harness.service.patch(author, ref, find="Collect", replace="Count")
        assert code_of(problem) == code
    assert harness.state() == before
    assert (
        harness.service.patch(run_of(ROOT), SLUG, find="Collect", replace="Count").skill.version
        == 2
    )


def test_all_the_bytes_that_a_skill_may_have_are_copied(harness: SkillServiceHarness) -> None:
    large = {"data/all.bin": bytes(MAX_BUNDLE_BYTES)}
    harness.service.keep(ANN, make_bundle(files=large), action="skills.upload")

    kept = harness.service.patch(ANN, SLUG, find="Collect", replace="Count")

    assert kept.skill.size == len(harness.bundle()["SKILL.md"]) + MAX_BUNDLE_BYTES
    with pytest.raises(LimitExceeded):
        make_bundle(files={"data/all.bin": bytes(MAX_BUNDLE_BYTES + 1)})


@pytest.mark.every_database
def test_a_companion_that_cannot_be_read_fails_the_patch(harness: SkillServiceHarness) -> None:
    harness.service.keep(ANN, make_bundle(files=SCRIPT), action="skills.upload")
    harness.damage("scripts/a.py")

    with pytest.raises(DamagedRecord) as problem:
        harness.service.patch(ANN, SLUG, find="Collect", replace="Count")

    assert code_of(problem) == "skill_bundle_damaged"
    assert harness.row().version == 1
    with harness.units.read() as unit:
        assert unit.skill_bundles.numbers(SLUG) == {1}


def test_a_link_that_somebody_planted_is_neither_followed_nor_copied(
    harness: SkillServiceHarness, tmp_path: Path
) -> None:
    harness.service.keep(ANN, make_bundle(files=SCRIPT), action="skills.upload")
    secret = tmp_path / "secret"
    secret.write_text("of the machine")
    with harness.units.read() as unit:
        version = unit.skill_bundles.folder(SLUG, 1)
    assert version is not None
    (version / "planted.md").symlink_to(secret)

    harness.service.patch(ANN, SLUG, find="Collect", replace="Count")

    assert set(harness.bundle()) == set(harness.bundle(number=1)) == {"SKILL.md", "scripts/a.py"}
    with harness.units.read() as unit:
        assert unit.skill_bundles.read(SLUG, 1, "planted.md") is None
        assert unit.skill_bundles.read(SLUG, 2, "planted.md") is None


@pytest.mark.every_database
def test_old_versions_stay_as_they_were_through_everything(harness: SkillServiceHarness) -> None:
    harness.service.keep(ANN, make_bundle(files=SCRIPT), action="skills.upload")
    digest, version = harness.bundle(number=1).digest, harness.versions()[-1]

    harness.service.patch(ANN, SLUG, find="Collect", replace="Count")
    harness.service.toggle(ANN, SLUG, enabled=False)
    harness.service.toggle(ANN, SLUG, enabled=True)
    harness.service.grant_user(ANN, SLUG, "bob")
    harness.service.update(ANN, SLUG, SkillFieldChanges(description="Other words"))
    harness.service.restore(ANN, SLUG, 1)

    assert harness.bundle(number=1).digest == digest
    assert harness.versions()[-1] == version


def test_restoring_makes_an_old_version_the_newest(harness: SkillServiceHarness) -> None:
    harness.service.keep(ANN, make_bundle(files=SCRIPT), action="skills.upload")
    harness.service.create(ANN, OK_MD)

    kept = harness.service.restore(ANN, SLUG, 1)

    assert (kept.skill.version, kept.version.restored_from) == (3, 1)
    assert harness.bundle() == make_bundle(files=SCRIPT)
    assert harness.audit()[0].action == "skills.restore"
    assert harness.service.restore(ANN, SLUG, 3).unchanged
    with pytest.raises(NotFound) as problem:
        harness.service.restore(ANN, SLUG, 9)
    assert code_of(problem) == "skill_version_not_found"
