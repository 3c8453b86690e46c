"""Projects and their members."""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Query

from understudy.api.bodies import check_same_id, record_of
from understudy.api.gate import GatedRoute
from understudy.api.operations import operator, viewer
from understudy.api.paging import Paging
from understudy.api.services import Caller, Services
from understudy.core.page import Page
from understudy.core.records import extended
from understudy.sessions.model import (
    ChannelLink,
    ChannelNote,
    ProjectDetail,
    ProjectMember,
    ProjectStatus,
)
from understudy.wire.base import Deleted
from understudy.wire.projects import (
    AddMember,
    CreateProject,
    LinkChannel,
    NoteOfChannel,
    ProjectFields,
    UpdateProject,
)

MemberId = Annotated[str, Path(description="id of the member")]
router = APIRouter(tags=["projects"], route_class=GatedRoute)
ProjectId = Annotated[str, Path(description="id of the project")]
ONE: Final = "/v1/projects/{project_id}"


@router.post("/v1/projects", operation_id="projects.create", status_code=201)
@operator(body_id="project_id")
def create(body: CreateProject, services: Services, caller: Caller) -> ProjectDetail:
    """Create a project, with members if some are given."""
    members = tuple(_member(member) for member in body.members)
    return services.projects.service.create(
        caller, body.project_id, body.display_name, members=members, **_fields(body)
    )


@router.get("/v1/projects", operation_id="projects.list")
@viewer()
def list_projects(
    services: Services,
    page: Paging,
    query: Annotated[str | None, Query(description="in id, name or description")] = None,
    status: Annotated[ProjectStatus | None, Query(description="only of this status")] = None,
    member_session_id: Annotated[
        str | None, Query(description="only those that this session is a member of")
    ] = None,
    channel_id: Annotated[str | None, Query(description="only those that link it")] = None,
) -> Page[ProjectDetail]:
    """List projects by id."""
    return services.projects.service.page(
        page,
        query=query,
        status=status,
        member_session_id=member_session_id,
        channel_id=channel_id,
    )


@router.get(ONE, operation_id="projects.get")
@viewer()
def get(project_id: ProjectId, services: Services) -> ProjectDetail:
    """Show a project."""
    return services.projects.service.get(project_id)


@router.put(ONE, operation_id="projects.update")
@operator()
def update(
    project_id: ProjectId, body: UpdateProject, services: Services, caller: Caller
) -> ProjectDetail:
    """Change a project; members, if given, replace those there are."""
    check_same_id("project_id", body.project_id, project_id)
    fields = _fields(body)
    if body.members is not None:
        fields["members"] = tuple(_member(member) for member in body.members)
    if body.display_name is not None:
        fields["display_name"] = body.display_name
    return services.projects.service.update(caller, project_id, **fields)


@router.delete(ONE, operation_id="projects.delete")
@operator()
def delete(project_id: ProjectId, services: Services, caller: Caller) -> Deleted:
    """Delete a project; its sessions stay."""
    services.projects.service.delete(caller, project_id)
    return Deleted()


@router.get(ONE + "/members", operation_id="projects.members")
@viewer()
def members(project_id: ProjectId, services: Services, page: Paging) -> Page[ProjectMember]:
    """List the members of a project."""
    return Page.cut(services.projects.service.get(project_id).members, page)


@router.post(ONE + "/members", operation_id="projects.add_member")
@operator()
def add_member(
    project_id: ProjectId, body: AddMember, services: Services, caller: Caller
) -> ProjectDetail:
    """Add a session or a person to a project."""
    return services.projects.service.add_member(caller, project_id, _member(body))


@router.delete(ONE + "/members/{member_id}", operation_id="projects.remove_member")
@operator()
def remove_member(
    project_id: ProjectId, member_id: MemberId, services: Services, caller: Caller
) -> ProjectDetail:
    """Remove a member from a project."""
    return services.projects.service.remove_member(caller, project_id, member_id)


@router.get(ONE + "/channels", operation_id="projects.channels")
@viewer()
def channels(project_id: ProjectId, services: Services, page: Paging) -> Page[ChannelLink]:
    """List the channels that a project links; threads of its tasks begin in the default one."""
    project = services.projects.service.get(project_id)
    links = [
        extended(
            ChannelLink,
            project.channel_notes.get(each, ChannelNote()),
            channel_id=each,
            default_for_new_tasks=not at,
            mirror_members=each in project.mirrored_channels,
        )
        for at, each in enumerate(project.channel_links)
    ]
    return Page.cut(links, page)


@router.post(ONE + "/channels", operation_id="projects.link_channel")
@operator()
def link_channel(
    project_id: ProjectId, body: LinkChannel, services: Services, caller: Caller
) -> ProjectDetail:
    """Link a channel to a project, as the default for new tasks if asked for."""
    return services.projects.service.link_channel(
        caller,
        project_id,
        body.channel_id,
        is_default=body.default_for_new_tasks,
        mirrors=body.mirror_members,
        **body.model_dump(include=set(NoteOfChannel.model_fields), exclude_none=True),
    )


@router.delete(ONE + "/channels/{channel_id}", operation_id="projects.unlink_channel")
@operator()
def unlink_channel(
    project_id: ProjectId, channel_id: str, services: Services, caller: Caller
) -> ProjectDetail:
    """Remove a link, unless an unfinished task is discussed there."""
    return services.projects.service.unlink_channel(caller, project_id, channel_id)


def _member(body: AddMember) -> ProjectMember:
    return record_of(ProjectMember, body, display_name=body.display_name or body.member_id)


def _fields(body: ProjectFields) -> dict[str, Any]:
    """The fields that were set."""
    fields = body.model_dump(include=set(ProjectFields.model_fields), exclude_none=True)
    if body.channel_notes is not None:
        fields["channel_notes"] = {
            channel_id: ChannelNote(**note.model_dump(exclude_none=True))
            for channel_id, note in body.channel_notes.items()
        }
    return fields
