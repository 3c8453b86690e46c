"""Only active skills have files; these follow the record, whatever somebody does to them."""

from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.support.factories import ALICE
from tests.support.mounted_rollouts import MountedRollouts
from tests.support.rollout_factories import make_definition, make_rollout
from tests.support.rollout_harness import NAME
from tests.support.threads_at_once import together
from understudy.core.errors import Invalid, Unsafe
from understudy.rollout.model import Stage
from understudy.skills.bundles.manifest import parse
from understudy.skills.runtime_settings import RuntimeSettings, SkillContext, parse_settings
from understudy.storage.unit import Units

pytestmark = pytest.mark.one_database

BOTH = ["lrn_1/SKILL.md", "lrn_1/agents/understudy.yaml"]


@pytest.fixture
def scenery(units: Units, tmp_path: Path) -> MountedRollouts:
    return MountedRollouts(units, tmp_path / "home")


@pytest.mark.parametrize("stage", [Stage.DRAFT, Stage.VERIFIED, Stage.CANARY])
def test_what_is_not_active_has_no_files(scenery: MountedRollouts, stage: Stage) -> None:
    scenery.hand.learn()
    scenery.hand.bring_to(stage)

    assert not scenery.folder().parent.exists()
    scenery.check_agreement()


def test_what_is_active_has_two_files_that_say_what_the_record_does(
    scenery: MountedRollouts,
) -> None:
    record = scenery.activate(when_to_use="Before a release", blocked_tools=("shell",), model="m")

    files = scenery.files()
    assert list(files) == BOTH
    reading = parse(files[BOTH[0]])
    manifest, body = reading.manifest, reading.body
    assert (manifest.name, manifest.when_to_use, manifest.version_label) == (
        NAME,
        "Before a release",
        "1",
    )
    assert body.strip() == record.definition.instructions
    assert parse_settings(files[BOTH[1]]) == RuntimeSettings(
        context=SkillContext.FORK,
        agent_profile="verification",
        blocked_tools=("shell",),
        model="m",
    )
    assert scenery.folders.digest("lrn_1") == record.digest
    scenery.check_agreement()


@pytest.mark.every_database
def test_files_go_and_come_back_with_the_record(scenery: MountedRollouts) -> None:
    scenery.activate()
    before = scenery.files()

    scenery.hand.rollouts.revoke(ALICE, NAME)
    assert scenery.files() == {}
    scenery.check_agreement()

    scenery.hand.rollouts.rollback(ALICE, NAME)
    assert scenery.files() == before
    scenery.check_agreement()

    scenery.hand.learnings.revoke(ALICE, "lrn_1")
    assert scenery.files() == {}
    scenery.check_agreement()


def test_a_change_that_comes_to_nothing_changes_no_files(scenery: MountedRollouts) -> None:
    record = scenery.activate()
    before = scenery.files()

    def undone() -> None:
        with scenery.units.write() as unit:
            scenery.mounting.after(unit, record)
            unit.rollouts.update(
                make_rollout(NAME, source_learning_id="lrn_1", status=Stage.REVOKED, revision=99),
                expected_version=record.revision,
            )
            raise KeyError

    with pytest.raises(KeyError):
        undone()
    assert scenery.files() == before


def test_a_commit_that_is_heard_of_late_does_not_bring_files_back(scenery: MountedRollouts) -> None:
    active = scenery.activate()
    scenery.hand.rollouts.revoke(ALICE, NAME)

    with scenery.units.write() as unit:
        scenery.mounting.after(unit, active)

    assert scenery.files() == {}


def test_files_agree_with_the_record_however_many_change_it_at_once(
    scenery: MountedRollouts,
) -> None:
    scenery.activate()
    acts = [
        partial(scenery.hand.rollouts.revoke, ALICE, NAME),
        partial(scenery.hand.rollouts.rollback, ALICE, NAME),
    ]

    together([*acts, *acts, *acts])

    scenery.check_agreement()


def test_a_learning_that_is_promoted_again_has_the_files_of_its_new_skill(
    scenery: MountedRollouts,
) -> None:
    scenery.activate()
    revoked = scenery.hand.rollouts.revoke(ALICE, NAME).record

    scenery.hand.bring_to(Stage.ACTIVE, skill_name="other")
    with scenery.units.write() as unit:
        scenery.mounting.after(unit, revoked)

    assert parse(scenery.files()[BOTH[0]]).manifest.name == "other"
    scenery.check_agreement()


class TestChecks:
    """What could not be kept is refused before it is."""

    def test_what_the_guard_finds_fault_with_is_refused_by_field(
        self, scenery: MountedRollouts
    ) -> None:
        scenery.hand.learn()
        harmful = "rm -" + "rf /"

        with pytest.raises(Unsafe) as caught:
            scenery.hand.promote(instructions=f"First this:\n\n```\n{harmful}\n```")

        assert (caught.value.code, caught.value.domain) == ("unsafe_definition", "rollout")
        assert {it.pointer for it in caught.value.errors} == {"/instructions"}
        with scenery.units.read() as unit:
            assert unit.rollouts.get(NAME) is None

    def test_what_would_read_otherwise_is_refused(self, scenery: MountedRollouts) -> None:
        odd = make_definition(description="one\u2028two")

        with pytest.raises(Invalid) as caught:
            scenery.mounting.check(odd)

        assert caught.value.code == "unreadable_definition"


@pytest.mark.every_database
class TestStarts:
    """At a start every file is as the records say."""

    @pytest.fixture(autouse=True)
    def active(self, scenery: MountedRollouts) -> None:
        scenery.activate()
        self.before = scenery.files()

    def test_an_edited_file_is_written_anew(self, scenery: MountedRollouts) -> None:
        (scenery.folder() / "SKILL.md").write_text("---\nname: mine\n---\nDo harm.\n")

        assert scenery.restarted().files() == self.before

    def test_a_removed_folder_is_made_anew(self, scenery: MountedRollouts) -> None:
        scenery.folders.remove("lrn_1")

        assert scenery.restarted().files() == self.before

    def test_what_was_added_goes(self, scenery: MountedRollouts) -> None:
        (scenery.folder() / "scripts").mkdir()
        (scenery.folder() / "scripts" / "run.py").write_text("print()")
        (scenery.folder() / "link").symlink_to(scenery.home)

        assert scenery.restarted().files() == self.before

    def test_what_has_no_active_record_goes(self, scenery: MountedRollouts) -> None:
        scenery.hand.learn("lrn_2")
        scenery.hand.promote("lrn_2", skill_name="draft")
        for name in ("lrn_2", "learning-99", ".hidden", ".tmp-0123456789abcdef"):
            folder = scenery.folder(name)
            folder.mkdir()
            (folder / "SKILL.md").write_text("---\nname: stray\n---\n")
        scenery.folder("a-file").write_text("stray")

        again = scenery.restarted()

        assert again.files() == self.before
        again.check_agreement()

    def test_a_link_is_removed_and_not_followed(self, scenery: MountedRollouts) -> None:
        elsewhere = scenery.home / "elsewhere"
        elsewhere.mkdir()
        (elsewhere / "SKILL.md").write_text("of somebody")
        scenery.folders.remove("lrn_1")
        scenery.folder().symlink_to(elsewhere)
        scenery.folder("stray").symlink_to(elsewhere)

        again = scenery.restarted()

        assert again.files() == self.before
        assert (elsewhere / "SKILL.md").read_text() == "of somebody"
        assert not again.folder().is_symlink()

    def test_nothing_is_written_through_a_link_on_the_way(self, scenery: MountedRollouts) -> None:
        elsewhere = scenery.home / "elsewhere"
        (scenery.home / "skills").rename(elsewhere)
        (scenery.home / "skills").symlink_to(elsewhere)
        (elsewhere / "procedural" / "lrn_1" / "SKILL.md").unlink()

        again = scenery.restarted()

        assert again.troubles() == [("rollout_unmounted", NAME)]
        assert not (elsewhere / "procedural" / "lrn_1" / "SKILL.md").exists()

    def test_one_that_cannot_be_mended_keeps_no_other_from_being(
        self, scenery: MountedRollouts
    ) -> None:
        with scenery.units.write() as unit:
            odd = make_rollout("odd", status=Stage.ACTIVE, source_learning_id="../../odd")
            unit.rollouts.add(odd)
        (scenery.folder() / "SKILL.md").write_text("edited")

        again = scenery.restarted()

        assert again.files() == self.before
        assert again.troubles() == [("rollout_unmounted", "odd")]
        assert not (scenery.home / "odd").exists()

    def test_what_cannot_be_read_is_counted_and_has_no_files(
        self, scenery: MountedRollouts
    ) -> None:
        damage(scenery.units)

        again = scenery.restarted()

        assert (again.files(), again.repair.unreadable) == ({}, (NAME,))
        assert again.offered() == []

    def test_what_became_unreadable_loses_its_files_with_the_next_change(
        self, scenery: MountedRollouts
    ) -> None:
        record = scenery.hand.get().record
        damage(scenery.units)

        with scenery.units.write() as unit:
            scenery.mounting.after(unit, record)

        assert scenery.files() == {}


class TestLooks:
    """Between starts files follow records, and what somebody did to them is only told."""

    def test_an_edited_file_is_told_and_left(self, scenery: MountedRollouts) -> None:
        scenery.activate()
        (scenery.folder() / "SKILL.md").write_text("edited")
        before = scenery.files()

        scenery.repair.look()

        assert scenery.files() == before
        assert scenery.troubles() == [("rollout_drifted", NAME)]
        scenery.restarted().check_agreement()

    def test_what_could_not_be_written_is_made_up_for(self, scenery: MountedRollouts) -> None:
        (scenery.home / "skills").write_text("in the way")
        record = scenery.activate()
        assert scenery.troubles() == [("rollout_unmounted", NAME)]
        (scenery.home / "skills").unlink()

        scenery.repair.look()

        assert scenery.folders.digest("lrn_1") == record.digest
        scenery.check_agreement()

    def test_another_daemon_on_the_database_follows(self, scenery: MountedRollouts) -> None:
        other = MountedRollouts(scenery.units, scenery.home.parent / "other")

        def check() -> None:
            # As before each run and each use of a skill.
            other.catalogue.refresh()
            other.check_agreement()

        scenery.activate()
        check()

        scenery.hand.rollouts.revoke(ALICE, NAME)
        scenery.hand.bring_to(Stage.ACTIVE, instructions="Say it otherwise: SCHED_OK.")
        check()
        assert "otherwise" in other.files()[BOTH[0]]

        scenery.hand.rollouts.revoke(ALICE, NAME)
        check()


def damage(units: Units) -> None:
    """Change a definition behind the record's back."""
    with units.write() as unit:
        unit.connection.execute(sa.text("UPDATE rollouts SET fingerprint = 'another'"))
