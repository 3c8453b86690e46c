"""The story of the sample workspace as it is shipped."""

import pytest

from understudy.api.app import ROUTERS
from understudy.api.gate import GatedRoute
from understudy.providers.scripted import load_script
from understudy.sample.story import ROUTES, story

OPERATIONS = {
    route.name_of_operation
    for router in ROUTERS
    for route in router.routes
    if isinstance(route, GatedRoute)
}


def bodies(call: str, field: str) -> list[str]:
    return [step.body[field] for step in story().steps if step.call == call]


def test_every_step_calls_an_operation_of_the_api() -> None:
    assert {step.call for step in story().steps} <= OPERATIONS


def test_the_names_that_the_sample_needs_are_those_that_its_steps_use() -> None:
    told = story()
    assert tuple(bodies("agents.create", "agent_id")) == told.agents
    assert {*bodies("rollouts.promote", "skill_name")} == {*told.rollouts}
    assert {
        body.split("name: ")[1].split("\n")[0] for body in bodies("skills.create", "content")
    } == {*told.skills}
    assert bodies("sessions.create", "session_id")[-1] == told.last_session


@pytest.mark.parametrize("step", [s for s in story().steps if s.call == "sessions.input"])
def test_the_script_has_an_answer_of_its_own_for_every_input(step: object) -> None:
    (route,) = ROUTES.values()
    assert route.script is not None
    *rules, fallback = load_script(route.script).reply
    content = step.body["content"]  # type: ignore[attr-defined]
    assert not fallback.when
    assert any(rule.fits(content) for rule in rules)
