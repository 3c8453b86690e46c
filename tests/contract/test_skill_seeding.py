"""The skills that come with the product, brought into the store at every start."""

import threading
from collections.abc import Callable

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.skill_service_harness import ANN, HARMFUL, ROOT, SkillServiceHarness, skill_md
from understudy.core.errors import UnderstudyError
from understudy.skills.access import Author
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.model import SkillOrigin, SkillStatus, Visibility
from understudy.skills.revisions import SkillFieldChanges
from understudy.skills.service import SkillService
from understudy.skills.shipped_skills import OWNER, SeedReport, seed, shipped_skills

SLUG = "house-style"


@pytest.fixture
def harness(database: UnitsOnDatabase) -> SkillServiceHarness:
    return SkillServiceHarness(database.units)


def shipped(body: str = "Write short sentences.\n") -> dict[str, Bundle]:
    text = skill_md(SLUG, body=body)
    return {SLUG: Bundle({"SKILL.md": text.encode(), "references/words.md": b"Plain words.\n"})}


def seeded(harness: SkillServiceHarness, bundles: dict[str, Bundle]) -> SeedReport:
    return seed(harness.units, harness.clock, harness.guard, bundles)


def test_what_is_shipped_is_there_after_a_start_and_stays_as_it_is(
    harness: SkillServiceHarness,
) -> None:
    report = seed(harness.units, harness.clock, harness.guard)

    assert {"skill-creator", "review-assistant"} <= set(report.added)
    for slug, bundle in shipped_skills().items():
        row = harness.row(slug)
        assert (row.origin, row.owner_id, row.version) == (SkillOrigin.SYSTEM, OWNER, 1)
        assert (row.visibility, row.status) == (Visibility.PUBLIC, SkillStatus.ACTIVE)
        assert harness.bundle(slug) == bundle
    audit = harness.audit()
    again = seed(harness.units, harness.clock, harness.guard)
    assert again == SeedReport(kept=report.added)
    assert harness.audit() == audit
    assert {entry.action for entry in audit} == {"skills.seed"}


def test_a_new_text_is_a_new_version_and_the_switch_of_an_admin_stays(
    harness: SkillServiceHarness,
) -> None:
    seeded(harness, shipped())
    before = harness.service.toggle(ROOT, SLUG, enabled=False)
    harness.clock.advance(1_000)

    report = seeded(harness, shipped("Write short words.\n"))

    assert report == SeedReport(upgraded=(SLUG,))
    row = harness.row(SLUG)
    assert (row.skill_id, row.version, row.enabled) == (before.skill_id, 2, False)
    assert (row.created_at_ms, row.updated_at_ms) == (before.created_at_ms, harness.clock.now_ms())
    assert [version.number for version in harness.versions(SLUG)] == [2, 1]
    assert "short words" in harness.bundle(SLUG).manifest_text
    assert seeded(harness, shipped("Write short words.\n")) == SeedReport(kept=(SLUG,))


def test_a_skill_of_somebody_with_that_slug_is_left_alone_and_told(
    harness: SkillServiceHarness,
) -> None:
    harness.service.create(ANN, skill_md("House style"))
    before = harness.state(SLUG)

    report = seeded(harness, shipped())

    ((slug, why),) = report.refused
    assert (slug, report.added, report.upgraded) == (SLUG, (), ())
    assert "ann" in why
    assert harness.state(SLUG) == before


def test_a_slug_that_was_deleted_is_taken_and_its_numbers_go_on(
    harness: SkillServiceHarness,
) -> None:
    harness.service.create(ANN, skill_md("House style"))
    harness.service.delete(ANN, SLUG)

    assert seeded(harness, shipped()).added == (SLUG,)

    row = harness.row(SLUG)
    assert (row.origin, row.owner_id, row.version) == (SkillOrigin.SYSTEM, OWNER, 2)
    assert (row.status, row.trash_name) == (SkillStatus.ACTIVE, None)
    assert [version.number for version in harness.versions(SLUG)] == [2]


def test_one_whose_files_were_lost_is_put_anew(harness: SkillServiceHarness) -> None:
    seeded(harness, shipped())
    harness.damage("references/words.md", SLUG)

    assert seeded(harness, shipped()) == SeedReport(upgraded=(SLUG,))
    assert harness.bundle(SLUG) == shipped()[SLUG]


def test_one_that_is_unsafe_or_unreadable_is_told_and_the_others_come(
    harness: SkillServiceHarness,
) -> None:
    unsafe = {"unsafe-one": Bundle({"SKILL.md": skill_md("x", body=HARMFUL).encode()})}
    nameless = {"nameless-one": Bundle({"SKILL.md": b"Just words.\n"})}
    odd = {"Odd Slug": shipped()[SLUG]}

    report = seeded(harness, {**unsafe, **nameless, **odd, **shipped()})

    assert report.added == (SLUG,)
    assert [slug for slug, _ in report.refused] == ["unsafe-one", "nameless-one", "Odd Slug"]
    assert harness.nothing_of("unsafe-one")
    assert harness.nothing_of("nameless-one")


def test_daemons_that_start_together_bring_one_version(harness: SkillServiceHarness) -> None:
    reports: list[SeedReport] = []
    start = threading.Barrier(4)

    def begin() -> None:
        start.wait()
        reports.append(seeded(harness, shipped()))

    threads = [threading.Thread(target=begin) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(report.added for report in reports) == [(), (), (), (SLUG,)]
    assert all(report.refused == () for report in reports)
    assert [version.number for version in harness.versions(SLUG)] == [1]


CHANGES: dict[str, Callable[[SkillService, Author], object]] = {
    "create": lambda service, author: service.create(author, skill_md("House style")),
    "patch": lambda service, author: service.patch(author, SLUG, find="short", replace="long"),
    "publish": lambda service, author: service.keep(
        author, shipped("Else.\n")[SLUG], action="skills.publish"
    ),
    "update": lambda service, author: service.update(author, SLUG, SkillFieldChanges(name="Other")),
    "hide": lambda service, author: service.update(
        author, SLUG, SkillFieldChanges(visibility=Visibility.PRIVATE)
    ),
    "delete": lambda service, author: service.delete(author, SLUG),
    "restore": lambda service, author: service.restore(author, SLUG, 1),
    "grant_agent": lambda service, author: service.grant_agent(author, SLUG, "default"),
    "grant_user": lambda service, author: service.grant_user(author, SLUG, "bob"),
    "revoke_agent": lambda service, author: service.revoke_agent(author, SLUG, "default"),
    "revoke_user": lambda service, author: service.revoke_user(author, SLUG, "bob"),
}


def test_nobody_changes_a_shipped_skill_not_even_an_admin(harness: SkillServiceHarness) -> None:
    seeded(harness, shipped())
    before = harness.state(SLUG)
    codes = {}

    for name, change in CHANGES.items():
        with pytest.raises(UnderstudyError) as refused:
            change(harness.service, ROOT)
        codes[name] = refused.value.code

    taken = {"create", "publish"}
    assert codes == {
        name: "skill_slug_is_system" if name in taken else "skill_is_system" for name in CHANGES
    }
    assert harness.state(SLUG) == before
