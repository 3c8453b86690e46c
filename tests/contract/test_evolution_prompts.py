"""What a prompt says of evolving, by the switches; nothing at all, to the byte, where they are off."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tests.contract.conftest import UnitsOnDatabase
from tests.support.evolving_runs import (
    EVOLVING,
    OPEN,
    PLAIN,
    EvolvingRuns,
    make_evolving_runs,
    working,
)
from tests.support.factories import make_file, make_session
from tests.support.run_harness import Probe, RunHarness
from tests.support.run_memory_reads import section_in, set_policy, system_text
from tests.support.silent_parts import NoCoach
from tests.support.skill_catalogue_harness import SkillCatalogueHarness
from tests.support.stored_runs import has_prompt
from understudy.agent.offers import CatalogueSkills
from understudy.agents.model import AgentType
from understudy.core.text import estimate_tokens
from understudy.evolution.nudges import (
    SELF_EVOLUTION,
    SELF_EVOLUTION_TITLE,
    SKILL_CREATION,
)
from understudy.runs.model import RunKind, RunStatus
from understudy.settings import Settings
from understudy.skills.model import Visibility
from understudy.testing.fake_model import FakeModel

FOREVER = 1000
MANAGE = "skill_manage"


@pytest.fixture
async def coached(
    database: UnitsOnDatabase, settings: Settings, fake: FakeModel
) -> AsyncIterator[EvolvingRuns]:
    coached = make_evolving_runs(database.units, settings, fake)
    # Nothing that one run leaves behind reaches the prompt of another.
    set_policy(database.units, enabled=False)
    yield coached
    await coached.harness.providers.close()


def parts(fake: FakeModel, number: int = -1) -> tuple[bool, bool]:
    """Whether a request has the section on the agent itself, and the part on making skills."""
    text = system_text(fake, number)
    whole = f"## {SELF_EVOLUTION_TITLE}\n\n{SELF_EVOLUTION}"
    has_own = section_in(text, SELF_EVOLUTION_TITLE) != ""
    has_skills = "### Skill Creation" in text
    assert (whole in text, SKILL_CREATION in text) == (has_own, has_skills)
    return has_own, has_skills


def offers_tool(fake: FakeModel, number: int = -1) -> bool:
    return any(tool["function"]["name"] == MANAGE for tool in fake.requests[number].body["tools"])


SHOWN: tuple[tuple[dict[str, Any], tuple[bool, bool]], ...] = (
    ({}, (False, False)),
    ({"self_evolve": True}, (True, False)),
    ({"skill_evolve": True}, (False, True)),
    ({"self_evolve": True, "skill_evolve": True}, (True, True)),
    ({"self_evolve": True, "soul_frozen": True}, (False, False)),
    ({"self_evolve": True, "skill_evolve": True, "soul_frozen": "?"}, (False, True)),
    ({"self_evolve": True, "soul_frozen": False, "soul_review": True}, (True, False)),
    ({"self_evolve": "yes", "skill_evolve": 1}, (False, False)),
    ({"skill_evolve": True, "skill_nudge_interval": "ten"}, (False, True)),
    ({"skill_evolve": True, "self_evolve": None, "skill_nudge_interval": 0}, (False, True)),
)


@pytest.mark.one_database
async def test_each_switch_shows_its_own_part_and_no_other(coached: EvolvingRuns) -> None:
    for switches, shown in SHOWN:
        coached.switch(**switches)

        await coached.run()

        assert parts(coached.fake) == shown, switches
        assert offers_tool(coached.fake) is shown[1]
        assert (MANAGE in json.dumps(coached.fake.requests[-1].body)) is shown[1]
    assert MANAGE in coached.harness.registry.names()


def test_the_parts_cost_no_more_than_they_may() -> None:
    own = f"## {SELF_EVOLUTION_TITLE}\n\n{SELF_EVOLUTION}"

    assert estimate_tokens(own) <= 99
    assert estimate_tokens(SKILL_CREATION) <= 141


async def test_what_is_malformed_switches_nothing_on_and_breaks_nothing(
    database: UnitsOnDatabase, coached: EvolvingRuns
) -> None:
    statement = sa.text("UPDATE agents SET other_config = :stored WHERE agent_id = :agent")
    for stored in ("null", "[]", '"x"', "7", "{", '{"skill_evolve": "yes"}'):
        with database.engine.begin() as connection:
            connection.execute(statement, {"stored": stored, "agent": EVOLVING})

        assert (await coached.run()).run.status is RunStatus.COMPLETED
        assert parts(coached.fake) == (False, False)
        assert MANAGE not in json.dumps(coached.fake.requests[-1].body)


@pytest.mark.one_database
@pytest.mark.parametrize("agent_id", [PLAIN, OPEN, EVOLVING])
async def test_off_is_the_same_to_the_byte_as_a_daemon_without_the_feature(
    coached: EvolvingRuns, agent_id: str
) -> None:
    """Through a whole budget, with more calls than any interval; EVOLVING becomes an open agent."""
    if agent_id == EVOLVING:
        coached.change(agent_type=AgentType.OPEN)
    coached.fake.rule = working(FOREVER, at_once=2)
    without = RunHarness(
        coached.harness.units, coached.harness.settings, tools=coached.harness.tools
    )
    assert isinstance(without.coach, NoCoach)
    with coached.harness.units.write() as unit:
        unit.sessions.add(make_session("other", agent_id=agent_id))

    run = (await coached.run(agent_id)).run
    await without.run(session_id="other")
    await without.providers.close()

    sent = [json.dumps(seen.body) for seen in coached.fake.requests]
    assert len(sent) == 40
    assert sent[:20] == sent[20:]
    assert not any(MANAGE in text for text in sent)
    assert coached.remarks(run.run_id) == []
    assert run.usage.tool_calls == 38


@pytest.mark.one_database
async def test_the_sections_stand_in_their_order_under_one_heading_each(
    database: UnitsOnDatabase, settings: Settings, fake: FakeModel, tmp_path: Path
) -> None:
    skills = SkillCatalogueHarness(database.units, tmp_path)
    tools = (Probe(MANAGE), Probe("use_skill"))
    coached = make_evolving_runs(
        database.units, settings, fake, tools=tools, skills=CatalogueSkills(skills.catalogue)
    )
    with database.units.write() as unit:
        unit.agents.add_file(make_file("SOUL.md", "Be kind.", agent_id=EVOLVING))

    await coached.run()
    bare = system_text(fake)
    skills.keep("weekly", visibility=Visibility.PUBLIC)
    await coached.run()
    listed = system_text(fake)
    await coached.harness.providers.close()

    for text in (bare, listed):
        assert text.count("\n## Skills\n") == 1
        assert text.count(f"\n## {SELF_EVOLUTION_TITLE}\n") == 1
        names = ("## Base", "## Context files", f"## {SELF_EVOLUTION_TITLE}", "## Skills", "### Sk")
        places = [text.index(name) for name in names]
        assert places == sorted(places)
    assert section_in(bare, "Skills") == SKILL_CREATION
    assert "<location>weekly</location>" in section_in(listed, "Skills")
    assert section_in(listed, "Skills").endswith(SKILL_CREATION)


@pytest.mark.one_database
async def test_without_its_tool_the_part_on_skills_is_left_out(coached: EvolvingRuns) -> None:
    with coached.harness.units.write() as unit:
        unit.tool_switches.set(MANAGE, enabled=False)

    await coached.run()

    assert parts(coached.fake) == (True, False)
    assert "## Skills" not in system_text(coached.fake)


async def test_a_change_holds_from_the_next_run_on(coached: EvolvingRuns) -> None:
    coached.fake.rule = working(FOREVER)
    coached.probe.hold("5")
    run_id = coached.harness.submit(session_id=EVOLVING)
    task = coached.harness.begin(run_id)
    await coached.probe.reached()
    coached.switch()
    coached.probe.go_on.set()
    await task

    assert len(coached.sent()[-1]) == 2
    assert coached.reply(run_id).count("---") == 1
    coached.fake.requests.clear()
    await coached.run()
    assert coached.sent() == [[]] * 20
    assert parts(coached.fake) == (False, False)


async def test_an_agent_that_is_being_set_up_has_neither_part(coached: EvolvingRuns) -> None:
    def write(version: int, content: str) -> None:
        file = make_file("BOOTSTRAP.md", content, agent_id=EVOLVING, version=version)
        with coached.harness.units.write() as unit:
            unit.agents.add_file(file)

    write(1, "Ask who you are.")
    await coached.run()
    assert parts(coached.fake) == (False, False)
    assert offers_tool(coached.fake)

    write(2, "")
    await coached.run()
    assert parts(coached.fake) == (True, True)


@pytest.mark.one_database
async def test_runs_that_nobody_sits_at_have_short_prompts_and_still_hear_of_the_budget(
    coached: EvolvingRuns,
) -> None:
    coached.fake.rule = working(FOREVER)

    await coached.run(kind=RunKind.SCHEDULED_INPUT)

    assert parts(coached.fake, 0) == (False, False)
    assert len(coached.sent()[-1]) == 2


async def test_what_a_run_goes_by_is_kept_beyond_its_end(coached: EvolvingRuns) -> None:
    coached.switch(skill_evolve=True, skill_nudge_interval=4)

    run_id = (await coached.run(locale="vi")).run.run_id

    with coached.harness.units.read() as unit:
        assert not has_prompt(unit, run_id)
        kept = unit.runs.reports(run_id).evolution
    assert kept == {
        "self_evolve": False,
        "skill_evolve": True,
        "skill_nudge_interval": 4,
        "locale": "vi",
        "is_interactive": True,
        "soul_version": 0,
    }
