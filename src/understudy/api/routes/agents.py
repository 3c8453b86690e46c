"""Agents and their context files."""

from typing import Annotated, Final

from fastapi import APIRouter, Path

from understudy.agents.file_versions import ShownVersion
from understudy.agents.model import Agent
from understudy.agents.service import AgentFields
from understudy.api.bodies import check_same_id, record_of
from understudy.api.gate import GatedRoute
from understudy.api.operations import admin, operator, viewer
from understudy.api.paging import Paging, items
from understudy.api.services import AgentId, Caller, Services
from understudy.core.page import Page
from understudy.evolution.context_files import file_access
from understudy.evolution.switch_costs import switches_in_force
from understudy.evolution.text_diff import text_diff
from understudy.wire.agents import (
    AcceptFile,
    AgentView,
    CreateAgent,
    FileContent,
    FileSummary,
    FileVersionDetail,
    FileVersionView,
    FileView,
    RestoreFile,
    UpdateAgent,
)
from understudy.wire.base import Deleted, Items, VersionNumber

router = APIRouter(tags=["agents"], route_class=GatedRoute)
FileName = Annotated[str, Path(description="a context file, such as SOUL.md")]
FileVersion = Annotated[VersionNumber, Path(description="number of the version")]
ONE: Final = "/v1/agents/{agent_id}"
FILE: Final = ONE + "/files/{name}"


@router.post("/v1/agents", operation_id="agents.create", status_code=201)
@admin(body_id="agent_id")
def create(body: CreateAgent, services: Services, caller: Caller) -> AgentView:
    """Create an agent."""
    return _view(services.agents.service.create(caller, body.agent_id, _fields(body)))


@router.get("/v1/agents", operation_id="agents.list")
@viewer()
def list_agents(services: Services, page: Paging) -> Items[AgentView]:
    """List agents by id."""
    return items(services.agents.service.page(page), _view)


@router.get(ONE, operation_id="agents.get")
@viewer()
def get(agent_id: AgentId, services: Services) -> AgentView:
    """Show an agent."""
    return _view(services.agents.service.get(agent_id))


@router.put(ONE, operation_id="agents.update")
# Of an agent: its owner, and admins.
@operator()
def update(agent_id: AgentId, body: UpdateAgent, services: Services, caller: Caller) -> AgentView:
    """Change an agent; a field that is not given keeps its value."""
    check_same_id("agent_id", body.agent_id, agent_id)
    return _view(services.agents.service.update(caller, agent_id, _fields(body)))


@router.delete(ONE, operation_id="agents.delete")
@admin()
def delete(agent_id: AgentId, services: Services, caller: Caller) -> Deleted:
    """Delete an agent that no session uses."""
    services.agents.service.delete(caller, agent_id)
    return Deleted()


@router.get(ONE + "/files", operation_id="agents.files")
@viewer()
def list_files(agent_id: AgentId, services: Services, page: Paging) -> Items[FileSummary]:
    """List the context files that have content."""
    return items(Page.cut(services.agents.service.files(agent_id), page), FileSummary.of)


@router.get(FILE, operation_id="agents.file")
@viewer()
def get_file(agent_id: AgentId, name: FileName, services: Services) -> FileView:
    """Show a context file as it is in force."""
    return FileView.of(services.agents.service.file(agent_id, name))


@router.put(FILE, operation_id="agents.write_file")
@operator()
def write_file(
    agent_id: AgentId, name: FileName, body: FileContent, services: Services, caller: Caller
) -> FileView:
    """Store new content as the next version of a context file."""
    return FileView.of(
        services.agents.service.write_file(
            caller, agent_id, name, body.content, made_from=body.version, reason=body.reason
        )
    )


@router.delete(FILE, operation_id="agents.delete_file")
@operator(action="agents.write_file")
def delete_file(agent_id: AgentId, name: FileName, services: Services, caller: Caller) -> Deleted:
    """Empty a context file; its versions stay."""
    services.agents.service.delete_file(caller, agent_id, name)
    return Deleted()


@router.get(FILE + "/versions", operation_id="agents.file_versions")
@viewer()
def file_versions(
    agent_id: AgentId, name: FileName, services: Services, page: Paging
) -> Items[FileVersionView]:
    """List the versions of a context file, newest first."""
    return items(services.agents.service.file_versions(agent_id, name, page), FileVersionView.of)


@router.get(FILE + "/versions/{version}", operation_id="agents.file_version")
@viewer()
def file_version(
    agent_id: AgentId, name: FileName, version: FileVersion, services: Services
) -> FileVersionDetail:
    """Show a version of a context file, with the diff to the version before."""
    return file_version_detail(services.agents.service.file_version(agent_id, name, version))


@router.post(FILE + "/restore", operation_id="agents.restore_file")
@operator(action="agents.write_file")
def restore_file(
    agent_id: AgentId, name: FileName, body: RestoreFile, services: Services, caller: Caller
) -> FileView:
    """Restore the content of an earlier version, as a new version."""
    return FileView.of(services.agents.service.restore_file(caller, agent_id, name, body.version))


@router.post(FILE + "/accept", operation_id="agents.accept_file")
@operator()
def accept_file(
    agent_id: AgentId,
    name: FileName,
    services: Services,
    caller: Caller,
    body: AcceptFile | None = None,
) -> FileView:
    """Accept what an agent wrote into a context file: its text stands in prompts as a person's."""
    version = body.version if body else None
    return FileView.of(services.agents.service.accept_file(caller, agent_id, name, version=version))


def file_version_detail(shown: ShownVersion) -> FileVersionDetail:
    """One version of a context file with its content and its diff."""
    file, before = shown.file, shown.before
    was = None if before is None or before.deleted else before.content
    return FileVersionDetail.of(file, diff=text_diff(was, file.content, file.name))


def _view(agent: Agent) -> AgentView:
    return AgentView.of(agent, switches=switches_in_force(agent), files=file_access(agent))


def _fields(body: CreateAgent | UpdateAgent) -> AgentFields:
    cleared = "other_config" in body.model_fields_set and body.other_config is None
    return record_of(AgentFields, body, clear_other_config=cleared)
