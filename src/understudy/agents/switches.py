"""The switches in an agent's `other_config`: validation, and the values in force."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from understudy.agents.model import Agent, AgentType
from understudy.core.errors import FieldError, coded_error

DEFAULT_NUDGE_INTERVAL: Final = 15
# The switches that lock SOUL.md.
SOUL_LOCKS: Final = ("soul_frozen", "soul_review")


@dataclass(frozen=True, slots=True, kw_only=True)
class Switches:
    """The switches of an agent, as one run sees them."""

    self_evolve: bool = False
    skill_evolve: bool = False
    skill_nudge_interval: int = DEFAULT_NUDGE_INTERVAL


@dataclass(frozen=True, slots=True, kw_only=True)
class SoulLocks:
    """The locks that keep an evolving agent from changing SOUL.md directly for all runs."""

    # Only people may change it.
    frozen: bool = False
    # A change waits as a proposal for a decision.
    review: bool = False


def soul_locks(agent: Agent) -> SoulLocks:
    """The locks in force; a malformed value counts as locked."""
    frozen, review = (agent.other_config.get(key, False) is not False for key in SOUL_LOCKS)
    return SoulLocks(frozen=frozen, review=review)


# Tools that require a switch; without it they are as if they did not exist.
SWITCHED_TOOLS: Final[Mapping[str, Callable[[Switches], bool]]] = {
    "skill_manage": lambda switches: switches.skill_evolve,
}


def hidden_tools(agent: Agent | None) -> frozenset[str]:
    """The tools that an agent does not have; an unknown agent has none of the switched ones."""
    switches = Switches() if agent is None else resolve(agent)
    return frozenset(name for name, shows in SWITCHED_TOOLS.items() if not shows(switches))


def resolve(agent: Agent) -> Switches:
    """The switches in force: all off for an open agent; a malformed value enables nothing."""
    if agent.agent_type is not AgentType.PREDEFINED:
        return Switches()
    return switches_in(agent.other_config)


def switches_in(stored: Mapping[str, Any]) -> Switches:
    """The switches of a stored record; a malformed value counts as its default."""
    interval = stored.get("skill_nudge_interval")
    return Switches(
        self_evolve=stored.get("self_evolve") is True,
        skill_evolve=stored.get("skill_evolve") is True,
        skill_nudge_interval=interval if type(interval) is int else DEFAULT_NUDGE_INTERVAL,
    )


def check_other_config(config: Mapping[str, Any]) -> None:
    """Refuse values that would be misread; other keys belong to the caller."""
    errors = [
        _wrong(key, "must be true or false")
        for key in ("self_evolve", "skill_evolve", *SOUL_LOCKS)
        if key in config and not isinstance(config[key], bool)
    ]
    interval = config.get("skill_nudge_interval", DEFAULT_NUDGE_INTERVAL)
    if type(interval) is not int or interval < 0:
        errors.append(_wrong("skill_nudge_interval", "must be a whole number, 0 or more"))
    if errors:
        raise coded_error(
            "agents/invalid_other_config", errors=tuple(errors), problem=errors[0].detail
        )


def _wrong(key: str, what: str) -> FieldError:
    return FieldError(
        pointer=f"/other_config/{key}", code="invalid_other_config", detail=f"{key} {what}"
    )
