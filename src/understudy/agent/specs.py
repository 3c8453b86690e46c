"""Tools as a model is told of them, and what telling of them takes."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from understudy.agent.admission import Offer
from understudy.core.tokens import estimate_tokens
from understudy.providers.base import ToolSpec
from understudy.tools.registry import ToolRegistry


def specs_of(offer: Offer) -> tuple[ToolSpec, ...]:
    """The tools of an offer that there are, without those that could not be called."""
    registry = offer.registry
    return tuple(_spec(registry, name) for name in offer.told if name in registry.names())


def spec_tokens(tool: ToolSpec) -> int:
    """An upper guess of what describing one tool takes."""
    return estimate_tokens(f"{tool.name}{tool.description}{tool.parameters}")


@dataclass(frozen=True, slots=True)
class SpecCosts:
    """What describing the tools of one registry takes, worked out once for each."""

    _known: dict[str, int] = field(default_factory=dict)

    def of(self, registry: ToolRegistry, names: Sequence[str]) -> int:
        """An upper guess for all of these together."""
        for name in names:
            if name not in self._known:
                self._known[name] = spec_tokens(_spec(registry, name))
        return sum(self._known[name] for name in names)


def _spec(registry: ToolRegistry, name: str) -> ToolSpec:
    return ToolSpec(
        name=registry.wire_name(name),
        description=registry.get(name).description,
        parameters=registry.schema(name),
    )
