"""The context files that users have for themselves; for their user, and for admins."""

from typing import Annotated, Final

from fastapi import APIRouter, Path

from understudy.api.gate import GatedRoute
from understudy.api.operations import operator, viewer
from understudy.api.paging import Paging, items
from understudy.api.routes.agents import ONE as AGENT
from understudy.api.routes.agents import FileName, FileVersion, file_version_detail
from understudy.api.services import AgentId, Caller, Services
from understudy.core.page import Page
from understudy.wire.agents import (
    AcceptFile,
    FileContent,
    FileSummary,
    FileVersionDetail,
    FileVersionView,
    FileView,
    RestoreFile,
)
from understudy.wire.base import Deleted, Items

router = APIRouter(tags=["agents"], route_class=GatedRoute)
UserId = Annotated[str, Path(description="id of the user")]
ALL: Final = AGENT + "/users/{user_id}/files"
ONE: Final = ALL + "/{name}"


@router.get(ALL, operation_id="agents.user_files")
# Whose copy it is, the service knows.
@viewer()
def list_files(
    agent_id: AgentId, user_id: UserId, services: Services, caller: Caller, page: Paging
) -> Items[FileSummary]:
    """List the user's copies that have content; they override the agent's own files."""
    return items(
        Page.cut(services.agents.user_files.files(caller, agent_id, user_id), page), FileSummary.of
    )


@router.get(ONE, operation_id="agents.user_file")
@viewer()
def get_file(
    agent_id: AgentId, user_id: UserId, name: FileName, services: Services, caller: Caller
) -> FileView:
    """Show a user's copy as it is in force."""
    return FileView.of(services.agents.user_files.file(caller, agent_id, user_id, name))


@router.put(ONE, operation_id="agents.write_user_file")
@operator(action="agents.write_file")
def write_file(
    agent_id: AgentId,
    user_id: UserId,
    name: FileName,
    body: FileContent,
    services: Services,
    caller: Caller,
) -> FileView:
    """Store new content as the next version of a user's copy."""
    return FileView.of(
        services.agents.user_files.write(
            caller,
            agent_id,
            user_id,
            name,
            body.content,
            made_from=body.version,
            reason=body.reason,
        )
    )


@router.delete(ONE, operation_id="agents.delete_user_file")
@operator(action="agents.write_file")
def delete_file(
    agent_id: AgentId, user_id: UserId, name: FileName, services: Services, caller: Caller
) -> Deleted:
    """Empty a copy, which also hides the agent's own file; its versions stay."""
    services.agents.user_files.delete(caller, agent_id, user_id, name)
    return Deleted()


@router.get(ONE + "/versions", operation_id="agents.user_file_versions")
@viewer()
def file_versions(
    agent_id: AgentId,
    user_id: UserId,
    name: FileName,
    services: Services,
    caller: Caller,
    page: Paging,
) -> Items[FileVersionView]:
    """List the versions of a user's copy, newest first."""
    found = services.agents.user_files.versions(caller, agent_id, user_id, name, page)
    return items(found, FileVersionView.of)


@router.get(ONE + "/versions/{version}", operation_id="agents.user_file_version")
@viewer()
def file_version(
    agent_id: AgentId,
    user_id: UserId,
    name: FileName,
    version: FileVersion,
    services: Services,
    caller: Caller,
) -> FileVersionDetail:
    """Show a version of a user's copy, with the diff to the version before."""
    found = services.agents.user_files.version(caller, agent_id, user_id, name, version)
    return file_version_detail(found)


@router.post(ONE + "/accept", operation_id="agents.accept_user_file")
@operator(action="agents.accept_file")
def accept_file(
    agent_id: AgentId,
    user_id: UserId,
    name: FileName,
    services: Services,
    caller: Caller,
    body: AcceptFile | None = None,
) -> FileView:
    """Accept what an agent wrote into a copy: its text stands in prompts as a person's."""
    version = body.version if body else None
    return FileView.of(
        services.agents.user_files.accept(caller, agent_id, user_id, name, version=version)
    )


@router.post(ONE + "/restore", operation_id="agents.restore_user_file")
@operator(action="agents.write_file")
def restore_file(
    agent_id: AgentId,
    user_id: UserId,
    name: FileName,
    body: RestoreFile,
    services: Services,
    caller: Caller,
) -> FileView:
    """Restore the content of an earlier version, as a new version."""
    found = services.agents.user_files.restore(caller, agent_id, user_id, name, body.version)
    return FileView.of(found)
