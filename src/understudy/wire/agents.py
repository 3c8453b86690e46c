"""Agents and their context files on the wire."""

from typing import Literal, TypeAlias

from pydantic import Field

from understudy.wire.base import Int32, JsonObject, Omitted, Request, Update, View

AgentType: TypeAlias = Literal["predefined", "open"]


class AgentFields(Request):
    """The parts of an agent; what is left out keeps its value, an empty route clears it."""

    display_name: str | None = Field(default=None, max_length=200)
    route: str | None = None
    max_tool_iterations: Int32 | None = None
    other_config: JsonObject | None = None
    permissions: JsonObject | None = None


class CreateAgent(AgentFields):
    """A new agent."""

    agent_id: str
    agent_type: AgentType


class UpdateAgent(AgentFields, Update):
    """Changes to an agent; an id must be that of the path."""

    agent_id: str | None = None
    agent_type: AgentType | None = None


class AgentView(View):
    """An agent."""

    agent_id: str
    display_name: str
    agent_type: AgentType
    route: Omitted[str] = None
    max_tool_iterations: int
    other_config: JsonObject
    permissions: JsonObject
    version: int
    created_at_ms: int
    updated_at_ms: int


class WriteFile(Request):
    """The new content of a context file."""

    content: str


class RestoreFile(Request):
    """Which earlier version to bring back."""

    version: Int32


class FileVersionView(View):
    """One version of a context file, without its content."""

    version: int
    actor: str
    run_id: str | None
    created_at_ms: int
    size: int


class FileSummary(FileVersionView):
    """The version of a context file that is in force, without its content."""

    name: str


class FileView(FileSummary):
    """A context file."""

    agent_id: str
    content: str
