"""The overview on the wire: what runs and learning did day by day, who used what, and settings."""

from typing import Any

from pydantic import Field

from understudy.wire.base import Omitted, View


class RunDay(View):
    """The runs that were submitted on a day, by how they stand now."""

    # The beginning of the day, in UTC.
    day_at_ms: int
    completed: int = 0
    failed: int = 0
    # Stopped by a person, or by the daemon.
    stopped: int = 0
    # Queued, at work, or waiting for a person.
    open: int = 0


class LearningDay(View):
    """What was proposed and decided on a day, and how many runs were told of something learned."""

    day_at_ms: int
    proposed: int = 0
    published: int = 0
    rejected: int = 0
    # Of the rejected: nobody decided in time.
    expired: int = 0
    told_runs: int = 0
    # Of the told runs: those that completed.
    helped_runs: int = 0
    # Decisions of people that are what automation would have decided, and that are not.
    agreed: int = 0
    disagreed: int = 0


class UsageShare(View):
    """What an agent used of a model."""

    agent_id: str
    route_id: str
    model: str
    runs: int
    failed_runs: int
    input_tokens: int
    output_tokens: int
    # At the price of the route, or at the list price; left out where no price is known.
    cost_usd: Omitted[float] = None


class OverviewView(View):
    """Activity by day, oldest first, and usage by agent and model, most tokens first."""

    since_ms: int
    until_ms: int
    runs: list[RunDay]
    learning: list[LearningDay]
    usage: list[UsageShare]
    # Usage is of so many of the newest runs at most, and agreement of as many decisions.
    usage_runs: int


class EffectiveSettings(View):
    """Each setting with its value and source, and each route; of keys only whether there is one."""

    settings: list[dict[str, Any]] = Field(default_factory=list)
    routes: list[dict[str, Any]] = Field(default_factory=list)
