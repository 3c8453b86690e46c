"""The schema of `config.toml`, and its parser."""

import difflib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    HttpUrl,
    IPvAnyNetwork,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from understudy.core.allowlist import parse_allowance
from understudy.core.mistakes import words_of
from understudy.core.visibility import Isolation
from understudy.settings.client import SettingsError
from understudy.settings.mcp import McpConfig, McpServerConfig

DebugLevel = Literal["off", "requests", "full"]
Role = Literal["all", "api", "worker"]
FileKind = Literal["image", "document"]
SOUL_CHANGE_PERCENT: Final = 40
POSTGRESQL: Final = ("postgresql", "postgres", "postgresql+psycopg")
CARRIED: Final[Mapping[str, frozenset[str]]] = {
    "openai": frozenset({"image", "document"}),
    "anthropic": frozenset({"image", "document"}),
    "scripted": frozenset(),
}


def _checked_allowance(entry: str) -> str:
    try:
        parse_allowance(entry)
    except ValueError as problem:
        raise ValueError(f"{entry!r} {problem}") from None
    return entry


class RouteConfig(BaseModel):
    """The target of model calls: provider, model, address, key."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    provider: Literal["openai", "anthropic", "scripted"]
    model: str = Field(default="", validate_default=True)
    base_url: str | None = None
    api_key_env: str | None = None
    context_window: int | None = Field(default=None, gt=0)
    # The most tokens of one answer; by default a quarter of the window, at most 16,384.
    max_output_tokens: int | None = Field(default=None, gt=0)
    # US dollars per million tokens, for the overview; by default the list price, if any.
    input_price: float | None = Field(default=None, ge=0, le=1_000_000, allow_inf_nan=False)
    output_price: float | None = Field(default=None, ge=0, le=1_000_000, allow_inf_nan=False)
    fallback_model: str | None = None
    timeout_s: float = Field(default=120.0, gt=0)
    max_attempts: int = Field(default=4, ge=1, le=10)
    script: Path | None = None
    # By default everything that the provider's API supports.
    accepts: frozenset[FileKind] | None = None

    @property
    def price(self) -> tuple[float, float] | None:
        """The configured prices per million tokens of input and output, if both are set."""
        if self.input_price is None or self.output_price is None:
            return None
        return self.input_price, self.output_price

    @property
    def accepted(self) -> frozenset[str]:
        """The kinds of files that the model accepts beside text."""
        return CARRIED[self.provider] if self.accepts is None else self.accepts

    @field_validator("model")
    @classmethod
    def _is_named(cls, model: str, info: ValidationInfo) -> str:
        """Every provider but the script requires a model."""
        if model.strip():
            return model
        if info.data.get("provider") == "scripted":
            return "scripted"
        raise ValueError("is missing")

    @model_validator(mode="after")
    def _is_priced_whole(self) -> Self:
        """One price without the other would understate every cost."""
        if (self.input_price is None) != (self.output_price is None):
            raise ValueError("input_price and output_price belong together: set both or neither")
        return self


class FetchConfig(BaseModel):
    """Exceptions to the defaults of `fetch_url`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    allow: tuple[Annotated[str, AfterValidator(_checked_allowance)], ...] = ()


class SkillsConfig(BaseModel):
    """Folders with skills beside the store."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # Skill roots offered to everybody, before operators' own roots.
    roots: tuple[Path, ...] = ()
    # Deprecated and ignored, so that older files still load: each root is added on its own.
    local: bool | None = None


class GuardConfig(BaseModel):
    """The strictness of the guard."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # Whether an admin may keep a rejected skill, acknowledging each finding with a reason.
    allow_acknowledged: bool = False


class EvolutionConfig(BaseModel):
    """Limits on the evolution of agents."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # The share of SOUL.md that one run may change; 100 is all of it.
    soul_change_percent: Annotated[int, Field(ge=1, le=100)] = SOUL_CHANGE_PERCENT


class BackgroundConfig(BaseModel):
    """Limits on background tasks: how many, and for how long."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_runtime_s: Annotated[int, Field(ge=1, le=7 * 24 * 3600)] = 4 * 3600
    per_session: Annotated[int, Field(ge=0, le=100)] = 4
    in_all: Annotated[int, Field(ge=0, le=1000)] = 16


class OtelConfig(BaseModel):
    """Where the spans of runs are sent; without an endpoint nowhere."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # `/v1/traces` is added.
    endpoint: HttpUrl | None = None
    # Whether spans carry what was said, without its secrets.
    content: bool = False


Days = Annotated[int, Field(ge=0, le=36_500)]


class RetentionConfig(BaseModel):
    """Retention in days; 0 keeps records for ever."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # Recorded model requests of the debug log.
    captures_days: Days = 14
    # Artifacts of ended runs.
    artifacts_days: Days = 90
    # Idempotency keys of submitted runs.
    receipts_days: Days = 30
    # Delivered webhooks, and messages that were read or given up.
    deliveries_days: Days = 90
    messages_days: Days = 90
    # Ended background tasks and their output.
    background_tasks_days: Days = 90
    # Audit entries; the digest chain continues from the last one removed.
    audit_days: Days = 730


class DatabaseConfig(BaseModel):
    """Connections of a daemon to PostgreSQL."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # Connections that stay open, and how many more may be opened under load. At least as many as wait
    # for each other: those that want a lock of all daemons, its holder, and what the holder writes.
    pool_size: Annotated[int, Field(ge=5, le=1000)] = 16
    max_overflow: Annotated[int, Field(ge=0, le=1000)] = 16
    # The server ends a statement that takes longer; 0 leaves that to the server's own setting.
    statement_timeout_ms: Annotated[int, Field(ge=0, le=24 * 3600 * 1000)] = 0
    # Leads to the server itself, where `database_url` leads to a pooler.
    direct_url: str | None = None

    @field_validator("direct_url")
    @classmethod
    def _is_postgresql(cls, url: str | None) -> str | None:
        if url is not None and not plain_url(url).startswith("postgresql://"):
            raise ValueError("must begin with postgresql://")
        return None if url is None else plain_url(url)


class RunsConfig(BaseModel):
    """Limits on runs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # The other runs of a user stay queued; those that wait for people or a sidechain do not count.
    # 0 is no limit.
    max_in_flight_per_user: Annotated[int, Field(ge=0, le=100_000)] = 16


def plain_url(url: str) -> str:
    """A database URL with the scheme `postgresql` in its usual spelling."""
    scheme, separator, rest = url.partition("://")
    return f"postgresql://{rest}" if separator and scheme in POSTGRESQL else url


class FileConfig(BaseModel):
    """The schema of `config.toml`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    bind: str | None = None
    database_url: str | None = None
    workspace: Path | None = None
    # Proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` count.
    trusted_proxies: tuple[IPvAnyNetwork, ...] = ()
    # Whether users see each other's sessions and everything derived from them.
    isolation: Isolation = "shared"
    default_route: str | None = None
    debug_level: DebugLevel | None = None
    log_level: Literal["debug", "info", "warning", "error"] | None = None
    max_active_steps: Annotated[int, Field(ge=1, le=1024)] | None = None
    history_retention_hours: Annotated[int, Field(ge=1)] | None = None
    # The timeout of requests to people, in seconds; by default none.
    approval_expires_s: Annotated[int, Field(ge=1)] | None = None
    question_expires_s: Annotated[int, Field(ge=1)] | None = None
    routes: dict[str, RouteConfig] = Field(default_factory=dict)
    mcp: McpConfig = Field(default_factory=McpConfig)
    fetch: FetchConfig = Field(default_factory=FetchConfig)
    skills: SkillsConfig = Field(default_factory=SkillsConfig)
    guard: GuardConfig = Field(default_factory=GuardConfig)
    evolution: EvolutionConfig = Field(default_factory=EvolutionConfig)
    retention: RetentionConfig = Field(default_factory=RetentionConfig)
    background: BackgroundConfig = Field(default_factory=BackgroundConfig)
    otel: OtelConfig = Field(default_factory=OtelConfig)
    database: DatabaseConfig = Field(default_factory=DatabaseConfig)
    runs: RunsConfig = Field(default_factory=RunsConfig)


def read_config(path: Path, *, must_exist: bool) -> FileConfig:
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
        key, what = first_mistake(problem)
        raise SettingsError(f"config file {path}: {key}: {what}") from None


def first_mistake(problem: ValidationError) -> tuple[str, str]:
    """The first key that cannot be used, and why."""
    first = problem.errors(include_url=False, include_input=False)[0]
    key = ".".join(str(part) for part in first["loc"])
    return key, _not_a_setting(key) if first["type"] == "extra_forbidden" else words_of(first)


def _not_a_setting(key: str) -> str:
    tables: dict[str, type[BaseModel]] = {
        "routes.": RouteConfig,
        "mcp.servers.": McpServerConfig,
        "fetch.": FetchConfig,
        "skills.": SkillsConfig,
        "guard.": GuardConfig,
        "evolution.": EvolutionConfig,
        "retention.": RetentionConfig,
        "background.": BackgroundConfig,
        "otel.": OtelConfig,
        "database.": DatabaseConfig,
        "runs.": RunsConfig,
        "": FileConfig,
    }
    known = next(kind.model_fields for start, kind in tables.items() if key.startswith(start))
    near = difflib.get_close_matches(key.rpartition(".")[2], known, n=1)
    return f"is not a setting; did you mean {near[0]}?" if near else "is not a setting"
