"""The contract every tool keeps: what it is called, what it takes, what a repeat would do."""

import asyncio
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Final, ParamSpec, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from understudy.core.errors import UnderstudyError
from understudy.core.principal import Principal, Role

# In the workspace: the folders of sessions that work apart from it.
WORKTREES: Final = ".understudy-procedural-worktrees"


@dataclass(frozen=True, slots=True)
class FolderPlace:
    """A folder by where to begin and the names that lead on from there."""

    # The operator's own choice, so it alone may be reached through a link.
    root: Path
    below: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """The place as one path, to be shown and compared; never to be opened."""
        return self.root.joinpath(*self.below)


P = ParamSpec("P")
T = TypeVar("T")


class Effect(StrEnum):
    """The effect of repeating a tool call that was in flight at a crash."""

    READ = "read"  # nothing changes: repeat
    IDEMPOTENT = "idempotent"  # the same end state: repeat
    ONCE = "once"  # a second time would do more: never repeat, tell the model


class Approval(StrEnum):
    """Whether a person must agree before a call runs."""

    NEVER = "never"
    ALWAYS = "always"


class ToolError(UnderstudyError):
    """The tool could not do it; the detail is meant for the model to read."""

    def __init__(self, detail: str, *, code: str = "tool_failed") -> None:
        super().__init__(code, domain="tools", detail=detail)


class WaitsFor(StrEnum):
    """What a tool call waits for while its run sleeps."""

    QUESTION = "question"
    SIDECHAIN = "sidechain"


class NotYet(Exception):
    """The call cannot be answered yet: the run sleeps, and the call is made again when it wakes.

    A tool that raises this is of effect `read` or `idempotent`, and tells by `call_key` that it
    was called before. With `until_ms` the run wakes by then, whatever happened.
    """

    def __init__(self, waits_for: WaitsFor, *, until_ms: int | None = None) -> None:
        super().__init__(str(waits_for))
        self.waits_for = waits_for
        self.until_ms = until_ms


class OwnWords(str):
    """An answer of a tool that holds no text of others: it does not taint the run that reads it."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """Where and for whom a call runs."""

    session_id: str
    run_id: str
    agent_id: str
    user_id: str
    call_id: str
    # Names this call among all calls of all runs; models hand out the same call ids again.
    call_key: str
    # The folder that the session works in; nothing beside it is touched.
    workspace: Path
    # How many of the last names of that folder are the daemon's own choice, not the operator's.
    depth: int = 0

    @property
    def place(self) -> FolderPlace:
        """The folder as it is opened: what the daemon chose is never reached through a link."""
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
    """One thing an agent can do."""

    name: str
    description: str
    effect: Effect
    approval: Approval
    parameters: type[BaseModel]

    async def call(self, arguments: Any, context: ToolContext) -> str:
        """Do it and answer with text for the model; raises `ToolError` when it cannot.

        `arguments` is an instance of `parameters`, already validated.
        """
        ...


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do blocking work on a thread; who is cancelled leaves only when the work has ended."""
    task = asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs))
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as asked:
            cancelled = asked
    if cancelled is not None:
        task.exception()  # looked at, so that nobody reports it as forgotten
        raise cancelled
    return task.result()


@lru_cache(maxsize=512)
def schema_of(parameters: type[BaseModel]) -> Mapping[str, object]:
    """The JSON schema of a tool's parameters, as models get it; shared, so never modify it."""
    schema = parameters.model_json_schema()
    # Whoever has a schema of somebody else's keeps it.
    if "model_json_schema" not in vars(parameters):
        schema = _brief(schema)
        schema.pop("description", None)
    schema.pop("title", None)
    schema.setdefault("additionalProperties", False)
    return schema


def _brief(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema without what tells a model nothing: every request pays for its words.

    A value that may be left out is not said to be null as well.
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
    """Parameters that nobody changes and that take no unknown names."""

    model_config = ConfigDict(extra="forbid", frozen=True)
