"""Loads and checks the settings of a daemon: flags, environment, config file."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast, get_args

import platformdirs
from pydantic import SecretStr, ValidationError

from understudy.settings.client import DEFAULT_BIND, SettingsError, split_bind
from understudy.settings.config_file import (
    DatabaseConfig,
    DebugLevel,
    FileConfig,
    Role,
    RouteConfig,
    first_mistake,
    plain_url,
    read_config,
)
from understudy.settings.model import Flags, Settings

OFFLINE_ROUTE: Final = "scripted"
MIN_SECRET_CHARS: Final = 16
DATABASE_VARIABLES: Final = {
    "pool_size": "UNDERSTUDY_DATABASE_POOL_SIZE",
    "max_overflow": "UNDERSTUDY_DATABASE_MAX_OVERFLOW",
    "statement_timeout_ms": "UNDERSTUDY_DATABASE_STATEMENT_TIMEOUT_MS",
    "direct_url": "UNDERSTUDY_DATABASE_DIRECT_URL",
}
LOG_LEVELS: Final = ("debug", "info", "warning", "error")


def load_settings(flags: Flags, environment: Mapping[str, str] | None = None) -> Settings:
    """Load and validate all sources; `SettingsError` names the invalid value."""
    env = dict(os.environ if environment is None else environment)
    pick = _Picker(env=env)
    home, config_file = _places(pick, flags)
    file = read_config(config_file, must_exist=pick.sources["config"] != "default")
    host, port = split_bind(pick("bind", flags.bind, "UNDERSTUDY_BIND", file.bind, DEFAULT_BIND))
    database_url = _check_database_url(
        pick(
            "database_url",
            flags.database_url,
            "UNDERSTUDY_DATABASE_URL",
            file.database_url,
            f"sqlite:///{home / 'understudy.db'}",
        )
    )
    workspace = pick(
        "workspace", flags.workspace, "UNDERSTUDY_WORKSPACE", file.workspace, home / "workspace"
    )
    routes, pick.sources["routes"] = _routes(file, env)
    token = env.get("UNDERSTUDY_ADMIN_TOKEN")
    return Settings(
        home=home,
        host=host,
        port=port,
        database_url=database_url,
        role=_role(pick("role", flags.role, "UNDERSTUDY_ROLE", None, "all"), database_url),
        database=_database(pick, file.database, database_url),
        config_file=config_file,
        workspace=Path(workspace).expanduser().absolute(),
        routes=routes,
        default_route=_default_route(pick, file, routes),
        admin_token=SecretStr(token) if token else None,
        webhook_secret=_webhook_secret(
            pick("webhook_secret", None, "UNDERSTUDY_WEBHOOK_SECRET", None, "")
        ),
        debug_level=_debug_level(
            pick("debug_level", None, "UNDERSTUDY_DEBUG_LEVEL", file.debug_level, "off")
        ),
        log_level=_log_level(
            pick("log_level", None, "UNDERSTUDY_LOG_LEVEL", file.log_level, "info")
        ),
        max_active_steps=int(str(pick("max_active_steps", None, None, file.max_active_steps, 32))),
        history_retention_hours=int(
            str(pick("history_retention_hours", None, None, file.history_retention_hours, 72))
        ),
        approval_expires_s=file.approval_expires_s,
        question_expires_s=file.question_expires_s,
        mcp_servers=file.mcp.servers,
        fetch_allow=file.fetch.allow,
        skill_roots=tuple(root.expanduser().absolute() for root in file.skills.roots),
        guard_allow_acknowledged=file.guard.allow_acknowledged,
        isolation=file.isolation,
        trusted_proxies=tuple(map(str, file.trusted_proxies)),
        soul_change_percent=file.evolution.soul_change_percent,
        background=file.background,
        otel=file.otel,
        max_runs_in_flight_per_user=file.runs.max_in_flight_per_user or None,
        retention_days=file.retention.model_dump(),
        environment=env,
        sources=dict(pick.sources),
    )


def _places(pick: "_Picker", flags: Flags) -> tuple[Path, Path]:
    """The paths of the home and of the config file."""
    usual = platformdirs.user_data_path("understudy")
    home = Path(pick("home", flags.home, "UNDERSTUDY_HOME", None, usual)).expanduser().absolute()
    config = pick("config", flags.config, "UNDERSTUDY_CONFIG", None, home / "config.toml")
    return home, Path(config).expanduser()


def _default_route(pick: "_Picker", file: FileConfig, routes: Mapping[str, RouteConfig]) -> str:
    wanted = pick("default_route", None, None, file.default_route, next(iter(routes)))
    if wanted not in routes:
        raise SettingsError(
            f"default_route names {wanted!r}, but the routes are: {', '.join(routes)}"
        )
    return wanted


@dataclass(slots=True)
class _Picker:
    """Picks the first source that has a value, and records which one."""

    env: Mapping[str, str]
    sources: dict[str, str] = field(default_factory=dict)

    def __call__(
        self, name: str, flag: object, env_name: str | None, from_file: object, default: object
    ) -> str:
        from_env = self.env.get(env_name) if env_name else None
        for source, value in (("flag", flag), ("environment", from_env), ("file", from_file)):
            if value is not None and value != "":
                self.sources[name] = source
                return str(value)
        self.sources[name] = "default"
        return str(default)


def _check_database_url(url: str) -> str:
    url = plain_url(url)
    if not url.startswith(("sqlite:///", "postgresql://")):
        raise SettingsError("database_url must begin with sqlite:/// or postgresql://")
    return url


def _database(pick: "_Picker", file: DatabaseConfig, database_url: str) -> DatabaseConfig:
    """The table `[database]` with what the environment says instead of it."""
    given, names = {}, {}
    for key, variable in DATABASE_VARIABLES.items():
        setting = f"database.{key}"
        from_file = getattr(file, key) if key in file.model_fields_set else None
        value = pick(setting, None, variable, from_file, "")
        if value:
            given[key] = value
            names[key] = variable if pick.sources[setting] == "environment" else setting
    if given and database_url.startswith("sqlite"):
        raise SettingsError(
            f"{next(iter(names.values()))} is for PostgreSQL only, and database_url names a SQLite "
            "file: leave it out, or set UNDERSTUDY_DATABASE_URL to postgresql://…"
        )
    try:
        return DatabaseConfig.model_validate(given)
    except ValidationError as problem:
        key, what = first_mistake(problem)
        raise SettingsError(f"{names[key]}: {what}") from None


def _role(value: str, database_url: str) -> Role:
    if value not in get_args(Role):
        raise SettingsError(f"role must be {', '.join(get_args(Role))}; got {value!r}")
    if value != "all" and database_url.startswith("sqlite"):
        raise SettingsError(
            f"role {value} needs PostgreSQL, which several daemons can share: set "
            "UNDERSTUDY_DATABASE_URL to postgresql://…, or serve with --role all"
        )
    return cast("Role", value)


def _webhook_secret(value: str) -> SecretStr | None:
    if value and len(value) < MIN_SECRET_CHARS:
        raise SettingsError(
            f"UNDERSTUDY_WEBHOOK_SECRET must have at least {MIN_SECRET_CHARS} characters"
        )
    return SecretStr(value) if value else None


def _log_level(value: str) -> str:
    if value.lower() not in LOG_LEVELS:
        raise SettingsError(f"log_level must be {', '.join(LOG_LEVELS)}; got {value!r}")
    return value.lower()


def _debug_level(value: str) -> DebugLevel:
    match value:
        case "off" | "requests" | "full":
            return value
        case _:
            raise SettingsError(f"debug_level must be off, requests or full; got {value!r}")


def _routes(file: FileConfig, env: Mapping[str, str]) -> tuple[dict[str, RouteConfig], str]:
    """The routes of the config file, else those for API keys in the environment, else offline."""
    if file.routes:
        return dict(file.routes), "file"
    routes: dict[str, RouteConfig] = {}
    if env.get("OPENAI_API_KEY"):
        routes["openai"] = RouteConfig(
            provider="openai",
            model=env.get("UNDERSTUDY_MODEL") or "gpt-5-mini",
            base_url=env.get("OPENAI_BASE_URL") or None,
            api_key_env="OPENAI_API_KEY",
        )
    if env.get("ANTHROPIC_API_KEY"):
        own_model = env.get("UNDERSTUDY_MODEL") if not routes else None
        routes["anthropic"] = RouteConfig(
            provider="anthropic",
            model=own_model or "claude-sonnet-4-5",
            base_url=env.get("ANTHROPIC_BASE_URL") or None,
            api_key_env="ANTHROPIC_API_KEY",
        )
    if routes:
        return routes, "environment"
    return {OFFLINE_ROUTE: RouteConfig(provider="scripted")}, "default"
