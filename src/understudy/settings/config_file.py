"""The shape of `config.toml`, and reading it."""

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
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from understudy.core.allowlist import parse_allowance
from understudy.core.mistakes import words_of
from understudy.core.sight import Isolation
from understudy.settings.client import SettingsError
from understudy.settings.mcp import McpConfig, McpServerConfig

DebugLevel = Literal["off", "requests", "full"]
FileKind = Literal["image", "document"]
SOUL_CHANGE_PERCENT: Final = 40
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
    """Where the model calls of one route go."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    provider: Literal["openai", "anthropic", "scripted"]
    model: str = Field(default="", validate_default=True)
    base_url: str | None = None
    api_key_env: str | None = None
    context_window: int | None = Field(default=None, gt=0)
    # US dollars per million tokens, for the overview; left out: the list price, if there is one.
    input_price: float | None = Field(default=None, ge=0, le=1_000_000, allow_inf_nan=False)
    output_price: float | None = Field(default=None, ge=0, le=1_000_000, allow_inf_nan=False)
    fallback_model: str | None = None
    timeout_s: float = Field(default=120.0, gt=0)
    max_attempts: int = Field(default=4, ge=1, le=10)
    script: Path | None = None
    # Left out: everything the provider's wire can carry.
    accepts: frozenset[FileKind] | None = None

    @property
    def price(self) -> tuple[float, float] | None:
        """Dollars per million tokens of input and of output, where both are configured."""
        if self.input_price is None or self.output_price is None:
            return None
        return self.input_price, self.output_price

    @property
    def accepted(self) -> frozenset[str]:
        """Which kinds of files beside text the model takes."""
        return CARRIED[self.provider] if self.accepts is None else self.accepts

    @field_validator("model")
    @classmethod
    def _is_named(cls, model: str, info: ValidationInfo) -> str:
        """Only the script needs no model; any other provider must be told which one."""
        if model.strip():
            return model
        if info.data.get("provider") == "scripted":
            return "scripted"
        raise ValueError("is missing")

    @model_validator(mode="after")
    def _is_priced_whole(self) -> Self:
        """One price without the other would make every cost too low."""
        if (self.input_price is None) != (self.output_price is None):
            raise ValueError("input_price and output_price belong together: set both or neither")
        return self


class FetchConfig(BaseModel):
    """What `fetch_url` may do beyond its defaults."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    allow: tuple[Annotated[str, AfterValidator(_checked_allowance)], ...] = ()


class SkillsConfig(BaseModel):
    """Where skills are looked for beside the store."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # Folders whose skills everybody is offered, before those of operators' own roots.
    roots: tuple[Path, ...] = ()
    # Without effect, and read so that older files are: each folder is switched on as a root.
    local: bool | None = None


class GuardConfig(BaseModel):
    """How strict the content guard is."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # Whether an admin may keep a skill that it refuses, naming each finding with a reason.
    allow_acknowledged: bool = False


class EvolutionConfig(BaseModel):
    """How far agents that evolve may go."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # How much of SOUL.md one run may change; 100 is all of it.
    soul_change_percent: Annotated[int, Field(ge=1, le=100)] = SOUL_CHANGE_PERCENT


class BackgroundConfig(BaseModel):
    """How many shell commands run in the background, and for how long."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_runtime_s: Annotated[int, Field(ge=1, le=7 * 24 * 3600)] = 4 * 3600
    per_session: Annotated[int, Field(ge=0, le=100)] = 4
    in_all: Annotated[int, Field(ge=0, le=1000)] = 16


Days = Annotated[int, Field(ge=0, le=36_500)]


class RetentionConfig(BaseModel):
    """How many days records are kept; 0 is for ever."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # Captured model requests, where debug capture is on.
    captures_days: Days = 14
    # Tool results in full, of runs that have ended.
    artifacts_days: Days = 90
    # Idempotency keys of submitted runs.
    receipts_days: Days = 30
    # Webhooks that were delivered, and mail that was read or given up.
    deliveries_days: Days = 90
    messages_days: Days = 90
    # Commands in the background that have ended, and what they printed.
    background_tasks_days: Days = 90
    # Entries of the audit; the chain of digests goes on from the last one removed.
    audit_days: Days = 730


class FileConfig(BaseModel):
    """The shape of `config.toml`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    bind: str | None = None
    database_url: str | None = None
    workspace: Path | None = None
    # Whether users see each other's sessions and all that comes of them.
    isolation: Isolation = "shared"
    default_route: str | None = None
    debug_level: DebugLevel | None = None
    log_level: Literal["debug", "info", "warning", "error"] | None = None
    max_active_steps: Annotated[int, Field(ge=1, le=1024)] | None = None
    history_retention_hours: Annotated[int, Field(ge=1)] | None = None
    # How long runs wait for people, in seconds; left out: for ever.
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
        first = problem.errors(include_url=False, include_input=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        what = _not_a_setting(key) if first["type"] == "extra_forbidden" else words_of(first)
        raise SettingsError(f"config file {path}: {key}: {what}") from None


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
        "": FileConfig,
    }
    known = next(kind.model_fields for start, kind in tables.items() if key.startswith(start))
    near = difflib.get_close_matches(key.rpartition(".")[2], known, n=1)
    return f"is not a setting; did you mean {near[0]}?" if near else "is not a setting"
