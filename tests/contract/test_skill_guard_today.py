"""What comes back, or is pinned, meets the guard as it is today, and not as it was then."""

from collections.abc import Mapping

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.skill_service_harness import ANN, BOB, OK_MD, ROOT, SLUG, SkillServiceHarness
from understudy.core.errors import DamagedRecord, Rejected, Unsafe
from understudy.guard.rule import Category, Finding
from understudy.skills.content_guard import Acknowledged, ContentGuard

NEW_RULE = "P9.new"
TAKEN = Acknowledged(rule_id=NEW_RULE, path="SKILL.md", line=7, reason="we count by hand")


def strict(files: Mapping[str, bytes]) -> tuple[Finding, ...]:
    """A guard that has a rule more: nothing is collected."""
    if b"Collect" not in files["SKILL.md"]:
        return ()
    found = Finding(
        rule_id=NEW_RULE,
        category=Category.DESTRUCTIVE_SHELL,
        path="SKILL.md",
        line=7,
        reason="no collecting",
    )
    return (found,)


@pytest.fixture
def before(database: UnitsOnDatabase) -> SkillServiceHarness:
    """The daemon before an update of the rules, with a skill in two versions."""
    harness = SkillServiceHarness(database.units)
    harness.service.create(ANN, OK_MD)
    return harness


@pytest.fixture
def today(database: UnitsOnDatabase, before: SkillServiceHarness) -> SkillServiceHarness:
    guard = ContentGuard(allow_acknowledged=True, scan=strict)
    return SkillServiceHarness(database.units, clock=before.clock, guard=guard)


def test_a_skill_that_would_not_be_let_in_does_not_come_back(
    before: SkillServiceHarness, today: SkillServiceHarness
) -> None:
    gone = before.service.delete(ANN, SLUG).trash_name

    with pytest.raises(Unsafe, match="no collecting"):
        today.service.undelete(ANN, gone)
    with pytest.raises(Unsafe):
        today.service.undelete(ANN, gone, acknowledged=[TAKEN])
    assert today.service.undelete(ROOT, gone, acknowledged=[TAKEN]).slug == SLUG

    assert NEW_RULE in (today.audit()[0].reason or "")


def test_no_agent_is_pinned_to_a_version_that_would_not_be_let_in(
    before: SkillServiceHarness, today: SkillServiceHarness
) -> None:
    before.service.patch(ANN, SLUG, find="Collect", replace="Count")

    with pytest.raises(Unsafe, match="no collecting"):
        today.service.grant_agent(ROOT, SLUG, "default", version=1)
    assert today.grants() == ([], [])
    today.service.grant_agent(ANN, SLUG, "default", version=2)
    today.service.grant_agent(ROOT, SLUG, "default", version=1, acknowledged=[TAKEN])

    assert today.pins() == {"default": 1}
    assert NEW_RULE in (today.audit()[0].reason or "")


def test_a_skill_whose_files_were_lost_in_the_trash_is_damaged_and_not_missing(
    before: SkillServiceHarness,
) -> None:
    gone = before.service.delete(ANN, SLUG).trash_name
    before.damage("SKILL.md")

    with pytest.raises(DamagedRecord) as told:
        before.service.undelete(ANN, gone)

    assert told.value.code == "skill_bundle_damaged"


def test_who_has_an_id_alone_is_not_told_the_slug(before: SkillServiceHarness) -> None:
    skill_id = before.row().skill_id
    service = before.service
    for act in (
        lambda: service.delete(BOB, skill_id),
        lambda: service.toggle(BOB, skill_id, enabled=False),
        lambda: service.patch(BOB, skill_id, find="a", replace="b"),
        lambda: service.grant_agent(BOB, skill_id, "default"),
    ):
        with pytest.raises(Rejected) as told:
            act()
        assert SLUG not in told.value.detail
        assert skill_id in told.value.detail
