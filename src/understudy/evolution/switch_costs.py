"""The switches of an agent for its next run, and the tokens that each costs."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

from understudy.agents.model import Agent
from understudy.agents.switches import resolve, soul_locks
from understudy.core.text import estimate_tokens
from understudy.evolution.nudges import (
    SELF_EVOLUTION,
    SELF_EVOLUTION_TITLE,
    SKILL_CREATION,
    nudge_text,
    postscript,
)
from understudy.i18n.locales import DEFAULT
from understudy.skills.tools.manage import SkillManage
from understudy.tools.base import schema_of

Switch = Literal["self_evolve", "skill_evolve", "skill_nudge_interval"]
When = Literal["every_request", "once_per_run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one part takes in tokens while its switch is on."""

    part: str
    when: When
    tokens: int


def _definition() -> str:
    """The definition of the tool as a provider gets it."""
    function = {
        "name": SkillManage.name,
        "description": SkillManage.description,
        "parameters": dict(schema_of(SkillManage.parameters)),
    }
    return json.dumps({"type": "function", "function": function})


# Measured in English; other languages differ with the tokenizer.
_PARTS: Final[tuple[tuple[Switch, str, When, Callable[[], str]], ...]] = (
    (
        "self_evolve",
        "self_section",
        "every_request",
        lambda: f"## {SELF_EVOLUTION_TITLE}\n\n{SELF_EVOLUTION}",
    ),
    ("skill_evolve", "skill_section", "every_request", lambda: SKILL_CREATION),
    ("skill_evolve", "skill_manage", "every_request", _definition),
    ("skill_evolve", "nudge_70", "once_per_run", lambda: nudge_text("70", DEFAULT)),
    ("skill_evolve", "nudge_90", "once_per_run", lambda: nudge_text("90", DEFAULT)),
    ("skill_nudge_interval", "postscript", "once_per_run", lambda: postscript(DEFAULT)),
)


@cache
def costs() -> tuple[tuple[Switch, Cost], ...]:
    """Every part with its switch, measured with the daemon's token estimate."""
    return tuple(
        (switch, Cost(part=part, when=when, tokens=estimate_tokens(text())))
        for switch, part, when, text in _PARTS
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchInForce:
    """A switch in its effective state for the next run; one that is off costs nothing."""

    name: str
    value: bool | int
    # Whether it has an effect: another switch may prevent it.
    on: bool
    costs: tuple[Cost, ...] = ()


def switches_in_force(agent: Agent) -> tuple[SwitchInForce, ...]:
    """The effective switches of the next run; locks of SOUL.md hold at once."""
    switches, locks = resolve(agent), soul_locks(agent)
    interval = switches.skill_nudge_interval
    values: tuple[tuple[str, bool | int, bool], ...] = (
        ("self_evolve", switches.self_evolve, switches.self_evolve and not locks.frozen),
        ("skill_evolve", switches.skill_evolve, switches.skill_evolve),
        ("skill_nudge_interval", interval, switches.skill_evolve and interval > 0),
        ("soul_frozen", locks.frozen, locks.frozen),
        ("soul_review", locks.review, locks.review),
    )
    return tuple(
        SwitchInForce(
            name=name,
            value=value,
            on=is_on,
            costs=tuple(cost for switch, cost in costs() if switch == name),
        )
        for name, value, is_on in values
    )
