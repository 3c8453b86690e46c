"""Projects and their members."""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Path

from understudy.api.echo import check_same_id
from understudy.api.gate import GatedRoute
from understudy.api.operations import operator, viewer
from understudy.api.paging import Paging, items
from understudy.api.parts import Caller, Parts
from understudy.api.views.records import member_view, project_view
from understudy.core.page import Page
from understudy.sessions.model import MemberKind, ProjectMember, ProjectStatus
from understudy.wire.base import Deleted, Items
from understudy.wire.projects import (
    AddMember,
    CreateProject,
    MemberView,
    ProjectFields,
    ProjectView,
    UpdateProject,
)

router = APIRouter(tags=["projects"], route_class=GatedRoute)
ProjectId = Annotated[str, Path(description="id of the project")]
ONE: Final = "/v1/projects/{project_id}"


@router.post("/v1/projects", operation_id="projects.create", status_code=201)
@operator(body_id="project_id")
def create(body: CreateProject, parts: Parts, caller: Caller) -> ProjectView:
    """Create a project, with members if some are given."""
    members = tuple(_member(member) for member in body.members)
    project = parts.projects.create(
        caller, body.project_id, body.display_name, members=members, **_fields(body)
    )
    return project_view(project)


@router.get("/v1/projects", operation_id="projects.list")
@viewer()
def list_projects(parts: Parts, page: Paging) -> Items[ProjectView]:
    """Projects by id."""
    return items(parts.projects.page(page), project_view)


@router.get(ONE, operation_id="projects.get")
@viewer()
def get(project_id: ProjectId, parts: Parts) -> ProjectView:
    """One project."""
    return project_view(parts.projects.get(project_id))


@router.put(ONE, operation_id="projects.update")
@operator()
def update(project_id: ProjectId, body: UpdateProject, parts: Parts, caller: Caller) -> ProjectView:
    """Change a project; members, if given, replace those there are."""
    check_same_id("project_id", body.project_id, project_id)
    fields = _fields(body)
    if body.members is not None:
        fields["members"] = tuple(_member(member) for member in body.members)
    if body.display_name is not None:
        fields["display_name"] = body.display_name
    return project_view(parts.projects.update(caller, project_id, **fields))


@router.delete(ONE, operation_id="projects.delete")
@operator()
def delete(project_id: ProjectId, parts: Parts, caller: Caller) -> Deleted:
    """Delete a project; its sessions stay."""
    parts.projects.delete(caller, project_id)
    return Deleted()


@router.get(ONE + "/members", operation_id="projects.members")
@viewer()
def members(project_id: ProjectId, parts: Parts, page: Paging) -> Items[MemberView]:
    """The members of a project."""
    return items(Page.cut(parts.projects.get(project_id).members, page), member_view)


@router.post(ONE + "/members", operation_id="projects.add_member")
@operator()
def add_member(project_id: ProjectId, body: AddMember, parts: Parts, caller: Caller) -> ProjectView:
    """Let a session or a person join."""
    return project_view(parts.projects.add_member(caller, project_id, _member(body)))


@router.delete(ONE + "/members/{member_id}", operation_id="projects.remove_member")
@operator()
def remove_member(
    project_id: ProjectId, member_id: str, parts: Parts, caller: Caller
) -> ProjectView:
    """Let a member go."""
    return project_view(parts.projects.remove_member(caller, project_id, member_id))


def _member(body: AddMember) -> ProjectMember:
    given = body.model_dump()
    given["member_kind"] = MemberKind(body.member_kind)
    given["display_name"] = body.display_name or body.member_id
    given["expertise_tags"] = tuple(body.expertise_tags)
    return ProjectMember(**given)


def _fields(body: ProjectFields) -> dict[str, Any]:
    """The fields that were given, as the project keeps them."""
    fields: dict[str, Any] = {"description": body.description, "metadata": body.metadata}
    if body.status is not None:
        fields["status"] = ProjectStatus(body.status)
    if body.channel_links is not None:
        fields["channel_links"] = tuple(body.channel_links)
    return {name: value for name, value in fields.items() if value is not None}
