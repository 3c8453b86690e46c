"""Where the names come from that scopes and personas may name."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from understudy.channels.bridge_model import Connector
from understudy.core.principal import Principal
from understudy.mcp_client.model import ServerState
from understudy.mcp_client.servers import McpServers
from understudy.sessions.known_names import KnownNames, NamesOfKind
from understudy.skills.library import SkillLibrary

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


def known_names(
    library: SkillLibrary, routes: Callable[[], Sequence[str]], mcp: Callable[[], McpServers]
) -> KnownNames:
    """What this daemon has: skills, MCP servers with their tools, routes, connectors and bridges."""
    names = _ServerNames(mcp)
    return KnownNames(
        kinds={
            "skill": NamesOfKind(
                has=library.is_scope_name, some=library.scope_names, may_come=True
            ),
            "mcp_server": _listed(names.servers),
            "mcp_tool": NamesOfKind(has=names.has_tool, some=lambda *_: names.tools()),
            "route": _listed(lambda _: routes()),
            "connector": _listed(lambda _: [str(each) for each in Connector]),
            "connector_credential": NamesOfKind(
                has=lambda unit, _, name: unit.bridges.get(name) is not None,
                some=lambda unit, _: unit.bridges.ids(),
            ),
        },
        is_skill=lambda *asked: bool(library.meant(*asked)) or library.is_scope_name(*asked),
        refresh=library.refresh,
    )


def _listed(names: Callable[["Unit"], Sequence[str]]) -> NamesOfKind:
    return NamesOfKind(
        has=lambda unit, _, name: name in names(unit), some=lambda unit, _: names(unit)
    )


class _ServerNames:
    """MCP servers of the config and of sessions, and the tools of those that are up."""

    def __init__(self, mcp: Callable[[], McpServers]) -> None:
        self._mcp = mcp

    def servers(self, unit: "Unit") -> Sequence[str]:
        shared = [each.server.name for each in self._mcp().shared()]
        return sorted({*shared, *unit.mcp_servers.names()})

    def tools(self) -> Sequence[str]:
        return [tool.name for tool in self._mcp().known(None)]

    def has_tool(self, unit: "Unit", _: Principal, name: str) -> bool:
        """Whether a server lists it as `server/tool` or `tool`, or may once it is up."""
        server, slash, tool = name.partition("/")
        up = {each.server.name for each in self._mcp().shared() if each.state is ServerState.READY}
        silent = set(self.servers(unit)) - up
        if (server in silent and tool) or (not slash and silent):
            return True
        listed = self.tools()
        return name in listed or name in {each.partition("/")[2] for each in listed}
