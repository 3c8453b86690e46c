"""Routes, runtime settings, tools and status on the wire."""

from pydantic import ConfigDict, Field

from understudy.memory.policy import RunMemoryPolicy
from understudy.providers.model_windows import WindowSource
from understudy.review.policy import LearningPolicy
from understudy.runtime.memory_writes import MemoryWriteAnswer
from understudy.runtime.two_people import TwoApprovers
from understudy.wire.base import DebugLevel, Int32, JsonObject, Lax, Omitted, RequestBody, View


class RouteView(View):
    """A route of model calls; never with its key."""

    route_id: str
    provider: str
    model: str
    base_url: Omitted[str] = None
    context_window: int
    # `configured`, `known` by the model's family, or `default`: assumed for an unknown model.
    context_window_source: WindowSource
    ready: bool
    reason: Omitted[str] = None
    # Kinds of files that its model takes besides text: `image`, `document`.
    accepts: list[str] = Field(default_factory=list)
    default: bool


class ChangeRuntime(RequestBody):
    """Runtime settings to change; an omitted one stays."""

    default_route: str | None = None
    """The route of sessions and agents that name none."""
    route_id: str | None = None
    """Another name of `default_route`."""
    debug_level: DebugLevel | None = None
    """What of the model calls is stored: `off`, `requests` or `full`."""
    require_two_approvers: list[Lax[TwoApprovers]] | None = Field(default=None, max_length=3)
    """Changes that need the approval of two people; an empty list: none."""
    require_signed_uploads: bool | None = None
    """Whether uploads of skills need the signature of a known key."""
    memory_writes: Lax[MemoryWriteAnswer] | None = None
    """How Claude Code is answered when it writes to its memory; Codex is always denied."""
    expected_revision: Int32 | None = None
    """The revision that was read; the call is refused after another change."""


class RollBackRuntime(RequestBody):
    """The revision to restore; by default the previous one."""

    target_revision: Int32 | None = None
    """The revision to restore; by default the previous one."""
    expected_revision: Int32 | None = None
    """The revision that was read; the call is refused after another change."""


class RuntimeView(View):
    """The runtime settings in force."""

    revision: int
    updated_at_ms: int
    actor: str
    setting: str
    rollback_of_revision: Omitted[int] = None
    default_route: str
    # The same under its other name.
    route_id: str
    provider: Omitted[str] = None
    model: Omitted[str] = None
    debug_level: DebugLevel
    require_two_approvers: list[TwoApprovers] = Field(default_factory=list)
    require_signed_uploads: bool = False
    memory_writes: MemoryWriteAnswer = MemoryWriteAnswer.DENY
    run_memory_policy: RunMemoryPolicy
    learning_policy: LearningPolicy


class ToolView(View):
    """A tool agents may have."""

    name: str
    description: str
    effect: str
    approval: str
    enabled: bool
    # Of a tool of an MCP server: the digest of what it says of itself, and whether that is accepted.
    digest: Omitted[str] = None
    accepted: Omitted[bool] = None
    parameters: JsonObject = Field(default_factory=dict)


class SetTool(RequestBody):
    """Whether agents may use the tool."""

    enabled: bool
    """Whether agents may use the tool."""


class StatusView(View):
    """The state of the daemon; there may be more parts than these."""

    model_config = ConfigDict(frozen=True, extra="allow")

    status: str
    ready: bool
