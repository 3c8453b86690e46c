"""What people see of skills: their own, the granted and the open ones, and of others no trace."""

import io
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.support.factories import NOW, make_agent
from tests.support.skill_catalogue_harness import (
    ADMIN,
    ALL,
    ANN,
    BOB,
    VIEWER,
    SkillCatalogueHarness,
    skill_catalogue_harness,
    skill_md,
)
from tests.support.skill_factories import (
    keep_version,
    make_skill,
    make_version,
    to_agent,
    to_user,
)
from understudy.core.errors import DamagedRecord, Invalid, NotFound, Rejected, UnderstudyError
from understudy.core.page import PageRequest, decode_cursor
from understudy.core.principal import Principal
from understudy.daemon.skill_status import SkillReport
from understudy.skills.access import AccessReason, AgentSkill
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.manifest import read
from understudy.skills.bundles.store import BundleFile
from understudy.skills.library import SkillLibrary
from understudy.skills.model import (
    EVERYTHING,
    Skill,
    SkillFilter,
    SkillOrigin,
    SkillStatus,
    TrashedSkill,
    Visibility,
)


@pytest.fixture
def engine(migrated_engine: sa.Engine) -> sa.Engine:
    return migrated_engine


@pytest.fixture
def harness(engine: sa.Engine, tmp_path: Path) -> SkillCatalogueHarness:
    return skill_catalogue_harness(engine, tmp_path)


@pytest.fixture
def library(harness: SkillCatalogueHarness) -> SkillLibrary:
    return harness.library


def two_versions(harness: SkillCatalogueHarness, slug: str = "weekly", **fields: object) -> Skill:
    """A skill of ann's whose second version has a companion."""
    skill = harness.keep(slug, **fields)
    with harness.units.write() as unit:
        unit.skills.lock(slug)
        text = skill_md(slug, "Does it better", "Do it better.", "when-to-use: On Fridays\n")
        bundle = Bundle({"SKILL.md": text.encode(), "scripts/run.py": b"print(1)\n"})
        version = keep_version(unit, skill, bundle)
        newer = replace(
            skill, version=version.number, digest=bundle.digest, size=bundle.size, revision=2
        )
        unit.skills.update(newer, expected_version=1)
    return newer


def slugs(library: SkillLibrary, who: Principal, narrowed: SkillFilter = EVERYTHING) -> list[str]:
    return [skill.slug for skill in library.page(who, ALL, narrowed).items]


# Every way to look at one skill.
LOOKS: dict[str, Callable[[SkillLibrary, Principal, str], object]] = {
    "current": lambda library, who, ref: library.current(who, ref),
    "get": lambda library, who, ref: library.get(who, ref),
    "versions": lambda library, who, ref: library.versions(who, ref, ALL),
    "files": lambda library, who, ref: library.files(who, ref, None),
    "read_file": lambda library, who, ref: library.read_file(who, ref, "SKILL.md", None),
    "diff": lambda library, who, ref: library.diff(who, ref, 1, 1),
    "export": lambda library, who, ref: library.export(who, ref, None),
    "access": lambda library, who, ref: library.access(who, ref, agent_id="a", user_id=None),
    "access of others": lambda library, who, ref: library.access(
        who, ref, agent_id="a", user_id="ann"
    ),
    "grants": lambda library, who, ref: library.grants(who, ref),
}


def refusal(look: str, library: SkillLibrary, who: Principal, ref: str) -> UnderstudyError:
    with pytest.raises(UnderstudyError) as caught:
        LOOKS[look](library, who, ref)
    return caught.value


def test_somebody_else_s_private_skill_looks_like_a_missing_one(
    harness: SkillCatalogueHarness, library: SkillLibrary
) -> None:
    hers = harness.keep("weekly")

    for look in LOOKS:
        LOOKS[look](library, ANN, "weekly")
        LOOKS[look](library, ADMIN, hers.skill_id)
        for found, missing in (("weekly", "weekend"), (hers.skill_id, "skl_missing")):
            there, nowhere = (refusal(look, library, BOB, ref) for ref in (found, missing))
            assert isinstance(there, NotFound), look
            assert there.code == nowhere.code == "skill_not_found", look
            assert there.detail.replace(found, "…") == nowhere.detail.replace(missing, "…"), look


def test_a_deleted_skill_looks_like_a_missing_one_to_its_owner_too(
    harness: SkillCatalogueHarness, library: SkillLibrary
) -> None:
    skill = harness.keep("weekly")
    with harness.units.write() as unit:
        gone = replace(skill, status=SkillStatus.DELETED, trash_name="weekly.1", revision=2)
        unit.skills.update(gone, expected_version=1)

    for look in LOOKS:
        assert refusal(look, library, ANN, "weekly").code == "skill_not_found", look
        assert refusal(look, library, ADMIN, skill.skill_id).code == "skill_not_found", look


def test_what_can_name_no_skill_is_invalid(library: SkillLibrary) -> None:
    for ref in ("", "Weekly Report", "../up", "skl_", "a", "local:", "local:../x", "a\0b"):
        error = refusal("get", library, ADMIN, ref)
        assert isinstance(error, Invalid), ref
        assert error.code == "invalid_skill_ref", ref


class TestLists:
    """Lists show what the caller may know of."""

    @pytest.fixture
    def many(self, harness: SkillCatalogueHarness) -> SkillCatalogueHarness:
        harness.keep("hers")
        harness.keep("his", owner_id="bob")
        harness.keep("open", visibility=Visibility.PUBLIC)
        harness.keep("ours", origin=SkillOrigin.SYSTEM, owner_id="system")
        given = harness.keep("given", visibility=Visibility.INTERNAL)
        harness.keep("to-agent", visibility=Visibility.INTERNAL)
        harness.keep("off", owner_id="bob", enabled=False)
        harness.keep("gone", owner_id="bob", status=SkillStatus.DELETED)
        with harness.units.write() as unit:
            unit.skill_grants.give_user(to_user(given, "bob"))
            unit.skill_grants.give_agent(to_agent(given))
        harness.put_local("notes", description="In a folder")
        return harness

    def test_to_each_their_own_and_the_open_ones(self, many: SkillCatalogueHarness) -> None:
        assert slugs(many.library, BOB) == ["given", "his", "notes", "off", "open", "ours"]
        assert slugs(many.library, VIEWER) == ["notes", "open", "ours"]
        assert "gone" not in slugs(many.library, ADMIN)
        assert {"hers", "his", "to-agent"} <= set(slugs(many.library, ADMIN))

    def test_a_filter_narrows_further(self, many: SkillCatalogueHarness) -> None:
        assert slugs(many.library, BOB, SkillFilter(origin=SkillOrigin.LOCAL)) == ["notes"]
        assert slugs(many.library, BOB, SkillFilter(enabled=False)) == ["off"]
        assert slugs(many.library, BOB, SkillFilter(query="folder")) == ["notes"]
        assert slugs(many.library, BOB, SkillFilter(owner_id="ann")) == ["given", "open"]
        # Nobody else's eyes can be borrowed.
        assert "hers" not in slugs(many.library, BOB, SkillFilter(seen_by="ann"))
        assert slugs(many.library, ADMIN, SkillFilter(status=SkillStatus.DELETED)) == []

    def test_pages_hold_every_skill_once(self, many: SkillCatalogueHarness) -> None:
        seen: list[str] = []
        cursor: str | None = None
        for _ in range(20):
            after = decode_cursor(cursor) if cursor else None
            page = many.library.page(BOB, PageRequest(limit=2, after=after), EVERYTHING)
            seen += [skill.slug for skill in page.items]
            cursor = page.next_cursor
            if cursor is None:
                break
        assert seen == slugs(many.library, BOB)

    def test_the_order_is_that_of_the_characters_on_every_database(
        self, harness: SkillCatalogueHarness
    ) -> None:
        names = ["a-b", "ab", "a b", "B", "é", "z", "_x", "10", "9"]
        for at, name in enumerate(names):
            harness.keep(f"s-{at}", name=name)
        harness.put_local("a.c")

        found = [skill.name for skill in harness.library.page(ANN, ALL, EVERYTHING).items]

        assert found == sorted([*names, "a.c"], key=str.casefold)


class TestDetails:
    """One skill: what it says, its versions, its files."""

    def test_what_the_current_version_says(
        self, harness: SkillCatalogueHarness, library: SkillLibrary
    ) -> None:
        skill = two_versions(harness)

        detail = library.get(ANN, "weekly")

        assert detail.skill == skill == library.current(ANN, skill.skill_id)
        assert detail.instructions == "Do it better.\n"
        assert detail.manifest.when_to_use == "On Fridays"
        assert detail.path is None
        # Who only looks unpacks nothing; once it was used, its files lie there.
        if not (harness.home / "skills-store").exists():
            assert library.get(ADMIN, "weekly").path is None
        with harness.units.read() as unit:
            harness.catalogue.load(unit, harness.one_in(unit, "weekly"))
        path = library.get(ADMIN, "weekly").path
        assert path is not None
        assert (Path(path) / "scripts" / "run.py").read_bytes() == b"print(1)\n"

    def test_versions_newest_first(
        self, harness: SkillCatalogueHarness, library: SkillLibrary
    ) -> None:
        two_versions(harness)

        page = library.versions(ANN, "weekly", PageRequest(limit=1))
        assert [version.number for version in page.items] == [2]
        assert page.next_cursor is not None

    def test_files_of_each_version(
        self, harness: SkillCatalogueHarness, library: SkillLibrary
    ) -> None:
        two_versions(harness)

        assert [file.path for file in library.files(ANN, "weekly", None)] == [
            "SKILL.md",
            "scripts/run.py",
        ]
        assert [file.path for file in library.files(ANN, "weekly", 1)] == ["SKILL.md"]
        assert BundleFile(path="scripts/run.py", size=9) in library.files(ANN, "weekly", 2)
        assert library.read_file(ANN, "weekly", "./scripts/run.py", None) == b"print(1)\n"

    def test_a_version_that_never_was(
        self, harness: SkillCatalogueHarness, library: SkillLibrary
    ) -> None:
        two_versions(harness)
        looks: tuple[Callable[[int], object], ...] = (
            lambda version: library.files(ANN, "weekly", version),
            lambda version: library.read_file(ANN, "weekly", "SKILL.md", version),
            lambda version: library.diff(ANN, "weekly", 1, version),
            lambda version: library.export(ANN, "weekly", version),
        )

        for look in looks:
            for version in (0, -1, 3, 2**31, 2**70):
                with pytest.raises(NotFound) as caught:
                    look(version)
                assert caught.value.code == "skill_version_not_found"

    def test_a_path_that_leads_elsewhere_is_invalid(
        self, harness: SkillCatalogueHarness, library: SkillLibrary
    ) -> None:
        two_versions(harness)

        for path in ("../weekly/SKILL.md", "a/../../x", "/etc/passwd", "a\\b", "", "a\0b", "C:/x"):
            with pytest.raises(Invalid) as caught:
                library.read_file(ANN, "weekly", path, None)
            assert caught.value.code == "invalid_skill_path", path

    def test_a_folder_an_artifact_and_what_is_not_there_are_missing(
        self, harness: SkillCatalogueHarness, library: SkillLibrary
    ) -> None:
        two_versions(harness)

        for path in ("scripts", "nothing.md", ".DS_Store", "scripts/run.py/x"):
            with pytest.raises(NotFound) as caught:
                library.read_file(ANN, "weekly", path, None)
            assert caught.value.code == "skill_file_not_found", path

    def test_what_changed_between_two_versions(
        self, harness: SkillCatalogueHarness, library: SkillLibrary
    ) -> None:
        two_versions(harness)

        diff = library.diff(ANN, "weekly", 1, 2)

        assert [(file.path, str(file.change)) for file in diff.files] == [
            ("SKILL.md", "changed"),
            ("scripts/run.py", "added"),
        ]
        assert diff.files[0].diff is not None
        assert "+Do it better." in diff.files[0].diff

    def test_an_export_names_the_version_and_can_be_imported(
        self, harness: SkillCatalogueHarness, library: SkillLibrary
    ) -> None:
        two_versions(harness)

        exported = library.export(ANN, "weekly", 1)

        assert exported.file_name == "weekly-1.zip"
        with zipfile.ZipFile(io.BytesIO(exported.content)) as archive:
            text = archive.read("weekly/SKILL.md").decode()
        assert "understudy-version: " in text
        assert read(text).manifest.description == "Does it"

    def test_one_in_a_folder_can_be_looked_at_too(
        self, harness: SkillCatalogueHarness, library: SkillLibrary
    ) -> None:
        folder = harness.put_local("notes", body="Take notes.")
        (folder / "more.md").write_text("more")

        detail = library.get(VIEWER, "local:notes")
        assert detail.skill.skill_id == "local:notes"
        assert detail.instructions == "Take notes.\n"
        assert library.get(ADMIN, "notes").path == str(folder)
        assert library.read_file(BOB, "notes", "more.md", None) == b"more"
        assert [file.path for file in library.files(BOB, "notes", None)] == ["SKILL.md", "more.md"]
        assert library.versions(BOB, "notes", ALL).items == ()
        assert library.export(BOB, "notes", None).file_name == "notes.zip"
        assert library.grants(BOB, "notes") == ()
        answer = library.access(BOB, "notes", agent_id=None, user_id=None)
        assert (answer.allowed, answer.version) == (True, None)
        with pytest.raises(NotFound):
            library.files(BOB, "notes", 1)

    def test_of_a_slug_people_mean_what_is_kept_unless_they_may_not_know_of_it(
        self, harness: SkillCatalogueHarness, library: SkillLibrary
    ) -> None:
        harness.put_local("notes")
        harness.keep("notes")

        assert library.current(ANN, "notes").origin is SkillOrigin.MANAGED
        assert library.current(BOB, "notes").origin is SkillOrigin.LOCAL

    def test_list_look_and_access_agree_on_what_a_slug_is(
        self, harness: SkillCatalogueHarness, library: SkillLibrary
    ) -> None:
        harness.put_local("notes")
        harness.keep("notes", enabled=False)

        def of(who: Principal, user_id: str | None = None) -> tuple[str, str]:
            answer = library.access(who, "notes", agent_id="default", user_id=user_id)
            return "local" if answer.skill_id == "local:notes" else "managed", str(answer.reason)

        # Switched off, and yet nothing takes its place for whom it is.
        assert of(ANN) == of(ADMIN, "ann") == ("managed", "disabled")
        assert harness.slugs(user_id="ann") == []
        assert [skill.origin for skill in library.page(ANN, ALL, EVERYTHING).items] == [
            SkillOrigin.MANAGED
        ]
        with pytest.raises(NotFound):
            library.get(ANN, "local:notes")
        with pytest.raises(NotFound):
            library.access(ANN, "local:notes", agent_id=None, user_id=None)

        # For others there is only the one in the folder.
        assert of(BOB) == of(ADMIN, "bob") == of(ADMIN) == ("local", "public")
        assert harness.one("notes", user_id="bob").origin is SkillOrigin.LOCAL
        assert library.get(BOB, "local:notes").skill.origin is SkillOrigin.LOCAL
        asked = library.access(ADMIN, "local:notes", agent_id=None, user_id="ann")
        assert not asked.allowed
        with pytest.raises(Rejected):
            library.access(BOB, "notes", agent_id=None, user_id="ann")


class TestDamage:
    """What is not as it was kept is neither shown nor offered, and is told of."""

    @pytest.fixture
    def damaged(self, harness: SkillCatalogueHarness) -> SkillCatalogueHarness:
        """A skill at version 2, granted to agent `old` in version 1, whose bytes were changed."""
        skill = two_versions(harness, visibility=Visibility.INTERNAL)
        with harness.units.write() as unit:
            unit.skill_grants.give_agent(to_agent(skill, "old", pinned_version=1))
            if unit.connection.dialect.name == "postgresql":
                unit.connection.execute(sa.text("UPDATE skill_blobs SET content = 'evil'"))
        for file in (harness.home / "skills-store").rglob("SKILL.md"):
            file.write_text(skill_md("weekly", "Evil", "Obey."))
        return harness

    def test_every_way_to_look_says_the_same(self, damaged: SkillCatalogueHarness) -> None:
        library = damaged.library
        looks: list[Callable[[], object]] = [
            lambda: library.get(ANN, "weekly"),
            lambda: library.files(ANN, "weekly", None),
            lambda: library.files(ANN, "weekly", 1),
            lambda: library.read_file(ANN, "weekly", "SKILL.md", None),
            lambda: library.read_file(ANN, "weekly", "nowhere.md", 1),
            lambda: library.export(ANN, "weekly", None),
        ]
        for look in looks:
            with pytest.raises(DamagedRecord) as told:
                look()
            assert told.value.code == "skill_bundle_damaged"
        assert damaged.checks.damaged() == (("weekly", 2), ("weekly", 1))

    def test_a_version_without_files_is_damaged_too(self, harness: SkillCatalogueHarness) -> None:
        skill = two_versions(harness)
        with harness.units.write() as unit:
            unit.skills.add_version(make_version(skill, 9, digest="9" * 64))

        with pytest.raises(DamagedRecord):
            harness.library.files(ANN, "weekly", 9)
        with pytest.raises(NotFound):
            harness.library.files(ANN, "weekly", 10)

    def test_the_words_of_a_pinned_version_are_not_offered(
        self, damaged: SkillCatalogueHarness
    ) -> None:
        assert damaged.slugs("old", "bob") == []
        assert damaged.checks.damaged() == (("weekly", 1),)

    def test_the_status_counts_them_and_names_them_only_to_an_admin(
        self, damaged: SkillCatalogueHarness
    ) -> None:
        damaged.put_local("weekly")
        status = SkillReport(damaged.units, damaged.local.catalogue, tuple, damaged.checks.damaged)
        with pytest.raises(DamagedRecord):
            damaged.library.get(ANN, "weekly")

        plain, full = status(), status(in_full=True)

        assert "weekly" not in str(plain)
        assert str(damaged.home) not in str(plain)
        assert (plain["damaged"], plain["local_left_out"]) == (1, 1)
        assert full["damaged_versions"] == [{"slug": "weekly", "version": 2}]
        assert [each["code"] for each in full["local_warnings"]] == ["slug_kept"]


class TestAccess:
    """Whether somebody may use a skill, and why."""

    def test_yes_and_no_with_the_reason_and_the_version(
        self, harness: SkillCatalogueHarness, library: SkillLibrary
    ) -> None:
        skill = two_versions(harness, visibility=Visibility.INTERNAL)
        with harness.units.write() as unit:
            unit.skill_grants.give_agent(to_agent(skill, "pinned", pinned_version=1))
            unit.skill_grants.give_agent(to_agent(skill, "free"))

        asked = [("pinned", "bob"), ("free", "bob"), ("other", "bob"), ("other", "ann")]
        answers = [
            library.access(ANN, "weekly", agent_id=agent, user_id=user) for agent, user in asked
        ]

        assert [(str(one.reason), one.allowed, one.version) for one in answers] == [
            ("agent_grant", True, 1),
            ("agent_grant", True, 2),
            ("none", False, None),
            ("owner", True, 2),
        ]

    def test_one_s_own_access_through_an_agent_can_be_asked_for(
        self, harness: SkillCatalogueHarness, library: SkillLibrary
    ) -> None:
        skill = harness.keep("weekly", visibility=Visibility.INTERNAL)
        with harness.units.write() as unit:
            unit.skill_grants.give_agent(to_agent(skill))

        mine = library.access(BOB, "weekly", agent_id="default", user_id=None)
        assert mine.reason is AccessReason.AGENT_GRANT
        with pytest.raises(NotFound):
            library.access(BOB, "weekly", agent_id="another", user_id=None)

    def test_who_cannot_exist_has_nothing_and_cannot_be_asked_for(
        self, harness: SkillCatalogueHarness, library: SkillLibrary
    ) -> None:
        harness.keep("weekly")

        for odd in ("a\0b", "\ud800", "", "x" * 10_000):
            for agent_id, user_id in ((odd, None), (None, odd)):
                with pytest.raises(Invalid):
                    library.access(ANN, "weekly", agent_id=agent_id, user_id=user_id)
            assert harness.slugs(agent_id=odd, user_id=odd) == []

    def test_others_access_is_for_the_owner_and_admins(
        self, harness: SkillCatalogueHarness, library: SkillLibrary
    ) -> None:
        harness.keep("weekly", visibility=Visibility.PUBLIC)

        assert library.access(BOB, "weekly", agent_id=None, user_id="bob").allowed
        assert library.access(ADMIN, "weekly", agent_id=None, user_id="bob").allowed
        for look in ("access of others", "grants"):
            error = refusal(look, library, BOB, "weekly")
            assert isinstance(error, Rejected)
            assert error.code == "skill_not_yours"

    def test_grants_are_listed_for_the_owner(
        self, harness: SkillCatalogueHarness, library: SkillLibrary
    ) -> None:
        skill = harness.keep("weekly", visibility=Visibility.INTERNAL)
        with harness.units.write() as unit:
            unit.skill_grants.give_agent(to_agent(skill))
            unit.skill_grants.give_user(to_user(skill))

        assert library.grants(ANN, "weekly") == (to_agent(skill), to_user(skill))


def _held(library: SkillLibrary, caller: Principal, *, limit: int = 50) -> list[AgentSkill]:
    """What the default agent has for a caller, read page by page."""
    request, held = PageRequest(limit=limit), list[AgentSkill]()
    while True:
        page = library.of_agent(caller, "default", request)
        held += page.items
        if page.next_cursor is None:
            return held
        request = replace(request, after=decode_cursor(page.next_cursor))


class TestAgents:
    """What an agent has."""

    def test_what_it_may_use_for_the_caller_and_what_the_owner_gave_it(
        self, harness: SkillCatalogueHarness, library: SkillLibrary
    ) -> None:
        given = harness.keep("given", visibility=Visibility.INTERNAL)
        off = harness.keep("off", visibility=Visibility.INTERNAL, enabled=False)
        harness.keep("hers")
        harness.keep("open", visibility=Visibility.PUBLIC)
        with harness.units.write() as unit:
            unit.agents.add(make_agent())
            unit.skill_grants.give_agent(to_agent(given, pinned_version=1))
            unit.skill_grants.give_agent(to_agent(off))

        of_ann, of_bob = (
            {one.skill.slug: (one.granted, one.allowed, one.pinned_version) for one in found}
            for found in (_held(library, ANN), _held(library, BOB))
        )

        assert of_ann == {
            "given": (True, True, 1),
            "hers": (False, True, None),
            "off": (True, False, None),
            "open": (False, True, None),
        }
        assert of_bob == {"given": (True, True, 1), "open": (False, True, None)}
        assert _held(library, ADMIN) == _held(library, ADMIN, limit=1)
        assert [one.skill.slug for one in _held(library, ADMIN)] == ["given", "off", "open"]

    def test_an_unknown_agent_is_missing(self, library: SkillLibrary) -> None:
        with pytest.raises(NotFound) as caught:
            library.of_agent(ADMIN, "nobody", PageRequest())
        assert caught.value.code == "agent_not_found"


def test_the_trash_shows_each_their_own_and_an_admin_all(
    harness: SkillCatalogueHarness, library: SkillLibrary
) -> None:
    with harness.units.write() as unit:
        for at, owner in enumerate(("ann", "bob")):
            skill = make_skill(f"old-{at}", owner_id=owner)
            unit.skills.add(skill)
            unit.skills.trash(
                TrashedSkill(
                    trash_name=f"old-{at}.1", skill=skill, deleted_by=owner, deleted_at_ms=NOW + at
                )
            )

    assert [one.trash_name for one in library.trash(ANN, ALL).items] == ["old-0.1"]
    assert [one.trash_name for one in library.trash(BOB, ALL).items] == ["old-1.1"]
    assert len(library.trash(ADMIN, ALL).items) == 2
