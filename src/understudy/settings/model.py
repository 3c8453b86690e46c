"""The settings of the daemon, and its command-line flags."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import SecretStr

from understudy.core.urls import is_loopback
from understudy.core.visibility import Isolation
from understudy.settings.config_file import (
    SOUL_CHANGE_PERCENT,
    BackgroundConfig,
    DatabaseConfig,
    DebugLevel,
    OtelConfig,
    RetentionConfig,
    Role,
    RouteConfig,
    RunsConfig,
)
from understudy.settings.mcp import McpServerConfig, credentials


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The effective settings of the daemon."""

    home: Path
    host: str
    port: int
    database_url: str
    config_file: Path
    workspace: Path
    routes: Mapping[str, RouteConfig]
    default_route: str
    # `api` accepts runs and leaves the work to others; `worker` works and answers only probes.
    role: Role = "all"
    database: DatabaseConfig = field(default_factory=DatabaseConfig)
    admin_token: SecretStr | None = None
    # The signing secret of webhooks; None means one that the daemon generates and stores.
    webhook_secret: SecretStr | None = None
    debug_level: DebugLevel = "off"
    log_level: str = "info"
    max_active_steps: int = 32
    # None is no limit.
    max_runs_in_flight_per_user: int | None = RunsConfig().max_in_flight_per_user
    history_retention_hours: int = 72
    approval_expires_s: int | None = None
    question_expires_s: int | None = None
    mcp_servers: Mapping[str, McpServerConfig] = field(default_factory=dict)
    # Private hosts, addresses and networks that `fetch_url` may reach.
    fetch_allow: tuple[str, ...] = ()
    # Addresses and networks of proxies whose `X-Forwarded-*` headers count.
    trusted_proxies: tuple[str, ...] = ()
    # Skill roots offered to everybody.
    skill_roots: tuple[Path, ...] = ()
    # Whether an admin may keep a skill that the guard rejects.
    guard_allow_acknowledged: bool = False
    # Whether users see each other's sessions and everything derived from them.
    isolation: Isolation = "shared"
    # The share of its SOUL.md that an agent may change in one run.
    soul_change_percent: int = SOUL_CHANGE_PERCENT
    # Retention in days of each kind of record; 0 keeps it for ever.
    retention_days: Mapping[str, int] = field(
        default_factory=lambda: RetentionConfig().model_dump()
    )
    # Limits on background tasks: how many, and for how long.
    background: BackgroundConfig = field(default_factory=BackgroundConfig)
    # Where the spans of runs are sent.
    otel: OtelConfig = field(default_factory=OtelConfig)
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    # The source of each value: `flag`, `environment`, `file` or `default`.
    sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_offline(self) -> bool:
        """Whether the built-in script answers, because no API key was found."""
        return self.sources.get("routes") == "default"

    @property
    def is_loopback(self) -> bool:
        """Whether the daemon listens on loopback only."""
        return is_loopback(self.host.strip("[]"))

    @property
    def is_sqlite(self) -> bool:
        """Whether the database is SQLite."""
        return self.database_url.startswith("sqlite")

    @property
    def direct_url(self) -> str:
        """Leads to the database server itself; `database_url` may lead to a pooler."""
        return self.database.direct_url or self.database_url

    @property
    def user_home(self) -> Path | None:
        """The home directory of the daemon's account; None if the environment has none."""
        home = self.environment.get("HOME") or self.environment.get("USERPROFILE")
        return Path(home) if home else None

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every secret value that must be masked."""
        known = [self.api_key(route) for route in self.routes.values()]
        known.append(self.admin_token.get_secret_value() if self.admin_token else None)
        known.append(self.webhook_secret.get_secret_value() if self.webhook_secret else None)
        known += [urlsplit(url).password for url in (self.database_url, self.direct_url)]
        known += credentials(self.mcp_servers, self.environment)
        return tuple({value for value in known if value})

    def api_key(self, route: RouteConfig) -> str | None:
        """The key of a route, from the environment variable that its config names."""
        return self.environment.get(route.api_key_env) if route.api_key_env else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """The command-line flags of `serve`."""

    home: Path | None = None
    bind: str | None = None
    database_url: str | None = None
    config: Path | None = None
    workspace: Path | None = None
    role: str | None = None
