"""Creating skills, and keeping whole bundles as new ones or as the next versions of one's own."""

from pathlib import Path

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.skill_factories import make_bundle
from tests.support.skill_service_harness import (
    ANN,
    BOB,
    HARMFUL,
    OK_MD,
    ROOT,
    SLUG,
    VERA,
    SkillServiceHarness,
    person,
    run_of,
    skill_md,
)
from understudy.core.errors import (
    Invalid,
    LimitExceeded,
    NotFound,
    Rejected,
    UnderstudyError,
    Unsafe,
)
from understudy.core.principal import Principal, Role
from understudy.skills.access import Author
from understudy.skills.bundles.limits import MAX_MANIFEST_BYTES
from understudy.skills.content_guard import Acknowledged, ContentGuard
from understudy.skills.model import SkillOrigin, SkillStatus, Visibility
from understudy.skills.revisions import SkillFieldChanges
from understudy.skills.versions import bundle_of


@pytest.fixture
def harness(database: UnitsOnDatabase) -> SkillServiceHarness:
    return SkillServiceHarness(database.units).hand_over()


def code_of(problem: pytest.ExceptionInfo[UnderstudyError]) -> str:
    return problem.value.code


def padded(size: int) -> str:
    start = skill_md(body="")
    return start + "x" * (size - len(start))


def test_a_run_that_creates_a_skill_owns_it_for_its_user_and_may_use_it(
    harness: SkillServiceHarness,
) -> None:
    kept = harness.service.create(run_of(ANN), OK_MD)

    assert (kept.skill.slug, kept.skill.version, kept.granted) == (SLUG, 1, True)
    assert kept.skill == harness.row()
    assert (kept.skill.owner_id, kept.skill.visibility) == ("ann", Visibility.INTERNAL)
    assert kept.skill.origin is SkillOrigin.MANAGED
    assert kept.skill.description == "Writes the weekly report from the tracker"
    assert harness.grants() == (["default"], [])
    assert dict(harness.bundle()) == {"SKILL.md": OK_MD.encode()}
    with harness.units.read() as unit:
        folder = unit.skill_bundles.folder(SLUG, 1)
    assert folder is not None
    assert (folder / "SKILL.md").read_bytes() == OK_MD.encode()


def test_the_files_of_a_daemon_that_is_alone_are_where_people_look_for_them(
    harness: SkillServiceHarness, database: UnitsOnDatabase, tmp_path: Path
) -> None:
    harness.service.create(ANN, OK_MD)

    place = tmp_path / "skills-store" / SLUG / "1" / "SKILL.md"
    is_alone = database.engine.dialect.name == "sqlite"
    assert place.exists() == is_alone


def test_what_a_person_creates_is_private(harness: SkillServiceHarness) -> None:
    kept = harness.service.create(ANN, OK_MD)

    assert (kept.granted, kept.skill.visibility) == (False, Visibility.PRIVATE)
    assert harness.grants() == ([], [])


def test_a_creation_is_in_the_audit_and_told_to_listeners(harness: SkillServiceHarness) -> None:
    kept = harness.service.create(run_of(ANN, run_id="run_7"), OK_MD)

    (entry,) = harness.audit()
    assert (entry.action, entry.actor, entry.version) == ("skills.create", "ann", 1)
    assert entry.resource_id == kept.skill.skill_id
    assert entry.reason == f"{SLUG} in run_7"
    assert harness.heard.changes == [(SLUG, "create")]


def test_a_skill_has_at_most_102400_bytes(harness: SkillServiceHarness) -> None:
    harness.service.create(ANN, padded(MAX_MANIFEST_BYTES))

    with pytest.raises(LimitExceeded) as problem:
        harness.service.create(ANN, padded(MAX_MANIFEST_BYTES + 1), slug="larger")
    assert code_of(problem) == "skill_too_large"
    assert "102401" in problem.value.detail
    assert harness.nothing_of("larger")


def test_bytes_count_and_not_characters(harness: SkillServiceHarness) -> None:
    with pytest.raises(LimitExceeded):
        harness.service.create(ANN, skill_md(body="字" * 34_134))


# Each is wrong in what it is named for and in everything that comes later.
ORDER = {
    "skill_blank": "  \n",
    "skill_too_large": HARMFUL + "x" * MAX_MANIFEST_BYTES,
    "skill_unsafe": f"---\nslug: A_b\n---\n```sh\n{HARMFUL}\n```\n",
    "skill_name_missing": "---\nslug: A_b\n---\nNo name.\n",
    "invalid_slug": skill_md(slug="A_b"),
}


def test_what_is_wrong_is_told_in_one_order_and_nothing_is_written(
    harness: SkillServiceHarness,
) -> None:
    for code, content in ORDER.items():
        with pytest.raises(UnderstudyError) as problem:
            harness.service.create(ANN, content)
        assert code_of(problem) == code

    with harness.units.read() as unit:
        assert not unit.skills.places()
    assert not harness.audit()
    assert not harness.heard.changes


def test_half_a_character_is_no_text(harness: SkillServiceHarness) -> None:
    with pytest.raises(Invalid) as problem:
        harness.service.create(ANN, skill_md(body="half \ud83d"))
    assert code_of(problem) == "skill_not_text"


def test_every_unsafe_line_is_named_and_not_even_the_folder_is_there(
    harness: SkillServiceHarness,
) -> None:
    content = (
        f"---\nname: Cleaner\n---\nFirst this:\n\n```sh\n{HARMFUL}\necho done\n{HARMFUL}\n```\n"
    )

    with pytest.raises(Unsafe) as problem:
        harness.service.create(run_of(ANN), content)

    assert code_of(problem) == "skill_unsafe"
    assert "line 7: " in problem.value.detail
    assert "line 9: " in problem.value.detail
    assert {error.pointer for error in problem.value.errors} == {"/files/SKILL.md"}
    assert harness.nothing_of("cleaner")


def test_companions_are_scanned_as_well(harness: SkillServiceHarness) -> None:
    bundle = make_bundle(files={"scripts/clean.sh": f"#!/bin/sh\n{HARMFUL}\n".encode()})

    with pytest.raises(Unsafe) as problem:
        harness.service.keep(ANN, bundle, action="skills.upload")

    assert problem.value.errors[0].pointer == "/files/scripts~1clean.sh"
    assert "scripts/clean.sh line 2: " in problem.value.detail
    assert harness.nothing_of()


def test_the_slug_is_the_one_asked_for_else_the_written_one_else_the_names(
    harness: SkillServiceHarness,
) -> None:
    service = harness.service

    assert service.create(ANN, skill_md(slug="written"), slug="given").skill.slug == "given"
    assert service.create(ANN, skill_md(slug="written")).skill.slug == "written"
    assert service.create(ANN, skill_md("Named So")).skill.slug == "named-so"


def test_a_slug_that_is_no_name_of_a_folder_is_refused(harness: SkillServiceHarness) -> None:
    for slug in ("My-Skill", "a", "-a", "a-", "a_b", "../x", ".trash", "x/y", "a\0b"):
        with pytest.raises(Invalid) as problem:
            harness.service.create(ANN, OK_MD, slug=slug)
        assert code_of(problem) == "invalid_slug"
    with harness.units.read() as unit:
        assert not unit.skills.places()


def test_two_names_that_latin_letters_cannot_tell_apart_are_two_skills(
    harness: SkillServiceHarness,
) -> None:
    one = harness.service.create(ANN, skill_md("週報"))
    other = harness.service.create(ANN, skill_md("月報"))

    assert one.skill.slug != other.skill.slug


def test_creating_ones_own_slug_again_makes_the_next_version(harness: SkillServiceHarness) -> None:
    harness.service.create(run_of(ANN), OK_MD)
    again = harness.service.create(ANN, OK_MD + "3. Send it.\n")

    assert (again.skill.version, again.skill.visibility) == (2, Visibility.INTERNAL)
    assert [version.number for version in harness.versions()] == [2, 1]
    assert dict(harness.bundle(number=1)) == {"SKILL.md": OK_MD.encode()}


def test_creating_the_same_again_changes_nothing(harness: SkillServiceHarness) -> None:
    first = harness.service.create(ANN, OK_MD)
    again = harness.service.create(ANN, OK_MD)

    assert again.unchanged
    assert again.skill == first.skill == harness.row()
    assert again.version == first.version
    assert len(harness.audit()) == 1


@pytest.mark.parametrize(("content", "version"), [(OK_MD, 1), (OK_MD + "More.\n", 2)])
def test_a_run_that_creates_on_its_users_own_slug_is_granted_the_skill(
    harness: SkillServiceHarness, content: str, version: int
) -> None:
    harness.service.create(ANN, OK_MD)
    again = harness.service.create(run_of(ANN), content)

    assert (again.granted, again.unchanged) == (True, version == 1)
    assert (again.skill.version, again.skill.visibility) == (version, Visibility.INTERNAL)
    assert again.skill == harness.row()
    assert harness.grants() == (["default"], [])
    granted = next(entry for entry in harness.audit() if entry.action == "skills.grant")
    assert granted.reason == f"{SLUG} to agent default in run_1"


def test_a_run_that_creates_a_public_skill_again_is_granted_nothing(
    harness: SkillServiceHarness,
) -> None:
    harness.service.create(ANN, OK_MD)
    harness.service.update(ROOT, SLUG, SkillFieldChanges(visibility=Visibility.PUBLIC))
    again = harness.service.create(run_of(ANN), OK_MD)

    assert (again.unchanged, again.skill.visibility) == (True, Visibility.PUBLIC)
    assert harness.grants() == ([], [])


def test_a_run_that_has_the_skill_and_creates_it_again_changes_nothing(
    harness: SkillServiceHarness,
) -> None:
    harness.service.create(run_of(ANN), OK_MD)
    before, written = harness.state(), harness.audit()
    again = harness.service.create(run_of(ANN), OK_MD)

    assert (again.granted, again.unchanged) == (True, True)
    assert (harness.state(), harness.audit()) == (before, written)


def test_a_person_who_creates_their_own_slug_again_grants_it_to_nobody(
    harness: SkillServiceHarness,
) -> None:
    harness.service.create(ANN, OK_MD)
    again = harness.service.create(ANN, OK_MD + "More.\n")

    assert (again.granted, again.skill.visibility) == (False, Visibility.PRIVATE)
    assert harness.grants() == ([], [])


def test_a_run_whose_agent_was_deleted_is_granted_nothing_of_what_is_there(
    harness: SkillServiceHarness,
) -> None:
    harness.service.create(ANN, OK_MD)
    again = harness.service.create(run_of(ANN, agent_id="gone"), OK_MD)

    assert (again.granted, again.skill.visibility) == (False, Visibility.PRIVATE)
    assert harness.grants() == ([], [])


@pytest.mark.parametrize("content", [OK_MD, OK_MD + "More.\n"])
def test_a_grant_that_is_pinned_stays_so_when_its_agent_creates_the_skill_again(
    harness: SkillServiceHarness, content: str
) -> None:
    harness.service.create(run_of(ANN), OK_MD)
    harness.service.grant_agent(ANN, SLUG, "default", version=1)
    harness.service.create(run_of(ANN), content)

    assert harness.pins() == {"default": 1}


def test_nobody_creates_over_the_slug_of_another(harness: SkillServiceHarness) -> None:
    harness.service.create(run_of(ANN), OK_MD)
    before = harness.state()

    # Its agent has it, so a run of Bob's may know of it, and Bob himself may not.
    told = {BOB: "invalid_slug", run_of(BOB): "skill_slug_taken", ROOT: "skill_slug_taken"}
    for action in ("skills.create", "skills.upload", "skills.publish"):
        for author, code in told.items():
            with pytest.raises(UnderstudyError) as problem:
                harness.service.keep(author, make_bundle("mine now"), action=action, slug=SLUG)
            assert code_of(problem) == code

    assert harness.state() == before


def test_what_is_missing_is_told_and_the_skill_can_be_used_all_the_same(
    harness: SkillServiceHarness,
) -> None:
    harness.machine.lacks = {"pandas"}
    bundle = make_bundle(files={"scripts/run.py": b"import pandas\n"})

    kept = harness.service.keep(ANN, bundle, action="skills.upload")

    assert kept.missing == ("pip:pandas",)
    assert (kept.skill.missing_deps, kept.skill.status) == (("pip:pandas",), SkillStatus.ACTIVE)


def test_a_viewer_creates_nothing(harness: SkillServiceHarness) -> None:
    with pytest.raises(Rejected) as problem:
        harness.service.create(VERA, OK_MD)
    assert code_of(problem) == "forbidden"


def test_nobody_is_no_owner(harness: SkillServiceHarness) -> None:
    nobody = Author(principal=Principal(user_id="", role=Role.OPERATOR))

    with pytest.raises(Invalid) as problem:
        harness.service.create(nobody, OK_MD)
    assert code_of(problem) == "skill_user_missing"


def test_runtime_settings_that_cannot_be_read_are_refused(harness: SkillServiceHarness) -> None:
    bundle = make_bundle(files={"agents/understudy.yaml": b"context: sideways\n"})

    with pytest.raises(Invalid) as problem:
        harness.service.keep(ANN, bundle, action="skills.upload")
    assert code_of(problem) == "invalid_runtime_settings"


def test_a_version_that_was_damaged_can_be_put_anew(harness: SkillServiceHarness) -> None:
    kept = harness.service.create(ANN, OK_MD)
    harness.damage("SKILL.md")

    again = harness.service.create(ANN, OK_MD)

    assert (again.unchanged, again.skill.version) == (False, 2)
    assert again.skill.digest == kept.skill.digest
    assert harness.bundle().manifest_text == OK_MD


def unsafe_shop(database: UnitsOnDatabase, *, allow: bool) -> SkillServiceHarness:
    return SkillServiceHarness(database.units, guard=ContentGuard(allow_acknowledged=allow))


UNSAFE_MD = skill_md(body=f"```sh\n{HARMFUL}\n```\n")


def named(
    harness: SkillServiceHarness, reason: str = "an example in a lesson"
) -> list[Acknowledged]:
    """Every finding, acknowledged."""
    return [
        Acknowledged(rule_id=one.rule_id, path=one.path, line=one.line, reason=reason)
        for one in harness.guard.findings(bundle_of(UNSAFE_MD))
    ]


def test_an_admin_takes_what_the_guard_refused_by_naming_each_finding(
    database: UnitsOnDatabase,
) -> None:
    harness = unsafe_shop(database, allow=True)

    kept = harness.service.create(ROOT, UNSAFE_MD, acknowledged=named(harness))

    assert kept.skill.version == 1
    (entry,) = harness.audit()
    for one in named(harness):
        assert f"{one.rule_id} at SKILL.md line {one.line}: an example in a lesson" in str(
            entry.reason
        )


@pytest.mark.parametrize(
    ("allow", "author", "reason", "told"),
    [
        pytest.param(False, ROOT, "why not", "guard.allow_acknowledged", id="not switched on"),
        pytest.param(True, ANN, "why not", "guard.allow_acknowledged", id="not an admin"),
        pytest.param(True, ROOT, " ", "without a reason", id="without a reason"),
        pytest.param(True, ROOT, "x" * 501, "without a reason", id="with a novel"),
    ],
)
def test_what_the_guard_refused_stays_refused(
    database: UnitsOnDatabase, allow: bool, author: Author, reason: str, told: str
) -> None:
    harness = unsafe_shop(database, allow=allow)

    with pytest.raises(Unsafe) as problem:
        harness.service.create(author, UNSAFE_MD, acknowledged=named(harness, reason))
    assert told in problem.value.detail
    assert harness.nothing_of()


def test_naming_only_some_findings_takes_none(database: UnitsOnDatabase) -> None:
    harness = unsafe_shop(database, allow=True)
    other = Acknowledged(rule_id="other", path="SKILL.md", line=1, reason="why not")

    with pytest.raises(Unsafe) as problem:
        harness.service.create(ROOT, UNSAFE_MD, acknowledged=[other])

    told = problem.value.detail.partition(" (not acknowledged: ")[2]
    left, _, idle = told.partition("; acknowledged, but not found: ")
    assert all(f"'SKILL.md' line {one.line} ({one.rule_id!r})" in left for one in named(harness))
    assert idle == "'SKILL.md' line 1 ('other'))"


@pytest.mark.parametrize("content", [OK_MD, UNSAFE_MD], ids=["clean", "answered for"])
def test_who_answers_for_what_was_not_found_is_told(
    database: UnitsOnDatabase, content: str
) -> None:
    harness = unsafe_shop(database, allow=True)
    every = named(harness) if content is UNSAFE_MD else []
    other = Acknowledged(rule_id="other", path="SKILL.md", line=1, reason="why not")

    with pytest.raises(Invalid) as problem:
        harness.service.create(ROOT, content, acknowledged=[*every, other])

    assert problem.value.code == "acknowledgement_unmatched"
    assert "not found: 'SKILL.md' line 1 ('other')" in problem.value.detail
    assert harness.nothing_of()


def test_a_slug_whose_skill_was_deleted_is_free_for_anybody(harness: SkillServiceHarness) -> None:
    first = harness.service.create(run_of(ANN), OK_MD)
    harness.service.grant_user(ANN, SLUG, "cleo")
    harness.service.update(ROOT, SLUG, SkillFieldChanges(visibility=Visibility.PUBLIC))
    harness.service.delete(ANN, SLUG)

    kept = harness.service.create(BOB, OK_MD)

    assert kept.skill.skill_id == first.skill.skill_id
    assert (kept.skill.owner_id, kept.skill.version) == ("bob", 2)
    assert (kept.skill.status, kept.skill.visibility) == (SkillStatus.ACTIVE, Visibility.PRIVATE)
    assert harness.grants() == ([], [])
    with pytest.raises(NotFound):
        harness.service.patch(ANN, SLUG, find="Collect", replace="Count")


def test_whoever_is_called_like_the_product_owns_nothing_of_it(
    harness: SkillServiceHarness,
) -> None:
    harness.service.create(person("system"), OK_MD)

    assert not harness.row().is_system
