"""Active promoted skills in the catalogue and in lists, and nobody sees any other stage."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tests.support.factories import ALICE, make_run, make_session
from tests.support.mounted_rollouts import EVE, MountedRollouts
from tests.support.rollout_factories import make_rollout
from tests.support.rollout_harness import NAME
from tests.support.skill_factories import make_skill
from understudy.agent.offers import CatalogueSkills
from understudy.core.errors import Conflict, NotFound, Rejected
from understudy.core.page import PageRequest
from understudy.daemon.skill_status import SkillReport
from understudy.rollout.files import catalogue_entry_of
from understudy.rollout.model import Stage
from understudy.sessions.learning_scopes import LearningScope, ScopeKind
from understudy.skills.access import Author, require_known
from understudy.skills.catalogue_entry import listing
from understudy.skills.model import SkillFilter, SkillOrigin
from understudy.skills.usage import RecordedUse
from understudy.storage.unit import Units

pytestmark = pytest.mark.one_database

PAGE = PageRequest(limit=200)


@pytest.fixture
def scenery(units: Units, tmp_path: Path) -> MountedRollouts:
    return MountedRollouts(units, tmp_path / "home")


def listed(scenery: MountedRollouts, **narrowed: Any) -> list[str]:
    page = scenery.library.page(EVE, PAGE, SkillFilter(**narrowed))
    return [skill.slug for skill in page.items]


@pytest.mark.parametrize("stage", [it for it in Stage if it is not Stage.ACTIVE])
def test_nobody_is_shown_a_skill_that_is_not_active(scenery: MountedRollouts, stage: Stage) -> None:
    scenery.activate() if stage is Stage.REVOKED else scenery.hand.learn()
    if stage is Stage.REVOKED:
        scenery.hand.rollouts.revoke(ALICE, NAME)
    else:
        scenery.hand.bring_to(stage)

    assert scenery.offered() == []
    assert listed(scenery) == []
    for ref in (NAME, f"promoted:{NAME}"):
        with pytest.raises(NotFound):
            scenery.library.get(EVE, ref)
    one = catalogue_entry_of(scenery.hand.get().record)
    with scenery.units.read() as unit, pytest.raises(NotFound):
        scenery.catalogue.load(unit, one)


@pytest.mark.every_database
def test_an_active_skill_is_offered_and_listed(scenery: MountedRollouts) -> None:
    record = scenery.activate(when_to_use="Each week", description="Looks after the scheduler")

    [one] = scenery.offered()
    assert (one.slug, one.ref, one.version, one.skill_id) == (NAME, f"promoted:{NAME}", None, None)
    assert (one.origin, one.context) == (SkillOrigin.PROMOTED, "fork")
    assert scenery.catalogue.find([one], "scheduler", 5) == (one,)
    assert listed(scenery) == [NAME]
    assert listed(scenery, origin=SkillOrigin.PROMOTED, query="scheduler") == [NAME]
    assert listed(scenery, origin=SkillOrigin.MANAGED) == []
    for ref in (NAME, f"promoted:{NAME}"):
        detail = scenery.library.get(EVE, ref)
        assert detail.instructions.strip() == record.definition.instructions
        assert (detail.skill.owner_id, detail.skill.digest) == ("alice", record.digest)
        assert detail.runtime == record.definition.runtime
    with scenery.units.read() as unit:
        loaded = scenery.catalogue.load(unit, one)
    assert (loaded.fingerprint, loaded.folder) == (record.fingerprint, None)
    assert loaded.body == record.definition.instructions


LOOKS: dict[str, Callable[[MountedRollouts], object]] = {
    "versions": lambda it: it.library.versions(EVE, NAME, PAGE).items == (),
    "files": lambda it: (
        [file.path for file in it.library.files(EVE, NAME, None)]
        == ["SKILL.md", "agents/understudy.yaml"]
    ),
    "read_file": lambda it: (
        b"verification" in it.library.read_file(EVE, NAME, "agents/understudy.yaml", None)
    ),
    "export": lambda it: it.library.export(EVE, NAME, None).file_name.startswith("learning-sched"),
    "grants": lambda it: it.library.grants(EVE, NAME) == (),
    "access": lambda it: it.library.access(EVE, NAME, agent_id="default", user_id=None).allowed,
    "usage": lambda it: it.library.usage(EVE, NAME, PageRequest()).items[0].used == 0,
}


@pytest.mark.every_database
@pytest.mark.parametrize("look", LOOKS)
def test_people_look_at_it_as_at_any_other(scenery: MountedRollouts, look: str) -> None:
    scenery.activate()

    assert LOOKS[look](scenery)


def test_it_is_changed_through_its_rollout_alone(scenery: MountedRollouts) -> None:
    scenery.activate()
    author = Author(principal=ALICE)

    with scenery.units.read() as unit:
        with pytest.raises(Rejected) as caught:
            require_known(unit, author, f"promoted:{NAME}")
        with pytest.raises(NotFound):
            require_known(unit, author, "sched")

    assert caught.value.code == "skill_is_promoted"


@pytest.mark.parametrize(
    ("scope", "is_seen"),
    [
        ({"skill_deny": [NAME]}, False),
        ({"skill_deny": ["*"]}, False),
        ({"skill_allow": ["other"]}, False),
        ({"skill_allow": [NAME, "other"]}, True),
        ({"skill_deny": ["other"]}, True),
    ],
)
def test_a_session_sees_what_its_capability_scope_lets_through(
    scenery: MountedRollouts, scope: dict[str, list[str]], is_seen: bool
) -> None:
    scenery.activate()
    session = make_session("s1", capability_scope=scope)

    assert scenery.origins(session) == (["promoted"] if is_seen else [])


@pytest.mark.every_database
def test_a_session_sees_what_was_learned_for_a_scope_of_its_own(scenery: MountedRollouts) -> None:
    scope = LearningScope(kind=ScopeKind.SESSION, id="s1")
    with scenery.units.write() as unit:
        unit.rollouts.add(make_rollout(NAME, status=Stage.ACTIVE, source_scope=scope))

    assert scenery.origins(make_session("s1")) == ["promoted"]
    assert scenery.origins(make_session("s2")) == []
    assert scenery.origins(None) == []


def test_what_is_chosen_for_a_session_is_decided_by_stage(scenery: MountedRollouts) -> None:
    scenery.hand.learn()
    record = scenery.hand.bring_to(Stage.CANARY).record
    chosen = {Stage.CANARY: lambda _, __, session: session.session_id == "s1"}
    source = type(scenery.promoted)(scenery.keeper, scenery.repair, chosen, clock=scenery.clock)

    with scenery.units.read() as unit:
        [one] = source.offered(unit, make_session("s1"))
        assert source.offered(unit, make_session("s2")) == ()
        assert source.load(unit, one).body == record.definition.instructions
        assert source.sources(unit) == []
    assert scenery.files() == {}


class TestFiles:
    """A skill whose files are not what the record says is refused, and offered all the same."""

    @pytest.mark.parametrize(
        "change",
        [
            lambda it: (it / "SKILL.md").write_text("Do something else."),
            lambda it: (it / "agents" / "understudy.yaml").write_text("context: inline\n"),
            lambda it: (it / "SKILL.md").unlink(),
            lambda it: (it / "more.md").write_text("more"),
            lambda it: (
                (it / "SKILL.md").rename(it.parent / "kept")
                and (it / "SKILL.md").symlink_to(it.parent / "kept")
            ),
        ],
        ids=["edited", "other runtime", "removed", "added", "linked"],
    )
    def test_drift_is_refused_until_the_next_start(
        self, scenery: MountedRollouts, change: Callable[[Path], object]
    ) -> None:
        scenery.activate()
        [one] = scenery.offered()
        change(scenery.folder())

        with scenery.units.read() as unit, pytest.raises(Conflict, match="mismatch") as caught:
            scenery.catalogue.load(unit, one)

        assert caught.value.code == "rollout_drifted"
        # From then on everybody is told so, and whoever asks all the same is refused again.
        assert scenery.troubles() == [("rollout_drifted", NAME)]
        [broken] = scenery.offered()
        assert broken == replace(one, unusable="rollout_drifted")
        assert scenery.library.current(EVE, NAME).enabled is False
        with scenery.units.read() as unit, pytest.raises(Conflict, match="mismatch"):
            scenery.catalogue.load(unit, broken)
        again = scenery.restarted()
        with again.units.read() as unit:
            assert again.catalogue.load(unit, one).offered == one
        assert again.offered() == [one]

    def test_no_prompt_tells_of_a_skill_that_cannot_be_used(self, scenery: MountedRollouts) -> None:
        scenery.activate()
        run, session = make_run("s1"), make_session("s1")
        skills = CatalogueSkills(scenery.catalogue)

        def told() -> str | None:
            scenery.catalogue.refresh()
            with scenery.units.read() as unit:
                return skills.section(
                    unit, replace(run, trial_id="trl_1"), session, ["use_skill"]
                ).text

        assert NAME in (told() or "")
        (scenery.folder() / "SKILL.md").write_text("Do something else.")
        scenery.keeper.check_changes()
        assert NAME not in (told() or "")


@pytest.mark.every_database
def test_only_what_changed_is_read_again(scenery: MountedRollouts) -> None:
    """Runs that speak for a skill change nothing that is offered."""
    for at in range(3):
        scenery.activate(f"lrn_{at}", skill_name=f"sched-{at}")
    scenery.offered()

    assert bodies_read(scenery, scenery.offered) == []
    scenery.hand.show("verification", scenery.hand.run(), skill_name="sched-1")
    assert bodies_read(scenery, scenery.offered) == []
    scenery.hand.rollouts.revoke(ALICE, "sched-2")
    assert bodies_read(scenery, scenery.offered) == []
    scenery.hand.rollouts.rollback(ALICE, "sched-2")
    read = bodies_read(scenery, scenery.offered)
    assert read
    assert all("sched-2" in values and "sched-0" not in values for values in read)
    assert [one.slug for one in scenery.offered()] == ["sched-0", "sched-1", "sched-2"]


def bodies_read(scenery: MountedRollouts, look: Callable[[], object]) -> list[str]:
    """With what values whole records were asked for."""
    asked = statements(scenery, look)
    return [values for statement, values in asked if "rollouts.body" in statement]


def statements(scenery: MountedRollouts, look: Callable[[], object]) -> list[tuple[str, str]]:
    """What the database was asked, each with its values."""
    asked = list[tuple[str, str]]()

    def listen(*given: Any) -> None:
        asked.append((given[2], str(given[3])))

    engine = scenery.units.engine
    sa.event.listen(engine, "before_cursor_execute", listen)
    look()
    sa.event.remove(engine, "before_cursor_execute", listen)
    return asked


@pytest.mark.every_database
@pytest.mark.parametrize(
    "look",
    [MountedRollouts.offered, lambda it: it.library.page(EVE, PAGE, SkillFilter())],
    ids=["a prompt", "a list"],
)
def test_many_skills_cost_no_more_statements_than_one(
    scenery: MountedRollouts, look: Callable[[MountedRollouts], object]
) -> None:
    def asked() -> int:
        look(scenery)
        return len(statements(scenery, lambda: look(scenery)))

    scenery.activate("lrn_0", skill_name="sched-0")
    one = asked()
    for at in range(1, 5):
        scenery.activate(f"lrn_{at}", skill_name=f"sched-{at}")

    assert asked() == one


@pytest.mark.every_database
class TestNames:
    """Who comes first where two have one name."""

    def test_a_kept_skill_comes_first_for_who_knows_it(self, scenery: MountedRollouts) -> None:
        scenery.activate(skill_name="sched")
        with scenery.units.write() as unit:
            unit.skills.add(make_skill("sched", owner_id="eve"))

        own = {one.origin for one in scenery.offered()}
        others = {one.origin for one in scenery.offered(user_id="bob")}

        assert own == {SkillOrigin.MANAGED}
        assert others == {SkillOrigin.PROMOTED}
        assert scenery.library.current(EVE, "sched").origin is SkillOrigin.MANAGED
        assert listed(scenery) == ["sched"]
        assert scenery.library.current(EVE, "skl_sched").origin is SkillOrigin.MANAGED

    def test_one_in_the_workspace_gives_way(self, scenery: MountedRollouts) -> None:
        scenery.activate()
        scenery.put_local("workspace/skills", NAME)

        assert scenery.origins() == ["promoted"]
        assert listed(scenery) == [NAME]
        scenery.check_agreement()
        look = SkillReport(scenery.units, scenery.local.catalogue, tuple, tuple, scenery.promoted)
        assert [it["code"] for it in look(in_full=True)["local_warnings"]] == ["name_promoted"]

    def test_one_in_the_workspace_does_not_replace_a_revoked_one(
        self, scenery: MountedRollouts
    ) -> None:
        scenery.activate()
        scenery.put_local("workspace/skills", NAME)
        scenery.hand.rollouts.revoke(ALICE, NAME)

        assert scenery.origins() == []
        assert listed(scenery) == []
        with pytest.raises(NotFound):
            scenery.library.get(EVE, "local:learning-sched")
        look = SkillReport(scenery.units, scenery.local.catalogue, tuple, tuple, scenery.promoted)
        [told] = look(in_full=True)["local_warnings"]
        assert told["code"] == "name_promoted"
        assert "was revoked" in told["detail"]
        # Where people put it, it is theirs.
        scenery.put_local("named", NAME)
        assert scenery.origins() == ["local"]

    def test_a_draft_that_was_never_active_takes_no_name_from_a_folder(
        self, scenery: MountedRollouts
    ) -> None:
        scenery.put_local("workspace/skills", NAME)
        scenery.hand.learn()
        scenery.hand.bring_to(Stage.VERIFIED)
        assert scenery.origins() == ["local"]

        scenery.hand.rollouts.revoke(ALICE, NAME)
        assert scenery.origins() == ["local"]

    @pytest.mark.parametrize("root", ["named", "skills"])
    def test_one_that_people_put_there_is_never_taken_for_it(
        self, scenery: MountedRollouts, root: str
    ) -> None:
        record = scenery.activate()
        folder = scenery.put_local(root, NAME)

        again = scenery.restarted()

        assert again.origins() == ["local"]
        assert again.troubles() == [("rollout_shadowed", NAME)]
        assert again.files() == {}
        assert again.hand.get().record == record
        [one] = again.offered()
        with again.units.read() as unit:
            assert again.catalogue.load(unit, one).fingerprint is None

        (folder / "SKILL.md").unlink()
        again.look_again()
        again.check_agreement()

    def test_the_files_themselves_are_no_skill_in_a_folder(self, scenery: MountedRollouts) -> None:
        scenery.activate()
        (scenery.home / "skills" / "again").symlink_to(scenery.folder())
        scenery.look_again()

        assert scenery.local.catalogue().skills == ()
        assert scenery.origins() == ["promoted"]


def test_what_an_undone_unit_saw_is_not_remembered_as_true(scenery: MountedRollouts) -> None:
    record = scenery.activate()
    said = replace(record.definition, description="never was")
    doomed = replace(record, definition=said, revision=record.revision + 1)

    def seen_and_undone() -> None:
        with scenery.units.write() as unit:
            unit.rollouts.update(doomed, expected_version=record.revision)
            [one] = scenery.promoted.offered(unit, None)
            assert one.description == "never was"
            raise KeyError

    with pytest.raises(KeyError):
        seen_and_undone()

    assert [one.description for one in scenery.offered()] == [record.definition.description]


@pytest.mark.every_database
def test_uses_are_counted_as_the_promoted_skills_own(scenery: MountedRollouts) -> None:
    record = scenery.activate(skill_name="sched")
    run = scenery.hand.run()
    [one] = scenery.offered()
    use = RecordedUse(
        use_id="u1",
        skill_id=None,
        slug=one.slug,
        version=None,
        digest=one.digest,
        agent_id="default",
        user_id="eve",
        session_id="s1",
        run_id=run.run_id,
        at_ms=1,
        fingerprint=record.fingerprint,
    )
    with scenery.units.write() as unit:
        unit.skill_uses.add(use)
        unit.skill_uses.add(replace(use, use_id="u2", fingerprint=None))
        unit.skill_uses.list_for([listing(one, run_id=run.run_id, at_ms=1)])
        assert unit.skill_uses.get("u1") == use

        [own] = unit.skill_uses.usage("promoted:sched")
        [local] = unit.skill_uses.usage("local:sched")
        every = unit.skill_uses.usage_since(0)

    assert (own.offered, own.used, own.succeeded) == (1, 1, 1)
    assert (local.offered, local.used) == (0, 1)
    assert {it.ref for it in every} == {"promoted:sched", "local:sched"}
