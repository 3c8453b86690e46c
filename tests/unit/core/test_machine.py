"""State machines are tables: they allow what they list and nothing else."""

from enum import StrEnum

import pytest

from understudy.core.errors import Conflict, InvalidTransition
from understudy.core.machine import Machine


class Light(StrEnum):
    RED = "red"
    GREEN = "green"
    BROKEN = "broken"


LIGHT = Machine(
    name="light",
    domain="traffic",
    conflict_code="light_conflict",
    steps={
        Light.RED: frozenset({Light.GREEN, Light.BROKEN}),
        Light.GREEN: frozenset({Light.RED}),
        Light.BROKEN: frozenset(),
    },
)


def test_a_listed_step_is_allowed_and_an_unlisted_one_is_not() -> None:
    assert LIGHT.allows(Light.RED, Light.GREEN)
    assert not LIGHT.allows(Light.GREEN, Light.BROKEN)


@pytest.mark.parametrize("state", Light)
def test_a_state_may_follow_itself(state: Light) -> None:
    assert LIGHT.allows(state, state)
    LIGHT.check(state, state)


def test_a_refused_step_names_both_states_and_carries_the_code_of_the_machine() -> None:
    with pytest.raises(InvalidTransition) as refused:
        LIGHT.check(Light.BROKEN, Light.RED)

    assert refused.value.code == "light_conflict"
    assert refused.value.domain == "traffic"
    assert refused.value.params == {"from": "broken", "to": "red"}
    assert "broken" in refused.value.detail
    assert isinstance(refused.value, Conflict)


def test_what_may_follow_is_listed_in_name_order() -> None:
    assert LIGHT.allowed(Light.RED) == (Light.BROKEN, Light.GREEN)
    assert LIGHT.allowed(Light.BROKEN) == ()


def test_a_state_without_steps_is_terminal() -> None:
    assert LIGHT.terminal == {Light.BROKEN}


def test_the_diagram_shows_every_step_and_every_end() -> None:
    assert LIGHT.mermaid().splitlines() == [
        "stateDiagram-v2",
        "    red --> broken",
        "    red --> green",
        "    green --> red",
        "    broken --> [*]",
    ]
