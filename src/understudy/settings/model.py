"""Every value the daemon starts with, and what was typed to get there."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import SecretStr

from understudy.core.sight import Isolation
from understudy.core.urls import is_loopback
from understudy.settings.config_file import (
    SOUL_CHANGE_PERCENT,
    BackgroundConfig,
    DebugLevel,
    RetentionConfig,
    RouteConfig,
)
from understudy.settings.mcp import McpServerConfig, credentials


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every value the daemon starts with."""

    home: Path
    host: str
    port: int
    database_url: str
    config_file: Path
    workspace: Path
    routes: Mapping[str, RouteConfig]
    default_route: str
    admin_token: SecretStr | None = None
    # What webhooks are signed with; None: one that the daemon makes and keeps.
    webhook_secret: SecretStr | None = None
    debug_level: DebugLevel = "off"
    log_level: str = "info"
    max_active_steps: int = 32
    history_retention_hours: int = 72
    approval_expires_s: int | None = None
    question_expires_s: int | None = None
    mcp_servers: Mapping[str, McpServerConfig] = field(default_factory=dict)
    # Hosts, addresses and networks that `fetch_url` may reach though they are not public.
    fetch_allow: tuple[str, ...] = ()
    # Folders whose skills everybody is offered.
    skill_roots: tuple[Path, ...] = ()
    # Whether an admin may keep a skill that the guard refuses.
    guard_allow_acknowledged: bool = False
    # Whether users see each other's sessions and all that comes of them.
    isolation: Isolation = "shared"
    # How much of its SOUL.md an agent may change in one run.
    soul_change_percent: int = SOUL_CHANGE_PERCENT
    # How many days each kind of record is kept; 0 is for ever.
    retention_days: Mapping[str, int] = field(
        default_factory=lambda: RetentionConfig().model_dump()
    )
    # How many shell commands run in the background, and for how long.
    background: BackgroundConfig = field(default_factory=BackgroundConfig)
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    # Where each value came from: `flag`, `environment`, `file` or `default`.
    sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_offline(self) -> bool:
        """Whether answers come from the built-in script because no key was found."""
        return self.sources.get("routes") == "default"

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the daemon."""
        return is_loopback(self.host.strip("[]"))

    @property
    def is_sqlite(self) -> bool:
        """Whether the embedded database is in use."""
        return self.database_url.startswith("sqlite")

    @property
    def user_home(self) -> Path | None:
        """The home of whoever runs the daemon; None where the environment names none."""
        home = self.environment.get("HOME") or self.environment.get("USERPROFILE")
        return Path(home) if home else None

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every value that must never be shown, wherever it turns up."""
        known = [self.api_key(route) for route in self.routes.values()]
        known.append(self.admin_token.get_secret_value() if self.admin_token else None)
        known.append(self.webhook_secret.get_secret_value() if self.webhook_secret else None)
        known.append(urlsplit(self.database_url).password)
        known += credentials(self.mcp_servers, self.environment)
        return tuple({value for value in known if value})

    def api_key(self, route: RouteConfig) -> str | None:
        """The key of a route, from the environment variable that its config names."""
        return self.environment.get(route.api_key_env) if route.api_key_env else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """What was typed on the command line of `serve`."""

    home: Path | None = None
    bind: str | None = None
    database_url: str | None = None
    config: Path | None = None
    workspace: Path | None = None
