"""The records of the MCP client: servers, their status, and their tools."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

from understudy.core.machine import Machine
from understudy.core.records import OMIT, JsonObject
from understudy.settings.mcp import DEFAULT_TIMEOUT_S

Transport: TypeAlias = Literal["stdio", "http"]


class ServerState(StrEnum):
    """The state of a connection to a server."""

    STOPPED = "stopped"
    STARTING = "starting"
    READY = "ready"
    FAILED = "failed"


CONNECTION: Final = Machine(
    name="mcp connection",
    steps={
        ServerState.STOPPED: frozenset({ServerState.STARTING}),
        ServerState.STARTING: frozenset(
            {ServerState.READY, ServerState.FAILED, ServerState.STOPPED}
        ),
        ServerState.READY: frozenset({ServerState.STOPPED, ServerState.FAILED}),
        ServerState.FAILED: frozenset({ServerState.STARTING}),
    },
    conflict_code="mcp_connection_state",
    domain="mcp",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A server that the daemon starts, with messages over stdin and stdout."""

    command: str
    args: tuple[str, ...] = ()
    # The complete environment: the daemon's own is not inherited.
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpServer:
    """A server over HTTP."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    # Whether loopback and private addresses are refused, as they are for agents.
    public_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServer:
    """A server with everything needed to connect."""

    name: str
    target: Program | HttpServer
    timeout_s: float = DEFAULT_TIMEOUT_S
    needs_approval: bool = True
    trusts_annotations: bool = False
    is_credentialed: bool = False
    # Why it cannot be used at all, such as a missing credential.
    unusable: str | None = None

    @property
    def transport(self) -> Transport:
        """The transport of the server."""
        return "stdio" if isinstance(self.target, Program) else "http"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTool:
    """A tool of a server's list: bounded, with a rebuilt schema."""

    name: str
    description: str
    schema: JsonObject
    reads_only: bool = False
    is_idempotent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedTool:
    """A tool whose name, description and parameters an admin has accepted, by their digest."""

    digest: str
    name: str
    accepted_by: str
    accepted_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatus:
    """The status of a server."""

    name: str
    transport: Transport
    state: ServerState
    tools: int = 0
    # How many of the listed tools have a description that no admin has accepted, if any.
    unaccepted: Annotated[int | None, OMIT] = None
    reason: Annotated[str | None, OMIT] = None
    next_try_at_ms: Annotated[int | None, OMIT] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionServer:
    """A server that only one session has; never with credentials."""

    name: str
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float = DEFAULT_TIMEOUT_S
    enabled: bool = True
    approval: str = "always"
    trust_annotations: bool = False
