"""The records of an agent."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from understudy.core.errors import coded_error

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

DEFAULT_AGENT_ID: Final = "default"
DEFAULT_MAX_TOOL_ITERATIONS: Final = 20
MAX_TOOL_ITERATIONS: Final = 500
# Placeholder for permissions that do not decode: no reader takes it for an empty rule set.
UNREADABLE: Final = {"unreadable": True}


class AgentType(StrEnum):
    """`predefined` agents are shared and may evolve; `open` ones keep their files per user."""

    PREDEFINED = "predefined"
    OPEN = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """A configured worker."""

    agent_id: str
    display_name: str
    agent_type: AgentType
    created_at_ms: int
    updated_at_ms: int
    route: str | None = None
    max_tool_iterations: int = DEFAULT_MAX_TOOL_ITERATIONS
    other_config: Mapping[str, Any] = field(default_factory=dict)
    permissions: Mapping[str, Any] = field(default_factory=dict)
    # The user who may change it beside admins; None: nobody.
    owner_id: str | None = None
    version: int = 1


SOUL: Final = "SOUL.md"
IDENTITY: Final = "IDENTITY.md"
# While it has content, an agent is being set up.
BOOTSTRAP: Final = "BOOTSTRAP.md"
# The files an agent's instructions are made of, in the order the prompt shows them.
CONTEXT_FILES: Final = (
    SOUL,
    IDENTITY,
    "AGENTS.md",
    "USER.md",
    "USER_PREDEFINED.md",
    BOOTSTRAP,
    "HEARTBEAT.md",
)
MAX_CONTEXT_FILE_BYTES: Final = 64 * 1024


class RunAccess(StrEnum):
    """What the runs of an agent may do with one of its context files; people may change them all."""

    LOCKED = "locked"  # nothing
    SWITCHED_OFF = "switched_off"  # nothing until the agent's switch for it is on
    FROZEN = "frozen"  # nothing, although the switch is on
    PROPOSE = "propose"  # propose a change, which a person decides on
    WRITE = "write"  # change it for all users
    EMPTY = "empty"  # empty it, and nothing else
    OWN_COPY = "own_copy"  # change the copy of the run's user


@dataclass(frozen=True, slots=True, kw_only=True)
class FileAccess:
    """A context file, and what runs of the agent may do with it."""

    name: str
    runs_may: RunAccess


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextFile:
    """One version of a context file; the newest version is the one in force."""

    agent_id: str
    name: str
    version: int
    content: str
    actor: str
    created_at_ms: int
    run_id: str | None = None
    # The user whose copy it is; None: the agent's own, for all.
    user_id: str | None = None
    # Who reviewed the text of a run before it came into force.
    reviewed_by: str | None = None
    # Untrusted sources that the writing run had read; empty once a person has reviewed it.
    untrusted_sources: tuple[str, ...] = ()
    # The reason for the change, by its author, or the operation that made it.
    reason: str | None = None

    @property
    def derived_from_untrusted(self) -> bool:
        """Whether it may repeat untrusted text that nobody has reviewed."""
        return bool(self.untrusted_sources)

    @property
    def is_by_agent(self) -> bool:
        """Whether a run wrote it and nobody has reviewed it."""
        return self.run_id is not None and self.reviewed_by is None

    @property
    def size(self) -> int:
        """Bytes of the content."""
        return len(self.content.encode())

    @property
    def deleted(self) -> bool:
        """Whether this version deleted the file."""
        return not self.content


def require_agent(unit: "Unit", agent_id: str) -> Agent:
    """The agent, or `NotFound`."""
    agent = unit.agents.get(agent_id)
    if agent is None:
        raise coded_error("agents/agent_not_found", agent_id=agent_id)
    return agent
