"""What the operator decided: flags over environment over config file over defaults.

The only module that reads the environment.
"""

import difflib
import ipaddress
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

import platformdirs
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
)

DEFAULT_BIND: Final = "127.0.0.1:4600"
OFFLINE_ROUTE: Final = "scripted"
LOG_LEVELS: Final = ("debug", "info", "warning", "error")
DebugLevel = Literal["off", "requests", "full"]


class SettingsError(Exception):
    """The configuration cannot be used; the message names the offending key."""


class RouteConfig(BaseModel):
    """Where the model calls of one route go."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    provider: Literal["openai", "anthropic", "scripted"]
    model: str = Field(default="", validate_default=True)
    base_url: str | None = None
    api_key_env: str | None = None
    context_window: int | None = Field(default=None, gt=0)
    fallback_model: str | None = None
    timeout_s: float = Field(default=120.0, gt=0)
    max_attempts: int = Field(default=4, ge=1, le=10)
    script: Path | None = None

    @field_validator("model")
    @classmethod
    def _is_named(cls, model: str, info: ValidationInfo) -> str:
        """Only the script needs no model; any other provider must be told which one."""
        if model.strip():
            return model
        if info.data.get("provider") == "scripted":
            return "scripted"
        raise ValueError("is missing")


class FileConfig(BaseModel):
    """The shape of `config.toml`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    bind: str | None = None
    database_url: str | None = None
    workspace: Path | None = None
    default_route: str | None = None
    debug_level: DebugLevel | None = None
    log_level: Literal["debug", "info", "warning", "error"] | None = None
    max_active_steps: Annotated[int, Field(ge=1, le=1024)] | None = None
    history_retention_hours: Annotated[int, Field(ge=1)] | None = None
    routes: dict[str, RouteConfig] = Field(default_factory=dict)


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
    debug_level: DebugLevel = "off"
    log_level: str = "info"
    max_active_steps: int = 32
    history_retention_hours: int = 72
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
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False

    @property
    def is_sqlite(self) -> bool:
        """Whether the embedded database is in use."""
        return self.database_url.startswith("sqlite")

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every value that must never be shown, wherever it turns up."""
        known = [self.api_key(route) for route in self.routes.values()]
        known.append(self.admin_token.get_secret_value() if self.admin_token else None)
        known.append(urlsplit(self.database_url).password)
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


def load_settings(flags: Flags, environment: Mapping[str, str] | None = None) -> Settings:
    """Read every source once and check it; `SettingsError` names what is wrong."""
    env = dict(os.environ if environment is None else environment)
    pick = _Picker(env=env)
    home = Path(
        pick("home", flags.home, "UNDERSTUDY_HOME", None, platformdirs.user_data_path("understudy"))
    )
    home = home.expanduser().absolute()
    config_file = Path(
        pick("config", flags.config, "UNDERSTUDY_CONFIG", None, home / "config.toml")
    ).expanduser()
    file = _read_config(config_file, must_exist=pick.sources["config"] != "default")
    host, port = _split_bind(pick("bind", flags.bind, "UNDERSTUDY_BIND", file.bind, DEFAULT_BIND))
    database_url = pick(
        "database_url",
        flags.database_url,
        "UNDERSTUDY_DATABASE_URL",
        file.database_url,
        f"sqlite:///{home / 'understudy.db'}",
    )
    workspace = pick(
        "workspace", flags.workspace, "UNDERSTUDY_WORKSPACE", file.workspace, home / "workspace"
    )
    routes, routes_source = _routes(file, env)
    pick.sources["routes"] = routes_source
    default_route = pick("default_route", None, None, file.default_route, next(iter(routes)))
    if default_route not in routes:
        raise SettingsError(
            f"default_route names {default_route!r}, but the routes are: {', '.join(routes)}"
        )
    token = env.get("UNDERSTUDY_ADMIN_TOKEN")
    return Settings(
        home=home,
        host=host,
        port=port,
        database_url=_check_database_url(str(database_url)),
        config_file=config_file,
        workspace=Path(workspace).expanduser().absolute(),
        routes=routes,
        default_route=str(default_route),
        admin_token=SecretStr(token) if token else None,
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
        environment=env,
        sources=dict(pick.sources),
    )


@dataclass(slots=True)
class _Picker:
    """Takes the first source that has a value, and remembers which one it was."""

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


def _read_config(path: Path, *, must_exist: bool) -> FileConfig:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        if must_exist:
            raise SettingsError(f"config file {path} does not exist") from None
        return FileConfig()
    except (OSError, UnicodeDecodeError) as problem:
        raise SettingsError(f"config file {path} cannot be read: {problem}") from None
    try:
        return FileConfig.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as problem:
        raise SettingsError(f"config file {path} is not valid TOML: {problem}") from None
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_input=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        what = _not_a_setting(key) if first["type"] == "extra_forbidden" else first["msg"]
        what = what.removeprefix("Value error, ")
        raise SettingsError(f"config file {path}: {key}: {what}") from None


def _not_a_setting(key: str) -> str:
    known = RouteConfig.model_fields if key.startswith("routes.") else FileConfig.model_fields
    near = difflib.get_close_matches(key.rpartition(".")[2], known, n=1)
    return f"is not a setting; did you mean {near[0]}?" if near else "is not a setting"


def _split_bind(bind: str) -> tuple[str, int]:
    host, separator, port = bind.rpartition(":")
    if not separator or not host or not port.isdecimal() or int(port) > 65535:
        raise SettingsError(f"bind must be HOST:PORT, for example {DEFAULT_BIND}; got {bind!r}")
    return host, int(port)


def _check_database_url(url: str) -> str:
    for spelling in ("postgres://", "postgresql+psycopg://"):
        if url.startswith(spelling):
            url = "postgresql://" + url.removeprefix(spelling)
    if not url.startswith(("sqlite:///", "postgresql://")):
        raise SettingsError("database_url must begin with sqlite:/// or postgresql://")
    return url


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
    """The routes of the config file, else those the environment's keys make, else the offline one."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """Where a client finds the daemon, and as whom it calls."""

    url: str
    token: str | None = field(default=None, repr=False)


def client_settings(environment: Mapping[str, str] | None = None) -> ClientSettings:
    """What the environment says to clients; the address of a daemon started in it, by default."""
    env = os.environ if environment is None else environment
    url = env.get("UNDERSTUDY_URL")
    if not url:
        host, port = _split_bind(env.get("UNDERSTUDY_BIND") or DEFAULT_BIND)
        url = f"http://{_REACHED_AT.get(host, host)}:{port}"
    return ClientSettings(url=url, token=env.get("UNDERSTUDY_TOKEN") or None)


# A daemon that listens on every address is reached at this machine's own.
_REACHED_AT: Final = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104 - not bound here
