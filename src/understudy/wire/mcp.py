"""MCP servers on the wire."""

from typing import Literal, Self, TypeAlias

from pydantic import Field, model_validator

from understudy.mcp_client.model import Transport
from understudy.settings.mcp import (
    DEFAULT_TIMEOUT_S,
    Command,
    HeaderName,
    ServerName,
    Url,
    Value,
    Variable,
    check_is_one_thing,
)
from understudy.wire.base import Id, Omitted, RequestBody, View

State: TypeAlias = Literal["stopped", "starting", "ready", "failed"]
Approval: TypeAlias = Literal["always", "never"]


class SessionMcpServer(RequestBody):
    """A server for one session: a program to start, or an address to call."""

    command: Command | None = None
    """The program to start, instead of `url`."""
    args: list[Value] = Field(default_factory=list, max_length=100)
    """The arguments of the program."""
    env: dict[Variable, Value] = Field(default_factory=dict, max_length=100)
    """The environment variables of the program."""
    cwd: Command | None = None
    """The working directory of the program."""
    url: Url | None = None
    """The address to call, instead of `command`."""
    headers: dict[HeaderName, Value] = Field(default_factory=dict, max_length=50)
    """Headers of every request to the address."""
    timeout_s: float = Field(default=DEFAULT_TIMEOUT_S, gt=0, le=3600)
    """The longest time of a call, in seconds."""
    enabled: bool = True
    """Whether its tools are offered."""
    approval: Approval = "always"
    """`always` asks a person before each call, `never` does not."""
    trust_annotations: bool = False
    """Whether the server is believed about which of its tools only read."""

    @model_validator(mode="after")
    def _is_one_thing(self) -> Self:
        check_is_one_thing(self.command, self.url, self.model_fields_set)
        return self


class SetSessionMcpServers(RequestBody):
    """The servers of a session, by name; they replace the previous ones."""

    mcp_servers: dict[ServerName, SessionMcpServer] = Field(max_length=16)
    """The servers by name."""


class AcceptMcpTools(RequestBody):
    """Whose tools are accepted, and which: those with the digests that were read, or all of the server.

    With `session_id` it is the session's own server of that name.
    """

    session_id: Id | None = None
    """The session that has the server; by default a server of the daemon."""
    digests: list[str] | None = Field(default=None, min_length=1, max_length=200)
    """Only the tools with the digests that were read; by default all."""


class McpToolView(View):
    """What a tool says of itself, and the digest of it."""

    name: str
    description: str
    digest: str


class AcceptedMcpTools(View):
    """The tools of a server that are accepted now."""

    tools: list[McpToolView]


class SessionMcpServerView(View):
    """A server of a session, as it was set, with its state."""

    command: Omitted[str] = None
    args: Omitted[list[str]] = None
    env: Omitted[dict[str, str]] = None
    cwd: Omitted[str] = None
    url: Omitted[str] = None
    headers: Omitted[dict[str, str]] = None
    timeout_s: float
    enabled: bool
    approval: Approval
    trust_annotations: bool
    transport: Transport
    state: State
    tools: int
    unaccepted: Omitted[int] = None
    reason: Omitted[str] = None
    next_try_at_ms: Omitted[int] = None


class SessionMcpServersView(View):
    """The servers of one session, by name."""

    session_id: str
    mcp_servers: dict[str, SessionMcpServerView]
