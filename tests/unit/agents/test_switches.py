"""The switches of an agent: read with tolerance, written strictly."""

from typing import Any

import pytest

from tests.support.factories import make_agent
from understudy.agents.file_versions import check_file_name
from understudy.agents.model import CONTEXT_FILES, AgentType
from understudy.agents.switches import (
    SoulLocks,
    Switches,
    check_other_config,
    resolve,
    soul_locks,
)
from understudy.core.errors import Invalid


@pytest.mark.parametrize(
    ("stored", "switches"),
    [
        ({}, Switches()),
        ({"skill_evolve": "yes"}, Switches()),
        ({"self_evolve": 1, "skill_evolve": "true"}, Switches()),
        ({"self_evolve": True}, Switches(self_evolve=True)),
        ({"skill_evolve": True, "skill_nudge_interval": "ten"}, Switches(skill_evolve=True)),
        ({"skill_nudge_interval": True}, Switches()),
        ({"skill_nudge_interval": 2.5}, Switches()),
        ({"skill_nudge_interval": 0}, Switches(skill_nudge_interval=0)),
        ({"skill_nudge_interval": None, "colour": "blue"}, Switches()),
    ],
)
def test_a_malformed_value_switches_nothing_on(stored: dict[str, Any], switches: Switches) -> None:
    assert resolve(make_agent(other_config=stored)) == switches


def test_defaults_are_off_off_and_fifteen() -> None:
    assert Switches() == Switches(self_evolve=False, skill_evolve=False, skill_nudge_interval=15)


def test_an_open_agent_has_every_switch_off_whatever_is_stored() -> None:
    stored = {"self_evolve": True, "skill_evolve": True, "skill_nudge_interval": 3}

    assert resolve(make_agent(agent_type=AgentType.OPEN, other_config=stored)) == Switches()


@pytest.mark.parametrize(
    "config",
    [{}, {"self_evolve": True, "skill_evolve": False, "skill_nudge_interval": 0}, {"own": [1]}],
)
def test_sound_values_and_the_callers_own_keys_are_taken(config: dict[str, Any]) -> None:
    check_other_config(config)


def test_every_value_that_would_be_read_as_something_else_is_named() -> None:
    with pytest.raises(Invalid) as refused:
        check_other_config({"self_evolve": "yes", "skill_evolve": 1, "skill_nudge_interval": -1})

    assert [error.pointer for error in refused.value.errors] == [
        "/other_config/self_evolve",
        "/other_config/skill_evolve",
        "/other_config/skill_nudge_interval",
    ]


@pytest.mark.parametrize("interval", [True, "15", 1.0, None, -1])
def test_an_interval_is_a_whole_number_of_zero_or_more(interval: object) -> None:
    with pytest.raises(Invalid):
        check_other_config({"skill_nudge_interval": interval})


@pytest.mark.parametrize("name", CONTEXT_FILES)
def test_a_context_file_is_named_exactly(name: str) -> None:
    assert check_file_name(name) == name
    for other in (name.lower(), f"../{name}", f"{name} ", name.removesuffix(".md")):
        with pytest.raises(Invalid):
            check_file_name(other)


@pytest.mark.parametrize(
    ("stored", "locks"),
    [
        ({}, SoulLocks()),
        ({"soul_frozen": False, "soul_review": False}, SoulLocks()),
        ({"soul_frozen": True}, SoulLocks(frozen=True)),
        ({"soul_review": True}, SoulLocks(review=True)),
        ({"soul_frozen": "no", "soul_review": None}, SoulLocks(frozen=True, review=True)),
        ({"soul_frozen": 0}, SoulLocks(frozen=True)),
    ],
)
def test_a_lock_that_is_malformed_locks(stored: dict[str, Any], locks: SoulLocks) -> None:
    assert soul_locks(make_agent(other_config=stored)) == locks


@pytest.mark.parametrize("key", ["soul_frozen", "soul_review"])
def test_a_lock_is_written_as_true_or_false(key: str) -> None:
    check_other_config({key: True})
    wrong: tuple[Any, ...] = ("yes", 1, None, [])
    for value in wrong:
        with pytest.raises(Invalid) as refused:
            check_other_config({key: value})
        assert refused.value.errors[0].pointer == f"/other_config/{key}"
