"""Projects on the wire."""

from typing import Literal, TypeAlias

from pydantic import Field

from understudy.wire.base import JsonObject, Omitted, Request, Update, View

ProjectStatus: TypeAlias = Literal["active", "paused", "completed", "archived"]
MemberKind: TypeAlias = Literal["session", "human_actor"]


class AddMember(Request):
    """A session or a person that joins; a session without its id is found by `member_id`."""

    member_id: str
    member_kind: MemberKind = "session"
    display_name: str | None = Field(default=None, max_length=200)
    session_id: str | None = None
    agent_id: str | None = None
    actor_id: str | None = None
    role: str | None = Field(default=None, max_length=200)
    expertise_tags: list[str] = Field(default_factory=list, max_length=64)
    metadata: JsonObject = Field(default_factory=dict)


class ProjectFields(Request):
    """The parts of a project besides its name; what is left out keeps its value."""

    description: str | None = Field(default=None, max_length=65_536)
    status: ProjectStatus | None = None
    channel_links: list[str] | None = Field(default=None, max_length=256)
    metadata: JsonObject | None = None


class CreateProject(ProjectFields):
    """A new project."""

    project_id: str | None = None
    display_name: str = Field(max_length=200)
    members: list[AddMember] = Field(default_factory=list, max_length=1000)


class UpdateProject(ProjectFields, Update):
    """Changes to a project; an id must be that of the path, members replace those there are."""

    project_id: str | None = None
    display_name: str | None = Field(default=None, max_length=200)
    members: list[AddMember] | None = Field(default=None, max_length=1000)


class MemberView(View):
    """A member of a project."""

    member_id: str
    member_kind: MemberKind
    display_name: str
    session_id: Omitted[str] = None
    agent_id: Omitted[str] = None
    actor_id: Omitted[str] = None
    role: Omitted[str] = None
    expertise_tags: list[str]
    metadata: JsonObject


class ProjectView(View):
    """A project."""

    project_id: str
    display_name: str
    description: Omitted[str] = None
    status: ProjectStatus
    members: list[MemberView]
    channel_links: list[str]
    metadata: JsonObject
    version: int
    created_at_ms: int
    updated_at_ms: int
