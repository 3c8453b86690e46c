"""The MCP client of this daemon, as its settings want it."""

from collections.abc import Callable
from functools import partial

from understudy.core.clock import Clock
from understudy.mcp_client.config_servers import configured_servers
from understudy.mcp_client.connection import OpenLink
from understudy.mcp_client.servers import McpServers
from understudy.mcp_client.session_servers import SessionServerService
from understudy.redaction.scrub import scrub
from understudy.settings import Settings
from understudy.storage.unit import Units
from understudy.tools.destinations import Destinations
from understudy.tools.processes import ChildProcesses


def mcp_servers(settings: Settings, clock: Clock, children: ChildProcesses) -> McpServers:
    """The servers of the config file; none is started yet."""
    servers = configured_servers(settings.mcp_servers, settings.environment)
    return McpServers(
        servers,
        clock,
        _loader(settings, children),
        scrub=partial(scrub, literals=settings.secrets),
        secrets=settings.secrets,
    )


def session_mcp(settings: Settings, units: Units, clock: Clock) -> SessionServerService:
    """Reads and sets the servers of sessions."""
    return SessionServerService(
        units=units,
        clock=clock,
        destinations=Destinations(settings.fetch_allow),
        taken=frozenset(settings.mcp_servers),
        environment=settings.environment,
    )


def _loader(settings: Settings, children: ChildProcesses) -> Callable[[], OpenLink]:
    def load() -> OpenLink:
        from understudy.mcp_client.link import open_link

        return partial(
            open_link, destinations=Destinations(settings.fetch_allow), children=children
        )

    return load
