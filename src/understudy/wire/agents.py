"""Agents, their context files and proposals on the wire."""

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
    ReadOnly,
    RequestBody,
    Update,
    VersionNumber,
    View,
)


class AgentBody(RequestBody):
    """The fields of an agent; an omitted one keeps its value, an empty route clears it.

    Keys of `other_config` are merged; null clears all of it, back to the defaults.
    """

    display_name: str | None = Field(default=None, max_length=200)
    """The name that people see."""
    route: str | None = None
    """The route of its model calls; empty clears it."""
    max_tool_iterations: Int32 | None = None
    """The most rounds of tool calls in a run."""
    other_config: JsonObject | None = None
    """Evolution switches and other settings, merged by key; null clears them."""
    permissions: JsonObject | None = None
    """Permission rules for its tool calls."""
    owner_id: str | None = Field(default=None, max_length=255)
    """The user who may change it, except its permissions, besides admins; empty clears it."""


class CreateAgent(AgentBody):
    """A new agent."""

    agent_id: str
    """The id of the new agent."""
    agent_type: Lax[AgentType]
    """`predefined`, or `open`, which never evolves."""


class UpdateAgent(AgentBody, Update):
    """Changes to an agent."""

    agent_id: ReadOnly[str | None] = None
    """Has to be that of the path; it cannot be changed."""
    switches: ReadOnly[list[JsonObject] | None] = None
    """Derived; ignored."""
    files: ReadOnly[list[JsonObject] | None] = None
    """Derived; ignored."""
    agent_type: Lax[AgentType] | None = None
    """`predefined`, or `open`, which never evolves."""


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
    # The effective switches of its next run, and their cost.
    switches: list[SwitchInForce] = Field(default_factory=list)
    # Its context files, with content or not, and the access of its runs to each.
    files: list[FileAccess] = Field(default_factory=list)
    version: int
    created_at_ms: int
    updated_at_ms: int


class FileContent(RequestBody):
    """The new content of a context file.

    `version` is the one that it was made from, 0 for none; another one in force is a conflict.
    """

    content: str
    """The new content."""
    version: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None
    """The version that it was made from, 0 for none; another one in force is a conflict."""
    reason: str | None = Field(default=None, max_length=1000)
    """The reason of the change, for the history of the file."""


class RestoreFile(RequestBody):
    """The earlier version to restore."""

    version: VersionNumber
    """The earlier version to restore."""


class AcceptFile(RequestBody):
    """The version that was read; another one in force is a conflict."""

    version: VersionNumber | None = None
    """The version that was read; another one in force is a conflict."""


class FileVersionView(View):
    """One version of a context file, without its content."""

    version: int
    actor: str
    run_id: str | None
    created_at_ms: int
    size: int
    # Whether this version deleted the file; it has no content then.
    deleted: bool = False
    # Who reviewed the text of a run before it came into force.
    reviewed_by: Omitted[str] = None
    # The reason given by its author, or the version that it restores.
    reason: Omitted[str] = None
    # Whether the writing run had read untrusted text, and from which sources.
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
    """The reason of the rejection."""

    reason: str | None = Field(default=None, max_length=1000)
    """The reason of the rejection."""


class ProposalView(View):
    """A change that a run proposes for a file of its agent; `base_version` is 0 for a new file."""

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
    # The user whose copy it is for; absent: the agent's own file.
    user_id: Omitted[str] = None
    # The untrusted sources of the proposing run.
    untrusted_sources: list[str] = Field(default_factory=list)
    # What a person has to run once it is approved, where the daemon may not write the file.
    command: Omitted[str] = None
    actions: list[str]


class ProposalDetail(ProposalView):
    """A proposal with its text, the text of its base version, and the diff between the two."""

    content: str
    base: str = ""
    diff: str
    outdated: bool
