"""What evolving costs in tokens."""

import pytest

from tests.support.factories import make_agent
from understudy.agents.model import AgentType
from understudy.core.text import size_of
from understudy.evolution.nudges import nudge_text, postscript
from understudy.evolution.switch_costs import costs, switches_in_force
from understudy.i18n.locales import DEFAULT, LOCALES

# What each part may take; those in three languages with room for their tokenizers.
CEILINGS = {
    "self_section": 99,
    "skill_section": 141,
    "skill_manage": 304,
    "nudge_70": 38,
    "nudge_90": 58,
    "postscript": 42,
}
# What a tokenizer with a hundred thousand words takes for Vietnamese and Chinese sentences, about.
TOKENS_PER_FOREIGN_BYTE = 0.385


@pytest.mark.parametrize(("part", "most"), CEILINGS.items())
def test_each_part_stays_within_its_budget(part: str, most: int) -> None:
    [found] = [cost for _, cost in costs() if cost.part == part]

    assert 0 < found.tokens <= most


def test_no_part_is_without_a_budget() -> None:
    assert [cost.part for _, cost in costs()] == list(CEILINGS)


@pytest.mark.parametrize("locale", [each for each in LOCALES if each != DEFAULT])
def test_other_languages_stay_within_it_where_a_tokenizer_knows_little_of_them(locale: str) -> None:
    texts = {
        "nudge_70": nudge_text("70", locale),
        "nudge_90": nudge_text("90", locale),
        "postscript": postscript(locale),
    }

    for part, text in texts.items():
        assert size_of(text) * TOKENS_PER_FOREIGN_BYTE <= CEILINGS[part], part


def test_a_frozen_soul_costs_nothing() -> None:
    stored = {"self_evolve": True, "soul_frozen": True}
    found = {each.name: each for each in switches_in_force(make_agent(other_config=stored))}

    assert found["self_evolve"].value is True
    assert not found["self_evolve"].on


def test_the_switches_are_told_as_they_count_and_not_as_they_are_stored() -> None:
    stored = {"self_evolve": True, "skill_evolve": "yes", "skill_nudge_interval": 3}
    found = {each.name: each for each in switches_in_force(make_agent(other_config=stored))}

    assert found["self_evolve"].on
    assert not found["skill_evolve"].on
    assert found["skill_nudge_interval"].value == 3
    # No postscript without skills.
    assert not found["skill_nudge_interval"].on
    assert [cost.part for cost in found["self_evolve"].costs] == ["self_section"]
    assert found["soul_frozen"].costs == ()


def test_an_open_agent_has_everything_off() -> None:
    stored = {"self_evolve": True, "skill_evolve": True}
    agent = make_agent(agent_type=AgentType.OPEN, other_config=stored)

    assert not any(each.on for each in switches_in_force(agent))
