"""Settings of a definition that have no effect on this daemon, reported as warnings.

Tools and routes come and go with the daemon's settings, so they are checked whenever a definition is shown.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from understudy.core.clock import shown_time
from understudy.permissions.globs import WILDCARDS, matches
from understudy.rollout.model import Definition, Rollout
from understudy.skills.tools.fork import SLASH

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


class CaveatCode(StrEnum):
    """What a caveat is about."""

    UNKNOWN_TOOL = "unknown_tool"
    TOOL_ALLOWED_AND_BLOCKED = "tool_allowed_and_blocked"
    UNKNOWN_ROUTE = "unknown_route"
    SOURCE_ENDS = "source_ends"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caveat:
    """A setting of a definition without effect here, or that ends one day; never a refusal."""

    code: CaveatCode
    message: str
    # Its JSON pointer in the promotion request.
    pointer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Caveats:
    """Compares a definition with the tools and routes of this daemon; knows neither by default."""

    tool_names: Callable[[], Collection[str]] | None = None
    has_route: Callable[[str], bool] = field(default=lambda _: True)

    def __call__(self, definition: Definition) -> tuple[Caveat, ...]:
        """All caveats of a definition."""
        return (
            *self._unknown_tools(definition),
            *_both(definition),
            *self._unknown_route(definition),
        )

    def _unknown_tools(self, definition: Definition) -> Iterator[Caveat]:
        if self.tool_names is None:
            return
        known = self.tool_names()
        runtime = definition.runtime
        for part in ("allowed_tools", "blocked_tools"):
            for at, name in enumerate(getattr(runtime, part)):
                # An MCP server may be down now, and a pattern may match a tool that comes later.
                is_plain = SLASH not in name and not any(sign in name for sign in WILDCARDS)
                if is_plain and name not in known:
                    yield Caveat(
                        code=CaveatCode.UNKNOWN_TOOL,
                        message=f"this daemon has no tool {name}",
                        pointer=f"/{part}/{at}",
                    )

    def _unknown_route(self, definition: Definition) -> Iterator[Caveat]:
        route = definition.runtime.provider
        if route is not None and not self.has_route(route):
            message = f"this daemon has no route {route}; no use of the skill can begin"
            yield Caveat(code=CaveatCode.UNKNOWN_ROUTE, message=message, pointer="/provider")


NO_CAVEATS = Caveats()


def source_caveats(unit: "Unit", rollout: Rollout) -> tuple[Caveat, ...]:
    """That a live rollout will be revoked, where its source learning has an expiry."""
    if not rollout.is_live:
        return ()
    ends_at_ms = unit.rollout_sources.end_of(rollout.source_learning_id)
    if ends_at_ms is None:
        return ()
    message = f"its learning ends on {shown_time(ends_at_ms)}, and the skill is taken back then"
    return (Caveat(code=CaveatCode.SOURCE_ENDS, message=message, pointer="/source_learning_id"),)


def _both(definition: Definition) -> Iterator[Caveat]:
    runtime = definition.runtime
    for at, name in enumerate(runtime.allowed_tools):
        if any(matches(pattern, name) for pattern in runtime.blocked_tools):
            yield Caveat(
                code=CaveatCode.TOOL_ALLOWED_AND_BLOCKED,
                message=f"{name} is allowed and blocked; what is blocked is never used",
                pointer=f"/allowed_tools/{at}",
            )
