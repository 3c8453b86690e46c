"""Token budgets of a prompt: its limit, and what the tool specifications cost."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from understudy.agent.admission import Offer
from understudy.core.recent_cache import RecentCache
from understudy.core.text import TOKENS_PER_BYTE, estimate_tokens
from understudy.providers.base import ToolSpec
from understudy.tools.base import Tool, schema_of
from understudy.tools.registry import ToolRegistry, wire_name

AUTOCOMPACT_THRESHOLD: Final = 167_000
BUFFER: Final = 13_000
RESERVED_OUTPUT: Final = 4_096
MAX_LISTED: Final = 2_000
CUT: Final = "\n[… cut to save room …]\n"


def list_tokens(tokens: int) -> int:
    """The tokens of a list of messages: a third more than their texts, for the framing."""
    return math.ceil(tokens * 4 / 3)


def prompt_limit(context_window: int) -> int:
    """How many tokens a prompt may have before its older part is summarised."""
    limit = AUTOCOMPACT_THRESHOLD - BUFFER
    # A small window cannot spare the whole buffer; a tenth of it has to do.
    buffer = min(BUFFER, context_window // 10)
    reserved = min(RESERVED_OUTPUT, context_window // 4)
    return max(0, min(limit, context_window - reserved - buffer))


def clip(text: str, tokens: int) -> str:
    """A text cut in the middle to a number of tokens."""
    if estimate_tokens(text) <= tokens:
        return text
    raw = text.encode(errors="replace")
    room = max(0, int(tokens / TOKENS_PER_BYTE) - len(CUT.encode()))
    head, tail = room * 2 // 3, room // 3
    start, end = raw[:head], raw[len(raw) - tail :]
    return start.decode(errors="ignore") + CUT + end.decode(errors="ignore")


def specs_of(offer: Offer) -> tuple[ToolSpec, ...]:
    """The specifications of the offered tools that exist and may be called."""
    registry = offer.registry
    known = frozenset(registry.names())
    return tuple(_spec(registry, name) for name in offer.told if name in known)


def spec_tokens(tool: ToolSpec) -> int:
    """An upper estimate of the tokens of a tool specification."""
    return estimate_tokens(f"{tool.name}{tool.description}{tool.parameters}")


@dataclass(frozen=True, slots=True)
class SpecCosts:
    """Token costs of tool specifications, cached: of one registry, and of MCP servers."""

    _known: dict[str, int] = field(default_factory=dict)
    # By name, with the tool it was computed for: a server may list another one later.
    _listed: RecentCache[str, tuple[Tool, int]] = field(
        default_factory=lambda: RecentCache(MAX_LISTED)
    )

    def of(self, registry: ToolRegistry, names: Sequence[str]) -> int:
        """An upper estimate for all of these together."""
        for name in names:
            if name not in self._known:
                self._known[name] = spec_tokens(_spec(registry, name))
        return sum(self._known[name] for name in names)

    def listed(self, tools: Iterable[Tool]) -> int:
        """An upper estimate for tools that are not in the registry."""
        return sum(map(self._of_listed, tools))

    def _of_listed(self, tool: Tool) -> int:
        known = self._listed.get(tool.name)
        if known is None or known[0] is not tool:
            schema = schema_of(tool.parameters)
            spec = ToolSpec(
                name=wire_name(tool.name), description=tool.description, parameters=schema
            )
            known = (tool, spec_tokens(spec))
            self._listed.put(tool.name, known)
        return known[1]


def _spec(registry: ToolRegistry, name: str) -> ToolSpec:
    return ToolSpec(
        name=registry.wire_name(name),
        description=registry.get(name).description,
        parameters=registry.schema(name),
    )
