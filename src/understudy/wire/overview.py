"""The overview on the wire: runs and learning by day, usage, and settings."""

from typing import Any

from pydantic import Field

from understudy.wire.base import Omitted, View


class RunDay(View):
    """The runs submitted on a day, by their current status."""

    # The start of the day, in UTC.
    day_at_ms: int
    completed: int = 0
    failed: int = 0
    # Stopped by a person, or by the daemon.
    stopped: int = 0
    # Queued, at work, or waiting for a person.
    open: int = 0


class LearningDay(View):
    """Candidates proposed and decided on a day, and runs that had a learning injected."""

    day_at_ms: int
    proposed: int = 0
    published: int = 0
    rejected: int = 0
    # Of the rejected: expired without a decision.
    expired: int = 0
    told_runs: int = 0
    # Of the told runs: those that completed.
    helped_runs: int = 0
    # Decisions of people that agree with automation, and that do not.
    agreed: int = 0
    disagreed: int = 0


class UsageShare(View):
    """The usage of a model by an agent."""

    agent_id: str
    route_id: str
    model: str
    runs: int
    failed_runs: int
    input_tokens: int
    output_tokens: int
    # At the price of the route, or the list price; omitted where no price is known.
    cost_usd: Omitted[float] = None


class OverviewView(View):
    """Activity by day, oldest first, and usage by agent and model, most tokens first."""

    since_ms: int
    until_ms: int
    runs: list[RunDay]
    learning: list[LearningDay]
    usage: list[UsageShare]
    # The maximum number of newest runs that usage covers, and of decisions that agreement covers.
    usage_runs: int


class EffectiveSettings(View):
    """Each setting with its value and source, and each route; of keys only whether there is one."""

    settings: list[dict[str, Any]] = Field(default_factory=list)
    routes: list[dict[str, Any]] = Field(default_factory=list)
