"""What can be asked about the context files of agents: the same service as over HTTP."""

from typing import TYPE_CHECKING

from understudy.agents.file_versions import check_file_name
from understudy.agents.model import CONTEXT_FILES, ContextFile
from understudy.core.errors import Invalid
from understudy.core.principal import Principal
from understudy.wire.websocket import (
    AgentFile,
    AgentFileSet,
    FileState,
    GetFileParams,
    ListedFiles,
    ListFilesParams,
    SetFileParams,
)
from understudy.ws.errors import within

if TYPE_CHECKING:
    from understudy.daemon.services import Services


def list_files(services: "Services", principal: Principal, params: ListFilesParams) -> ListedFiles:
    """Every file that an agent may have, in the order of the prompt."""
    held = {file.name: file for file in services.agents.service.files(params.agentId)}
    return ListedFiles(
        agentId=params.agentId,
        files=[
            FileState(name=name, missing=name not in held, size=_size(held.get(name)))
            for name in CONTEXT_FILES
        ],
    )


def get_file(services: "Services", principal: Principal, params: GetFileParams) -> AgentFile:
    """One file with its content; one that is not there is missing, which is no mistake."""
    try:
        name = check_file_name(params.name)
    except Invalid as error:
        raise within(error, "/params") from None
    held = {file.name: file for file in services.agents.service.files(params.agentId)}
    return AgentFile(agentId=params.agentId, file=_state(name, held.get(name)))


def set_file(services: "Services", principal: Principal, params: SetFileParams) -> AgentFileSet:
    """Keep new content as the next version, and give it to users with copies where that is wanted."""
    given = (principal, params.agentId, params.name, params.content)
    propagated = 0
    try:
        if params.propagate:
            file, propagated = services.agents.service.write_file_for_all(*given)
        else:
            file = services.agents.service.write_file(*given)
    except Invalid as error:
        raise within(error, "/params") from None
    return AgentFileSet(
        agentId=params.agentId, file=_state(params.name, file), propagated=propagated
    )


def _state(name: str, file: ContextFile | None) -> FileState:
    content = "" if file is None else file.content
    return FileState(name=name, missing=not content, size=_size(file), content=content)


def _size(file: ContextFile | None) -> int:
    return 0 if file is None else file.size
