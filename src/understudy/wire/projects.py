"""Request bodies of projects."""

from pydantic import Field

from understudy.sessions.model import MAX_CHANNEL_LINKS, MemberKind, ProjectStatus
from understudy.wire.base import Lax, Metadata, ReadOnly, RequestBody, Update


class AddMember(RequestBody):
    """A session or a person that joins; a session without its id is found by `member_id`."""

    member_id: str
    """The session or the user."""
    member_kind: Lax[MemberKind] = MemberKind.SESSION
    """`session`, or `human_actor` for a person."""
    display_name: str | None = Field(default=None, max_length=200)
    """The name that the others see."""
    session_id: str | None = None
    """The session, if its id is not `member_id`."""
    agent_id: str | None = None
    """The agent of the session."""
    actor_id: str | None = None
    """The person's user id, if it is not `member_id`."""
    role: str | None = Field(default=None, max_length=200)
    """The role of the member in the project."""
    expertise_tags: list[str] = Field(default_factory=list, max_length=64)
    """Subjects that the member is chosen for."""
    metadata: Metadata = Field(default_factory=dict)
    """Data of the caller, stored with the member."""


class NoteOfChannel(RequestBody):
    """What a project says about a channel that it links; an empty role is none."""

    role: str | None = Field(default=None, max_length=200)
    """The role of the channel in the project; empty: none."""
    metadata: Metadata | None = None
    """Data of the caller, stored with the link."""


class LinkChannel(NoteOfChannel):
    """A channel to link to a project; an omitted field of a known link keeps its value."""

    channel_id: str = Field(max_length=500)
    """The channel."""
    default_for_new_tasks: bool = False
    """Whether new tasks are discussed there."""
    mirror_members: bool | None = None
    """Whether the members of the project are also those of the channel."""


class ProjectFields(RequestBody):
    """The fields of a project besides its name; an omitted one keeps its value."""

    description: str | None = Field(default=None, max_length=65_536)
    """The subject of the project."""
    status: Lax[ProjectStatus] | None = None
    """The status of the project."""
    channel_links: Lax[tuple[str, ...]] | None = Field(default=None, max_length=MAX_CHANNEL_LINKS)
    """The channels that it links."""
    mirrored_channels: Lax[tuple[str, ...]] | None = Field(
        default=None, max_length=MAX_CHANNEL_LINKS
    )
    """The linked channels that have the members of the project."""
    channel_notes: dict[str, NoteOfChannel] | None = Field(
        default=None, max_length=MAX_CHANNEL_LINKS
    )
    """A role and data for each linked channel."""
    metadata: Metadata | None = None
    """Data of the caller, stored with the project."""


class CreateProject(ProjectFields):
    """A new project."""

    project_id: str | None = None
    """The id; by default a new one."""
    display_name: str = Field(max_length=200)
    """The name that people see."""
    members: list[AddMember] = Field(default_factory=list, max_length=1000)
    """The first members."""


class UpdateProject(ProjectFields, Update):
    """Changes to a project."""

    project_id: ReadOnly[str | None] = None
    """Has to be that of the path; it cannot be changed."""
    task_count: ReadOnly[int | None] = None
    """Derived; ignored."""
    active_task_count: ReadOnly[int | None] = None
    """Derived; ignored."""
    display_name: str | None = Field(default=None, max_length=200)
    """The name that people see."""
    members: list[AddMember] | None = Field(default=None, max_length=1000)
    """The members; they replace the previous ones."""
