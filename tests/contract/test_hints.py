"""Hints for clients: settings that stand in the way of what a user asked for, on both databases."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import make_session
from tests.support.learning_runs import OFF, ON, LearningRuns
from tests.support.run_harness import texts
from understudy.agents.model import DEFAULT_AGENT_ID, require_agent
from understudy.evolution.hints import Hints
from understudy.learnings.remember import Remember, Suggestions
from understudy.runs.execute import RunExecutor
from understudy.sessions.journal import EventKind
from understudy.settings import Settings
from understudy.testing.answers import call
from understudy.testing.clock import FrozenClock
from understudy.testing.fake_model import FakeModel

SKILL = "Save this as a skill."
REMEMBER = "Please remember that I like tea."


class Hinting(LearningRuns):
    """Runs whose clients are given hints."""

    offline = False

    def _executor(self) -> RunExecutor:
        hints = Hints(self.capture_settings, lambda _, __: self.offline)
        return replace(super()._executor(), hints=hints.events)


@pytest.fixture
async def school(database: UnitsOnDatabase, settings: Settings) -> AsyncIterator[Hinting]:
    clock = FrozenClock()
    tools = (Remember(Suggestions(database.units, clock)),)
    school = Hinting(database.units, settings, captured=OFF, clock=clock, tools=tools)
    yield school
    await school.providers.close()


async def hints(school: Hinting, text: str, **fields: Any) -> list[dict[str, str]]:
    run_id = (await school.run(text, **fields)).run.run_id
    return [dict(event.data) for event in school.journal(run_id, EventKind.HINT)]


def switch_on(school: Hinting) -> None:
    with school.units.write() as unit:
        agent = require_agent(unit, DEFAULT_AGENT_ID)
        unit.agents.update(
            replace(agent, other_config={"skill_evolve": True}, version=agent.version + 1),
            expected_version=agent.version,
        )


async def test_who_wants_a_skill_is_told_what_to_switch_on(
    school: Hinting, fake: FakeModel
) -> None:
    (hint,) = await hints(school, SKILL)
    again = await hints(school, SKILL)
    (spoken,) = await hints(school, "lưu kỹ năng", session_id="s2", locale="vi")

    assert hint["code"] == "skill_evolve_off"
    assert "`understudy agents set default --skill-evolve`" in hint["text"]
    assert again == []
    assert spoken["text"].startswith("Tác tử default")
    assert "--skill-evolve" not in str([texts(fake, at) for at in range(len(fake.requests))])
    assert "--skill-evolve" not in str([seen.system for seen in fake.requests])


async def test_there_is_no_hint_where_the_switch_is_on(school: Hinting, fake: FakeModel) -> None:
    switch_on(school)
    assert await hints(school, SKILL) == []


async def test_who_asks_to_remember_while_capture_is_off_is_told(
    school: Hinting, fake: FakeModel
) -> None:
    (hint,) = await hints(school, REMEMBER)
    school.captured = ON
    on = await hints(school, REMEMBER, session_id="s2")

    assert hint["code"] == "capture_off"
    assert "capture.semantic_candidates.enabled=true" in hint["text"]
    assert on == []


async def test_who_asks_the_offline_script_to_remember_is_told_of_labels(
    school: Hinting, fake: FakeModel
) -> None:
    school.captured, school.offline = ON, True
    (hint,) = await hints(school, REMEMBER)
    labelled = await hints(school, "Please remember this. Fact: I like tea.", session_id="s2")

    assert hint["code"] == "capture_without_model"
    assert "`/remember TEXT`" in hint["text"]
    assert labelled == []


async def test_there_is_no_hint_where_something_was_suggested(
    school: Hinting, fake: FakeModel
) -> None:
    fake.queue(call("remember", {"content": "I like tea"}), "Noted.")
    assert await hints(school, REMEMBER) == []


async def test_nobody_is_told_in_a_sidechain(school: Hinting, fake: FakeModel) -> None:
    with school.units.write() as unit:
        unit.sessions.add(make_session("below", parent_session_id="s1"))
    assert await hints(school, REMEMBER, session_id="below") == []
