"""Request bodies of projects."""

from pydantic import Field

from understudy.sessions.model import MAX_CHANNEL_LINKS, MemberKind, ProjectStatus
from understudy.wire.base import Lax, Metadata, RequestBody, Update


class AddMember(RequestBody):
    """A session or a person that joins; a session without its id is found by `member_id`."""

    member_id: str
    member_kind: Lax[MemberKind] = MemberKind.SESSION
    display_name: str | None = Field(default=None, max_length=200)
    session_id: str | None = None
    agent_id: str | None = None
    actor_id: str | None = None
    role: str | None = Field(default=None, max_length=200)
    expertise_tags: list[str] = Field(default_factory=list, max_length=64)
    metadata: Metadata = Field(default_factory=dict)


class NoteOfChannel(RequestBody):
    """What a project says about a channel that it links; an empty role is none."""

    role: str | None = Field(default=None, max_length=200)
    metadata: Metadata | None = None


class LinkChannel(NoteOfChannel):
    """A channel to link to a project; an omitted field of a known link keeps its value."""

    channel_id: str = Field(max_length=500)
    default_for_new_tasks: bool = False
    mirror_members: bool | None = None


class ProjectFields(RequestBody):
    """The fields of a project besides its name; an omitted one keeps its value."""

    description: str | None = Field(default=None, max_length=65_536)
    status: Lax[ProjectStatus] | None = None
    channel_links: Lax[tuple[str, ...]] | None = Field(default=None, max_length=MAX_CHANNEL_LINKS)
    mirrored_channels: Lax[tuple[str, ...]] | None = Field(
        default=None, max_length=MAX_CHANNEL_LINKS
    )
    channel_notes: dict[str, NoteOfChannel] | None = Field(
        default=None, max_length=MAX_CHANNEL_LINKS
    )
    metadata: Metadata | None = None


class CreateProject(ProjectFields):
    """A new project."""

    project_id: str | None = None
    display_name: str = Field(max_length=200)
    members: list[AddMember] = Field(default_factory=list, max_length=1000)


class UpdateProject(ProjectFields, Update):
    """Changes to a project; an id must be that of the path, members are replaced.

    The task counts are derived, so they are ignored.
    """

    project_id: str | None = None
    task_count: int | None = None
    active_task_count: int | None = None
    display_name: str | None = Field(default=None, max_length=200)
    members: list[AddMember] | None = Field(default=None, max_length=1000)
