"""Skills, versions, grants and what deletions left, on both databases."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tests.support.factories import NOW, ODD_TEXTS
from tests.support.skill_factories import make_skill, make_version, skill_units, to_agent, to_user
from understudy.core.errors import DamagedRecord, Invalid, StaleVersion
from understudy.core.page import PageRequest, decode_cursor
from understudy.skills.access import AccessReason, access
from understudy.skills.bundles.store import BundlePlace
from understudy.skills.model import (
    EVERYTHING,
    GrantCounts,
    GrantedSkill,
    Skill,
    SkillFilter,
    SkillOrigin,
    SkillStatus,
    TrashedSkill,
    Visibility,
)
from understudy.storage.engine import open_engine
from understudy.storage.postgres import signed_fnv1a
from understudy.storage.schema import skills
from understudy.storage.unit import Units

ALL = PageRequest(limit=100)


@pytest.fixture
def engine(migrated_engine: sa.Engine) -> sa.Engine:
    return migrated_engine


@pytest.fixture
def units(engine: sa.Engine, tmp_path: Path) -> Units:
    return skill_units(engine, tmp_path)


def keep(units: Units, *kept: Skill) -> None:
    with units.write() as unit:
        for skill in kept:
            assert unit.skills.add(skill)


def listed(units: Units, narrowed: SkillFilter = EVERYTHING) -> list[str]:
    with units.read() as unit:
        return [skill.slug for skill in unit.skills.page(ALL, narrowed=narrowed).items]


def listed_page_by_page(units: Units) -> list[str]:
    found, request = list[str](), PageRequest(limit=1)
    while True:
        with units.read() as unit:
            page = unit.skills.page(request, narrowed=EVERYTHING)
        found += [skill.slug for skill in page.items]
        if page.next_cursor is None:
            return found
        request = PageRequest(limit=1, after=decode_cursor(page.next_cursor))


def numbers(units: Units, skill: Skill) -> list[int]:
    with units.read() as unit:
        page = unit.skills.versions(skill.skill_id, ALL)
    return [version.number for version in page.items]


def delete(units: Units, skill: Skill, name: str, at_ms: int = NOW) -> Skill:
    """Delete a skill as the service does; answers what is left of it."""
    gone = replace(skill, status=SkillStatus.DELETED, trash_name=name, revision=skill.revision + 1)
    with units.write() as unit:
        left = TrashedSkill(trash_name=name, skill=skill, deleted_by="ann", deleted_at_ms=at_ms)
        unit.skills.trash(left)
        unit.skills.update(gone, expected_version=skill.revision)
    return gone


def test_a_skill_comes_back_as_it_was_kept(units: Units) -> None:
    skill = make_skill(
        visibility=Visibility.INTERNAL,
        status=SkillStatus.ARCHIVED,
        origin=SkillOrigin.PROMOTED,
        enabled=False,
        tags=("weekly", "отчёт"),
        frontmatter={"author": "ann", "license": "MIT"},
        missing_deps=("pip:x", "ffmpeg"),
        revision=7,
    )
    keep(units, skill)

    with units.read() as unit:
        assert unit.skills.get(skill.skill_id) == skill
        assert unit.skills.by_slug(skill.slug) == skill
        for other in ("other", *ODD_TEXTS.values()):
            assert unit.skills.get(other) is None
            assert unit.skills.by_slug(other) is None
            assert unit.skills.trashed(other) is None


def test_which_of_many_slugs_are_taken_is_told_at_once(units: Units) -> None:
    keep(units, make_skill("one"), make_skill("gone", status=SkillStatus.DELETED))
    some = [*(f"other-{at}" for at in range(1200)), "one", "gone", *ODD_TEXTS.values()]

    with units.read() as unit:
        assert unit.skills.slugs_among(some) == {"one", "gone"}
        assert unit.skills.slugs_among([]) == frozenset()


def test_whatever_a_skill_says_is_kept_found_and_listed(units: Units) -> None:
    said = {
        text: make_skill(f"skill-{at}", name=text, tags=(text,), frontmatter={text: text})
        for at, text in enumerate(ODD_TEXTS.values())
    }
    keep(units, *said.values())

    for text, skill in said.items():
        with units.read() as unit:
            assert unit.skills.by_slug(skill.slug) == skill
        assert listed(units, SkillFilter(query=text)) == [skill.slug]
    assert sorted(listed_page_by_page(units)) == sorted(skill.slug for skill in said.values())


def test_a_slug_is_taken_once_even_when_many_try(units: Units) -> None:
    def add(at: int) -> bool:
        with units.write() as unit:
            unit.skills.lock("weekly-report")
            return unit.skills.add(make_skill(skill_id=f"skl_{at}"))

    with ThreadPoolExecutor(10) as pool:
        assert sorted(pool.map(add, range(10))) == [False] * 9 + [True]


def test_a_change_on_top_of_an_older_state_is_refused(units: Units) -> None:
    skill = make_skill()
    keep(units, skill)
    changed = replace(skill, description="Does it well", version=2, revision=2)
    with units.write() as unit:
        unit.skills.update(changed, expected_version=1)

    with pytest.raises(StaleVersion), units.write() as unit:
        unit.skills.update(replace(skill, name="lost", revision=2), expected_version=1)

    with units.read() as unit:
        assert unit.skills.get(skill.skill_id) == changed


def test_a_damaged_skill_is_told_and_keeps_no_other_from_being_listed(
    units: Units, engine: sa.Engine
) -> None:
    keep(units, make_skill("good-one"), make_skill("bad-one"))
    with engine.begin() as connection:
        torn = sa.update(skills).where(skills.c.slug == "bad-one")
        connection.execute(torn.values(body={"name": "x"}))

    assert listed(units) == ["good-one"]
    with units.read() as unit:
        _, found = unit.skills.maybe_open(agent_id="a", user_id="ann")
        assert [granted.skill.slug for granted in found] == ["good-one"]
        with pytest.raises(DamagedRecord):
            unit.skills.by_slug("bad-one")


def test_skills_are_listed_by_name_page_by_page(units: Units) -> None:
    keep(
        units,
        *(make_skill(f"skill-{at}", name=name) for at, name in enumerate(["cc", "Bb", "aa", "bb"])),
    )

    assert listed_page_by_page(units) == ["skill-2", "skill-1", "skill-3", "skill-0"]


def test_a_cursor_of_another_list_is_refused(units: Units) -> None:
    with units.read() as unit, pytest.raises(Invalid):
        unit.skills.page(PageRequest(limit=1, after=(1, "a")), narrowed=EVERYTHING)


NARROWED: dict[str, tuple[SkillFilter, list[str]]] = {
    "everything but what is deleted": (EVERYTHING, ["aa", "bb", "cc", "dd"]),
    "deleted": (SkillFilter(status=SkillStatus.DELETED), ["ee"]),
    "archived": (SkillFilter(status=SkillStatus.ARCHIVED), ["bb"]),
    "system": (SkillFilter(origin=SkillOrigin.SYSTEM), ["cc"]),
    "public": (SkillFilter(visibility=Visibility.PUBLIC), ["bb"]),
    "of an owner": (SkillFilter(owner_id="bob"), ["bb", "dd"]),
    "switched off": (SkillFilter(enabled=False), ["dd"]),
    "by a word": (SkillFilter(query="MONDAY"), ["aa"]),
    "by a tag": (SkillFilter(query="slow"), ["dd"]),
    "by signs": (SkillFilter(query="%"), []),
    "for ann": (SkillFilter(seen_by="ann"), ["aa", "bb", "cc"]),
    "for bob": (SkillFilter(seen_by="bob"), ["aa", "bb", "cc", "dd"]),
    "for a stranger": (SkillFilter(seen_by="eve"), ["bb", "cc"]),
    "for nobody": (SkillFilter(seen_by=""), ["bb", "cc"]),
}


def test_a_list_is_narrowed(units: Units) -> None:
    granted = make_skill("aa", description="On Mondays", visibility=Visibility.INTERNAL)
    others: list[dict[str, Any]] = [
        {"slug": "bb", "status": SkillStatus.ARCHIVED, "visibility": Visibility.PUBLIC},
        {"slug": "cc", "origin": SkillOrigin.SYSTEM, "owner_id": "system"},
        {"slug": "dd", "enabled": False, "tags": ("slow",)},
        {"slug": "ee", "status": SkillStatus.DELETED},
    ]
    keep(units, granted, *(make_skill(**({"owner_id": "bob"} | other)) for other in others))
    with units.write() as unit:
        unit.skill_grants.give_user(to_user(granted, "bob"))

    found = {how: listed(units, narrowed) for how, (narrowed, _) in NARROWED.items()}
    assert found == {how: expected for how, (_, expected) in NARROWED.items()}


def test_versions_are_listed_newest_first(units: Units) -> None:
    skill = make_skill()
    keep(units, skill)
    version = make_version(skill, 2, run_id="run_1", restored_from=1)
    with units.write() as unit:
        for kept in (make_version(skill, 1), version, make_version(skill, 10)):
            unit.skills.add_version(kept)

    assert numbers(units, skill) == [10, 2, 1]
    with units.read() as unit:
        assert unit.skills.version(skill.skill_id, 2) == version
        assert unit.skills.version(skill.skill_id, 3) is None
        assert unit.skills.last_number(skill.slug) == 10
        assert unit.skills.last_number("other") == 0


def test_who_makes_a_deleted_skill_anew_does_not_see_its_earlier_versions(units: Units) -> None:
    skill = make_skill()
    keep(units, skill)
    with units.write() as unit:
        unit.skills.add_version(make_version(skill, 1))
        unit.skills.add_version(make_version(skill, 2))
    gone = delete(units, skill, "weekly-report.1")
    assert numbers(units, gone) == [2, 1]

    anew = replace(skill, owner_id="bob", version=3, revision=3)
    with units.write() as unit:
        unit.skills.update(anew, expected_version=2)
        unit.skills.add_version(make_version(skill, unit.skills.last_number(skill.slug) + 1))

    assert numbers(units, anew) == [3]
    with units.read() as unit:
        assert unit.skills.version(skill.skill_id, 1) is None
        gone_to, stays = (
            BundlePlace("weekly-report.1", skill.digest),
            BundlePlace(None, skill.digest),
        )
        assert unit.skills.places() == {"weekly-report": {1: gone_to, 2: gone_to, 3: stays}}


def test_what_a_deletion_left_comes_back_as_it_stood(units: Units) -> None:
    skill = make_skill(tags=("a",), frontmatter={"k": "v"}, visibility=Visibility.INTERNAL)
    keep(units, skill)
    with units.write() as unit:
        unit.skills.add_version(make_version(skill))
    gone = delete(units, skill, "weekly-report.1")

    with units.write() as unit:
        back = unit.skills.untrash("weekly-report.1")
        unit.skills.update(replace(gone, trash_name=None, revision=3), expected_version=2)

    assert back is not None
    assert back.skill == skill
    assert numbers(units, skill) == [1]
    with units.write() as unit:
        assert unit.skills.trashed("weekly-report.1") is None
        assert unit.skills.untrash("weekly-report.1") is None


def test_the_trash_is_listed_newest_first_and_to_each_owner_their_own(units: Units) -> None:
    owners = {"aa": "ann", "bb": "bob", "cc": "ann"}
    for at, (slug, owner) in enumerate(owners.items()):
        skill = make_skill(slug, owner_id=owner)
        keep(units, skill)
        delete(units, skill, f"{slug}.1", NOW + at)

    with units.read() as unit:
        pages = [unit.skills.trash_page(ALL, owner_id=owner) for owner in (None, "ann", "eve")]

    assert [[left.trash_name for left in page.items] for page in pages] == [
        ["cc.1", "bb.1", "aa.1"],
        ["cc.1", "aa.1"],
        [],
    ]


def test_a_grant_given_twice_is_one_and_has_the_newer_pin(units: Units) -> None:
    skill = make_skill()
    keep(units, skill)
    with units.write() as unit:
        grants = unit.skill_grants
        given = [grants.give_agent(to_agent(skill, pinned_version=pin)) for pin in (1, 2)]
        given += [grants.give_user(to_user(skill)) for _ in range(2)]

    assert given == [True, False, True, False]
    with units.read() as unit:
        assert unit.skill_grants.counts(skill.skill_id) == GrantCounts(agents=1, users=1)
        assert unit.skill_grants.to_agents(skill.skill_id) == (to_agent(skill, pinned_version=2),)
        assert unit.skill_grants.to_users(skill.skill_id) == (to_user(skill),)


def test_grants_are_taken_one_by_one_or_all_at_once(units: Units) -> None:
    skill, other = make_skill(), make_skill("other")
    keep(units, skill, other)
    with units.write() as unit:
        grants = unit.skill_grants
        for agent in ("b", "a", "c"):
            grants.give_agent(to_agent(skill, agent))
        grants.give_agent(to_agent(other, "a"))
        grants.give_user(to_user(skill, "bob"))
        grants.give_user(to_user(skill, "eve"))

    with units.write() as unit:
        grants = unit.skill_grants
        assert [grants.take_agent(skill.skill_id, "b") for _ in range(2)] == [True, False]
        assert [grants.take_user(skill.skill_id, "bob") for _ in range(2)] == [True, False]
        assert [grant.agent_id for grant in grants.to_agents(skill.skill_id)] == ["a", "c"]
        assert set(grants.of_agent("a")) == {skill.skill_id, other.skill_id}
        assert grants.counts(skill.skill_id).any
        assert grants.take_all(skill.skill_id) == GrantCounts(agents=2, users=1)
        assert not grants.counts(skill.skill_id).any
        assert grants.counts(other.skill_id).any


def test_what_is_offered_is_what_access_allows(units: Units) -> None:
    internal = {"visibility": Visibility.INTERNAL}
    keep(
        units,
        make_skill("private-own"),
        make_skill("private-other", owner_id="bob"),
        make_skill("to-agent", owner_id="bob", **internal),
        make_skill("to-user", owner_id="bob", **internal),
        make_skill("to-others", owner_id="bob", **internal),
        make_skill("public-one", owner_id="bob", visibility=Visibility.PUBLIC),
        make_skill("system-one", owner_id="system", origin=SkillOrigin.SYSTEM),
        make_skill("archived-own", status=SkillStatus.ARCHIVED),
        make_skill("deleted-own", status=SkillStatus.DELETED),
        make_skill("disabled-own", enabled=False),
    )
    with units.write() as unit:
        unit.skill_grants.give_agent(to_agent(make_skill("to-agent"), "a", pinned_version=4))
        unit.skill_grants.give_agent(to_agent(make_skill("to-others"), "b"))
        unit.skill_grants.give_user(to_user(make_skill("to-user"), "ann"))
        unit.skill_grants.give_user(to_user(make_skill("to-others"), "eve"))

    with units.read() as unit:
        _, found = unit.skills.maybe_open(agent_id="a", user_id="ann")
        page = unit.skills.page(ALL, narrowed=EVERYTHING).items
        asked = [unit.skills.with_grants(s.skill_id, agent_id="a", user_id="ann") for s in page]
        assert unit.skills.with_grants("skl_none", agent_id="a", user_id="ann") is None
    decided = {granted.skill.slug: decide(granted, "ann") for granted in found}
    assert decided == {
        "private-own": AccessReason.OWNER,
        "public-one": AccessReason.PUBLIC,
        "system-one": AccessReason.SYSTEM,
        "to-agent": AccessReason.AGENT_GRANT,
        "to-user": AccessReason.USER_GRANT,
    }
    assert list(decided) == sorted(decided)
    assert {granted.skill.slug for granted in asked if granted and decide(granted, "ann")} == set(
        decided
    )
    [pinned] = [granted.agent_grant for granted in found if granted.agent_grant is not None]
    assert pinned.pinned_version == 4


def decide(granted: GrantedSkill, user_id: str) -> AccessReason | None:
    """Why it is allowed; None when it is not."""
    decision = access(
        granted.skill,
        agent_granted=granted.agent_grant is not None,
        user_granted=granted.user_grant is not None,
        user_id=user_id,
    )
    return decision.reason if decision.allowed else None


def test_who_holds_a_slug_keeps_others_away_until_the_end(units: Units) -> None:
    keep(units, make_skill())
    held, order = threading.Event(), list[str]()

    def late() -> None:
        assert held.wait(10)
        with units.write() as unit:
            unit.skills.lock("weekly-report")
            skill = unit.skills.by_slug("weekly-report")
            assert skill is not None
            order.append(skill.description)

    other = threading.Thread(target=late)
    other.start()
    with units.write() as unit:
        unit.skills.lock("weekly-report")
        held.set()
        other.join(0.3)
        order.append("first")
        unit.skills.update(make_skill(description="changed", revision=2), expected_version=1)
    other.join(10)

    assert order == ["first", "changed"]


@pytest.mark.postgres
def test_the_lock_has_the_number_that_other_programs_reckon(
    postgres_shared: str, tmp_path: Path
) -> None:
    engine = open_engine(postgres_shared)
    units = skill_units(engine, tmp_path)
    query = sa.text(
        "SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks"
        " WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND objsubid = 1"
    )
    with units.write() as unit:
        unit.skills.lock("weekly-report")
        found = unit.connection.execute(query).scalars().all()
    engine.dispose()

    assert found == [signed_fnv1a("weekly-report")]
