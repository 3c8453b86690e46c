"""Skills that are active in a session: fixed, in each prompt, enforced, and left out when unsafe."""

from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.run_memory_reads import section_in, system_text
from tests.support.skill_runs import ANN, BOB, LEARNER, OK_MD, SkillRuns, author, make_skill_runs
from understudy.agent.offers import CatalogueSkills
from understudy.core.errors import Conflict, Invalid, LimitExceeded, NotFound, UnderstudyError
from understudy.runs.submission import Submission
from understudy.sessions.creation import NewSession
from understudy.sessions.model import ActiveSkillSource, DefaultSkill, Session
from understudy.sessions.persona import PersonaFields, PersonaService
from understudy.sessions.service import SessionService
from understudy.settings import Settings
from understudy.skills import active
from understudy.skills.active import ActiveSkills, ActiveSkillStanding, without
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.local.roots import Root
from understudy.skills.runtime_settings import RUNTIME_FILE
from understudy.storage.unit import Units
from understudy.testing.answers import call
from understudy.testing.fake_model import FakeModel

WEEKLY = DefaultSkill(name="weekly-report")


class Desk:
    """Sessions, personas and runs over one catalogue."""

    def __init__(self, skilled: SkillRuns) -> None:
        self.skilled = skilled
        self.units: Units = skilled.units
        clock = skilled.harness.clock
        self.active = ActiveSkills(skilled.catalogue)
        self.sessions = SessionService(self.units, clock, lambda _: True, self.active)
        self.personas = PersonaService(self.units, clock)

    def keep(self, text: str = OK_MD, runtime: str = "") -> None:
        files = {"SKILL.md": text.encode()}
        if runtime:
            files[RUNTIME_FILE] = runtime.encode()
        self.skilled.service.keep(author(ANN), Bundle(files), action="skills.upload")

    def activate(self, name: str = "weekly-report", session_id: str = LEARNER) -> Session:
        return self.sessions.activate_skill(ANN, session_id, DefaultSkill(name=name))

    def standing(self, session_id: str = LEARNER, user_id: str = "ann") -> ActiveSkillStanding:
        with self.units.read() as unit:
            session = unit.sessions.get(session_id)
            assert session is not None
            [one] = self.active.standings(unit, session, user_id=user_id)
        return one

    def state(self, session_id: str = LEARNER, user_id: str = "ann") -> tuple[str, str | None]:
        one = self.standing(session_id, user_id)
        return str(one.state), None if one.reason is None else str(one.reason)

    async def prompt(self, **more: object) -> str:
        """What the prompt of one more run says of skills."""
        await self.skilled.run("ok", **more)  # type: ignore[arg-type]
        text = system_text(self.skilled.fake)
        return section_in(text, "Skills") if "## Skills" in text else ""


@pytest.fixture
async def desk(
    database: UnitsOnDatabase, settings: Settings, fake: FakeModel, tmp_path: Path
) -> AsyncIterator[Desk]:
    roots = (Root(path=tmp_path / "roots"),)
    skilled = make_skill_runs(database.units, database.queued, settings, fake, roots)
    skilled.harness = replace(skilled.harness, skills=CatalogueSkills(skilled.catalogue))
    yield Desk(skilled)
    await skilled.harness.providers.close()


async def test_an_active_skill_is_in_each_prompt_in_the_version_of_its_activation(
    desk: Desk,
) -> None:
    desk.keep()
    session = desk.activate("Weekly report")
    desk.keep(OK_MD.replace("Collect", "Guess"))

    first, second = await desk.prompt(), await desk.prompt()

    assert "<skill_instructions>\nCollect and write.\n</skill_instructions>" in first
    assert first == second
    assert "Guess" not in first
    [kept] = session.active_skills
    assert (kept.slug, kept.version, kept.source) == ("weekly-report", 1, "session")
    assert (kept.activated_by, len(kept.digest)) == ("ann", 64)
    assert desk.state() == ("in_prompt", None)
    assert desk.skilled.uses() == 2

    # Once more, it takes the version of now.
    [renewed] = desk.activate().active_skills
    assert renewed.version == 2
    assert "Guess and write." in await desk.prompt()
    audited = desk.skilled.audited("sessions.activate_skill")
    assert [it.reason for it in audited] == ["Weekly report", "weekly-report"]


async def test_a_persona_brings_its_skills_along_and_takes_them_away(desk: Desk) -> None:
    desk.keep()
    fields = PersonaFields(soul="Be brief.", default_skills=(replace(WEEKLY, args="in March"),))
    desk.personas.create(ANN, "editor", fields)
    made = desk.sessions.create(
        ANN, NewSession(session_id="new", agent_id=LEARNER, persona_id="editor")
    )
    bound = desk.sessions.bind_persona(ANN, LEARNER, "editor")

    for session in (made, bound):
        [kept] = session.active_skills
        assert (kept.source, kept.args, kept.version) == ("persona", "in March", 1)
    said = await desk.prompt()
    assert '<skill_arguments>\n"in March"\n</skill_arguments>' in said

    # A later edit of the persona does not reach the session.
    desk.personas.update(ANN, "editor", PersonaFields(default_skills=()))
    assert "Collect and write." in await desk.prompt()
    assert desk.sessions.bind_persona(ANN, LEARNER, "editor").active_skills == ()
    desk.activate()
    assert len(desk.sessions.clear_persona(ANN, LEARNER).active_skills) == 1


async def test_a_skill_that_is_no_longer_served_is_left_out_and_its_limits_with_it(
    desk: Desk,
) -> None:
    desk.keep(runtime="allowed_tools: [list_files]\n")
    desk.activate()
    write = call("write_file", {"path": "a.txt", "content": "x"})
    [denied] = await desk.skilled.told(write)

    desk.skilled.service.toggle(author(ANN), "weekly-report", enabled=False)

    assert desk.state() == ("left_out", "not_available")
    [allowed] = await desk.skilled.told(write)
    assert "Collect" not in system_text(desk.skilled.fake)
    desk.skilled.service.toggle(author(ANN), "weekly-report", enabled=True)
    assert desk.state() == ("in_prompt", None)
    desk.skilled.service.delete(author(ANN), "weekly-report")
    assert desk.state() == ("left_out", "not_available")
    assert "uses only list_files" in denied
    assert allowed.startswith("created a.txt")


async def test_only_the_allowed_tools_run_while_a_skill_is_active(desk: Desk) -> None:
    desk.keep(runtime="allowed_tools: [list_files]\nblocked_tools: [skill_search]\n")
    desk.activate()
    write = call("write_file", {"path": "a.txt", "content": "x"})

    told = await desk.skilled.told(
        write, call("list_files", {"path": "."}), call("skill_search", {"query": "x"})
    )

    reason = "denied: the skill weekly-report, which this run follows, "
    assert told[0] == f"{reason}uses only list_files"
    assert not told[1].startswith("denied")
    assert told[2] == f"{reason}blocks it"


@pytest.mark.one_database
async def test_taking_off_what_is_not_there_changes_and_records_nothing(desk: Desk) -> None:
    before = desk.sessions.get(LEARNER)
    drop = partial(without, name="*")
    assert desk.sessions.deactivate_skills(ANN, LEARNER, drop, reason="*") == before
    assert desk.sessions.get(LEARNER) == before


@pytest.mark.one_database
async def test_a_sidechain_is_held_to_what_is_active_above_it(desk: Desk) -> None:
    desk.keep(runtime="blocked_tools: [write_file]\n")
    desk.activate()
    child = desk.sessions.create(ANN, NewSession(session_id="child", parent_session_id=LEARNER))

    assert [it.source for it in child.active_skills] == [ActiveSkillSource.PARENT]
    write = call("write_file", {"path": "a.txt", "content": "x"})
    [told] = await desk.skilled.told(write, session_id="child")
    assert told.endswith("blocks it")
    for drop in ("weekly-report", "Weekly report"):
        with pytest.raises(Conflict) as refused:
            without(child, drop)
        assert refused.value.code == "active_skill_inherited"
    assert without(child, "*").active_skills == child.active_skills
    with pytest.raises(Conflict):
        desk.activate(session_id="child")


@pytest.mark.one_database
async def test_others_do_not_get_what_they_may_not_use(desk: Desk) -> None:
    desk.keep()
    desk.activate()

    said = await desk.prompt(who=BOB)

    assert "Collect" not in said
    assert desk.state(user_id="bob") == ("left_out", "not_available")
    with pytest.raises(NotFound) as refused:
        desk.sessions.activate_skill(BOB, "fresh", WEEKLY)
    assert refused.value.code == "active_skill_not_found"
    assert "Weekly" not in refused.value.detail


@pytest.mark.one_database
async def test_a_session_changes_its_skills_only_while_it_is_idle(desk: Desk) -> None:
    desk.keep()
    desk.skilled.harness.runs.submit(ANN, LEARNER, Submission(content="wait"))
    for act in (
        desk.activate,
        lambda: desk.sessions.deactivate_skills(ANN, LEARNER, lambda it: it, reason=None),
    ):
        with pytest.raises(Conflict) as refused:
            act()
        assert refused.value.code == "session_not_idle"
        assert refused.value.params == {"blockers": ["queued_runs"]}


@pytest.mark.one_database
async def test_what_cannot_be_active_is_refused_by_name(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def code(name: str, kind: type[UnderstudyError], **fields: str) -> str:
        wanted = DefaultSkill(name=name, **fields)
        with pytest.raises(kind) as refused:
            desk.sessions.activate_skill(ANN, LEARNER, wanted)
        assert name in refused.value.detail or fields or kind is LimitExceeded
        return refused.value.code

    desk.keep()
    desk.keep(OK_MD.replace("Weekly", "Daily"), runtime="context: fork\n")
    with pytest.raises(NotFound) as refused:
        desk.activate("weekly-repotr")
    assert "weekly-report" in refused.value.detail
    assert code("nothing", NotFound) == "active_skill_not_found"
    assert code("daily-report", Conflict) == "active_skill_forks"
    assert code("weekly-report", Invalid, args="<" * 4096) == "invalid_active_skill_args"
    desk.sessions.set_capability_scope(ANN, LEARNER, {"skill_allow": ["daily-report"]})
    assert code("weekly-report", Conflict) == "active_skill_out_of_scope"
    desk.sessions.set_capability_scope(ANN, LEARNER, None)
    monkeypatch.setattr(active, "MAX_ACTIVE", 0)
    assert code("weekly-report", LimitExceeded) == "too_many_active_skills"


@pytest.mark.one_database
async def test_a_skill_for_which_there_is_no_room_is_named_and_opened_in_its_version(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.keep()
    desk.activate()
    desk.keep(OK_MD.replace("Collect", "Guess"))
    monkeypatch.setattr(active, "MAX_BYTES", 100)

    [opened] = await desk.skilled.told(call("use_skill", {"name": "weekly-report"}))

    assert desk.state() == ("named_only", "no_room")
    said = section_in(system_text(desk.skilled.fake), "Skills")
    assert "Collect" not in said
    assert "begin: weekly-report." in said
    assert "Collect and write." in opened


@pytest.mark.one_database
async def test_a_local_skill_that_changed_is_left_out(desk: Desk, tmp_path: Path) -> None:
    folder = tmp_path / "roots" / "nearby"
    folder.mkdir(parents=True)
    text = "---\nname: nearby\ndescription: Does it\n---\n{}\n"
    (folder / "SKILL.md").write_text(text.format("Do it."))
    desk.activate("nearby")
    assert desk.state() == ("in_prompt", None)

    (folder / "SKILL.md").write_text(text.format("Do something else."))
    desk.skilled.harness.clock.advance(60_000)
    desk.skilled.catalogue.refresh()

    assert desk.state() == ("left_out", "changed_since")
    assert "something else" not in await desk.prompt()


@pytest.mark.one_database
async def test_an_active_skill_of_somebody_else_taints_the_run(desk: Desk) -> None:
    desk.keep()
    desk.skilled.service.grant_agent(author(ANN), "weekly-report", LEARNER)
    desk.sessions.activate_skill(BOB, LEARNER, WEEKLY)

    run_id = await desk.skilled.run("ok", who=BOB)

    with desk.units.read() as unit:
        assert unit.runs.taints(run_id) == {"foreign_skill": ["weekly-report"]}


@pytest.mark.one_database
async def test_taking_off_what_is_not_active_names_what_is(desk: Desk) -> None:
    desk.keep()
    session = desk.activate()
    with pytest.raises(NotFound) as refused:
        without(session, "daily-report")
    assert "weekly-report" in refused.value.detail
    assert without(session, "Weekly report").active_skills == ()
    with pytest.raises(NotFound, match="no skill is active in the session, so 'weekly-report'"):
        without(replace(session, active_skills=()), "weekly-report")
