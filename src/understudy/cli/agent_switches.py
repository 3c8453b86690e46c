"""The switches of an agent on the command line: how they are set, and what each costs."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from understudy.cli import inputs, screen

if TYPE_CHECKING:
    from understudy.wire.agents import AgentView
    from understudy.wire.evolution import CostView, SwitchView

COLUMNS: Final = ("switch", "now", "costs now", "costs when on")
OPEN: Final = "Open agents never evolve: every switch is off, whatever is stored."
# What is switched on, and does nothing as long as the soul is frozen.
FROZEN: Final = "on, but frozen"
# Parts that people call otherwise than by their name.
PARTS: Final = {"skill_manage": "skill_manage", "nudge_70": "70 % nudge", "nudge_90": "90 % nudge"}
# How a cost is told that comes with every request, or once in a run.
TIMES: Final = {"every_request": "a request", "once_per_run": "once a run"}

SelfEvolve: TypeAlias = Annotated[
    bool | None,
    typer.Option("--self-evolve/--no-self-evolve", help="It may rewrite its SOUL.md."),
]
SkillEvolve: TypeAlias = Annotated[
    bool | None,
    typer.Option("--skill-evolve/--no-skill-evolve", help="It may make skills of its work."),
]
NudgeInterval: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--nudge-interval", min=0, metavar="N", help="Offer a skill after N tool calls; 0: never."
    ),
]
SoulFrozen: TypeAlias = Annotated[
    bool | None,
    typer.Option("--soul-frozen/--no-soul-frozen", help="Only people change its SOUL.md."),
]
SoulReview: TypeAlias = Annotated[
    bool | None,
    typer.Option("--soul-review/--no-soul-review", help="Its changes wait for a decision."),
]


def config_fields(text: str | None, **switches: bool | int | None) -> dict[str, Any]:
    """What to send of `other_config`: JSON that was typed, with the switches; `null` clears it all."""
    from understudy.client.calls import given

    typed = given(**switches)
    if text is not None and text.strip() == "null":
        if typed:
            raise typer.BadParameter("--other-config null clears all switches; set some afterwards")
        return {"other_config": None}
    config = inputs.json_object(text, "--other-config")
    return {"other_config": {**(config or {}), **typed}} if typed or config is not None else {}


def tell_switches(view: "AgentView") -> None:
    """Each switch with what it costs in tokens; an open agent has no use for any."""
    print()
    if view.agent_type == "open":
        print(OPEN)
    else:
        screen.table(COLUMNS, [_row(each) for each in view.switches], empty="")


def _row(switch: "SwitchView") -> tuple[object, ...]:
    costs = switch.costs
    parts = "; ".join(f"{_part(cost)}: {cost.tokens} {TIMES[cost.when]}" for cost in costs)
    return switch.name, _value(switch), _sum(costs if switch.on else ()), parts or "nothing"


def _value(switch: "SwitchView") -> object:
    if not isinstance(switch.value, bool):
        return switch.value
    if switch.value and not switch.on:
        return FROZEN
    return "on" if switch.value else "off"


def _sum(costs: Iterable["CostView"]) -> str:
    """What is spent as things stand, in tokens."""
    spent = dict.fromkeys(TIMES, 0)
    for cost in costs:
        spent[cost.when] += cost.tokens
    told = [f"{tokens} {TIMES[when]}" for when, tokens in spent.items() if tokens]
    return ", ".join(told) or "0 tokens"


def _part(cost: "CostView") -> str:
    return PARTS.get(cost.part) or cost.part.replace("_", " ")
