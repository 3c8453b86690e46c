"""The switches of an agent as they count for its next run, each with what it costs."""

from dataclasses import dataclass

from understudy.agents.model import Agent
from understudy.agents.switches import resolve, soul_locks
from understudy.evolution.costs import Cost, costs


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchInForce:
    """One switch, and the parts that it brings in."""

    name: str
    value: bool | int
    # Whether it does anything: another switch may keep it from that.
    is_on: bool
    costs: tuple[Cost, ...] = ()


def switches_in_force(agent: Agent) -> tuple[SwitchInForce, ...]:
    """What counts for the next run, whatever is stored; the locks of SOUL.md hold at once."""
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
            is_on=is_on,
            costs=tuple(cost for cost in costs() if cost.switch == name),
        )
        for name, value, is_on in values
    )
