"""Switching tools on and off for all agents."""

from collections.abc import Mapping
from typing import Any

from understudy.api.parts import AppParts
from understudy.core import audit
from understudy.core.errors import NotFound
from understudy.core.principal import Principal
from understudy.wire.runtime import ToolView


def tool_views(parts: AppParts) -> tuple[ToolView, ...]:
    """The tools there are, with their switches."""
    with parts.units.read() as unit:
        disabled = unit.tool_switches.disabled()
    return tuple(_view(tool, disabled) for tool in parts.tools.describe())


def switch_tool(parts: AppParts, principal: Principal, name: str, *, enabled: bool) -> ToolView:
    """Switch one tool; runs that have started keep the tools they were given."""
    known = next((tool for tool in parts.tools.describe() if tool["name"] == name), None)
    if known is None:
        raise NotFound("tool_not_found", domain="tools", detail=f"no tool {name!r}")
    with parts.units.write() as unit:
        if (name not in unit.tool_switches.disabled()) != enabled:
            unit.tool_switches.set(name, enabled=enabled)
            now = parts.clock.now_ms()
            unit.audit.add(audit.done(principal, "tools.set", name, at_ms=now))
    return _view(known, frozenset() if enabled else frozenset({name}))


def _view(tool: Mapping[str, Any], disabled: frozenset[str]) -> ToolView:
    return ToolView(enabled=tool["name"] not in disabled, **tool)
