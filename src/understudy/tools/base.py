"""The contract of every tool: name, parameters, effect and approval."""

import asyncio
import hashlib
from collections.abc import Callable, Mapping
from contextvars import copy_context
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache, partial
from pathlib import Path
from typing import Annotated, Any, Final, ParamSpec, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from understudy.core.errors import UnderstudyError
from understudy.core.principal import Principal, Role

# Folder within the workspace for sessions with a working directory of their own.
WORKTREES: Final = ".understudy-procedural-worktrees"


@dataclass(frozen=True, slots=True)
class FolderPlace:
    """A folder as a root and the names below it."""

    # Chosen by the operator, so it alone may be reached through a symlink.
    root: Path
    below: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """The folder as one path, for display and comparison; never for opening."""
        return self.root.joinpath(*self.below)


P = ParamSpec("P")
T = TypeVar("T")


class Effect(StrEnum):
    """The effect of repeating a tool call that was in flight at a crash."""

    READ = "read"  # nothing changes: repeat
    IDEMPOTENT = "idempotent"  # the same end state: repeat
    ONCE = "once"  # a second time would do more: never repeat, tell the model


class Approval(StrEnum):
    """Whether a call needs an approval."""

    NEVER = "never"
    ALWAYS = "always"


class ToolError(UnderstudyError):
    """The tool failed; the detail is for the model."""

    def __init__(self, detail: str, *, code: str = "tool_failed") -> None:
        super().__init__(code, domain="tools", detail=detail)


class WaitsFor(StrEnum):
    """What a tool call waits for while its run sleeps."""

    QUESTION = "question"
    SIDECHAIN = "sidechain"


class NotYet(Exception):
    """The call has no result yet: the run sleeps, and repeats the call when it wakes.

    A tool that raises this is of effect `read` or `idempotent`, and recognises a repeated call by
    `call_key`. With `until_ms` the run wakes by then in any case.
    """

    def __init__(self, waits_for: WaitsFor, *, until_ms: int | None = None) -> None:
        super().__init__(str(waits_for))
        self.waits_for = waits_for
        self.until_ms = until_ms


class OwnWords(str):
    """A tool result without untrusted text: it does not taint the run that reads it."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """The run, user and folder of a tool call."""

    session_id: str
    run_id: str
    agent_id: str
    user_id: str
    call_id: str
    # Unique among all calls of all runs; models reuse call ids.
    call_key: str
    # The working directory of the session; nothing outside of it is touched.
    workspace: Path
    # How many of the folder's last names the daemon chose, not the operator.
    depth: int = 0

    @property
    def place(self) -> FolderPlace:
        """The folder as it is opened: the daemon's own names are never followed as symlinks."""
        if not self.depth:
            return FolderPlace(self.workspace)
        return FolderPlace(
            self.workspace.parents[self.depth - 1], self.workspace.parts[-self.depth :]
        )

    @property
    def caller(self) -> Principal:
        """The user of the run as a principal of the services."""
        return Principal(user_id=self.user_id, role=Role.OPERATOR)

    @property
    def call_digest(self) -> str:
        """A digest of the call key, which can be stored and shown."""
        return hashlib.sha256(self.call_key.encode(errors="replace")).hexdigest()


class Tool(Protocol):
    """One tool of an agent."""

    name: str
    description: str
    effect: Effect
    approval: Approval
    parameters: type[BaseModel]

    async def call(self, arguments: Any, context: ToolContext) -> str:
        """Run the tool and return text for the model; raises `ToolError` on failure.

        `arguments` is an instance of `parameters`, already validated.
        """
        ...


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run blocking work on a thread; a cancelled caller returns only when the work has ended."""
    bound = partial(copy_context().run, work, *args, **kwargs)
    future = asyncio.get_running_loop().run_in_executor(None, bound)
    cancelled: asyncio.CancelledError | None = None
    while not future.done():
        try:
            await asyncio.wait({future})
        except asyncio.CancelledError as asked:
            cancelled = asked
    if cancelled is not None:
        future.exception()  # retrieved, so that asyncio does not log it as never retrieved
        raise cancelled
    return future.result()


@lru_cache(maxsize=512)
def schema_of(parameters: type[BaseModel]) -> Mapping[str, object]:
    """The JSON schema of a tool's parameters, as models get it; shared, so never modify it."""
    schema = parameters.model_json_schema()
    # A schema that comes from an MCP server is kept.
    if "model_json_schema" not in vars(parameters):
        schema = _brief(schema)
        schema.pop("description", None)
    schema.pop("title", None)
    schema.setdefault("additionalProperties", False)
    return schema


def _brief(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema without what tells a model nothing: every request pays for its tokens.

    An optional value is not declared as nullable, too.
    """
    brief = {name: it for name, it in schema.items() if name != "title"}
    if brief.get("default", ...) is None and len(brief.get("anyOf", ())) > 1:
        kinds = [it for it in brief.pop("anyOf") if it != {"type": "null"}]
        del brief["default"]
        brief = {**kinds[0], **brief} if len(kinds) == 1 else {"anyOf": kinds, **brief}
    for name in ("properties", "$defs"):
        if name in brief:
            brief[name] = {part: _brief(it) for part, it in brief[name].items()}
    for name in ("items", "additionalProperties"):
        if isinstance(brief.get(name), dict):
            brief[name] = _brief(brief[name])
    return brief


PathText = Annotated[str, Field(description="Path relative to the workspace, with '/' separators.")]


class Parameters(BaseModel):
    """Immutable parameters that refuse unknown names."""

    model_config = ConfigDict(extra="forbid", frozen=True)
