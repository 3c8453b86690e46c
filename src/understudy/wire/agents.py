"""Agents, their context files and proposals for these, on the wire."""

from typing import Annotated

from pydantic import Field

from understudy.agents.model import AgentType, FileAccess
from understudy.evolution.proposals import ProposalState
from understudy.evolution.switch_costs import SwitchInForce
from understudy.wire.base import (
    Int32,
    JsonObject,
    Lax,
    Omitted,
    RequestBody,
    Update,
    VersionNumber,
    View,
)


class AgentBody(RequestBody):
    """The parts of an agent; what is left out keeps its value, an empty route clears it.

    Keys of `other_config` are merged; null clears all of it, back to the defaults.
    """

    display_name: str | None = Field(default=None, max_length=200)
    route: str | None = None
    max_tool_iterations: Int32 | None = None
    other_config: JsonObject | None = None
    permissions: JsonObject | None = None
    # Who may change it beside the admins, but for its permissions; empty clears it.
    owner_id: str | None = Field(default=None, max_length=255)


class CreateAgent(AgentBody):
    """A new agent."""

    agent_id: str
    agent_type: Lax[AgentType]


class UpdateAgent(AgentBody, Update):
    """Changes to an agent; an id must be that of the path.

    What `switches` and `files` say follows from the rest, so they are ignored.
    """

    agent_id: str | None = None
    switches: list[JsonObject] | None = None
    files: list[JsonObject] | None = None
    agent_type: Lax[AgentType] | None = None


class AgentView(View):
    """An agent."""

    agent_id: str
    display_name: str
    agent_type: AgentType
    route: Omitted[str] = None
    max_tool_iterations: int
    other_config: JsonObject
    permissions: JsonObject
    owner_id: Omitted[str] = None
    # What of `other_config` counts for its next run, and what that costs.
    switches: list[SwitchInForce] = Field(default_factory=list)
    # Its context files, with content or not, and what its runs may do with each.
    files: list[FileAccess] = Field(default_factory=list)
    version: int
    created_at_ms: int
    updated_at_ms: int


class FileContent(RequestBody):
    """The new content of a context file.

    `version` is the one that it was made from, 0 for none; another one in force is a conflict.
    """

    content: str
    version: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None
    # Why, for the history of the file.
    reason: str | None = Field(default=None, max_length=1000)


class RestoreFile(RequestBody):
    """Which earlier version to bring back."""

    version: VersionNumber


class FileVersionView(View):
    """One version of a context file, without its content."""

    version: int
    actor: str
    run_id: str | None
    created_at_ms: int
    size: int
    # Whether this version took the file out of force; it has no content then.
    deleted: bool = False
    # Who looked at the text of a run before it came into force.
    reviewed_by: Omitted[str] = None
    # Why it was written, as who wrote it said; or the version that it restores.
    reason: Omitted[str] = None
    # Whether a run wrote it that had read text of others, and from where.
    derived_from_untrusted: bool = False
    untrusted_sources: list[str] = Field(default_factory=list)


class FileSummary(FileVersionView):
    """The version of a context file that is in force, without its content."""

    name: str


class FileView(FileSummary):
    """A context file."""

    agent_id: str
    content: str


class FileVersionDetail(FileView):
    """One version of a context file, in force or not; `diff` is against the version before."""

    diff: str


class RejectProposal(RequestBody):
    """Why it is not wanted."""

    reason: str | None = Field(default=None, max_length=1000)


class ProposalView(View):
    """What a run wants a file of its agent to become; `base_version` is 0 where there was none."""

    proposal_id: str
    agent_id: str
    name: str
    state: ProposalState
    base_version: int
    actor: str
    run_id: str
    size: int
    created_at_ms: int
    decided_by: Omitted[str] = None
    decided_at_ms: Omitted[int] = None
    reason: Omitted[str] = None
    file_version: Omitted[int] = None
    # Whose copy it is for; absent: the agent's own file, for all.
    user_id: Omitted[str] = None
    # From where the run had text of others that proposes it.
    untrusted_sources: list[str] = Field(default_factory=list)
    actions: list[str]


class ProposalDetail(ProposalView):
    """The same with its text, and what it changes of the version it was made from."""

    content: str
    diff: str
    outdated: bool
