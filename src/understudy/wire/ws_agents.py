"""The context files of agents over the WebSocket, in the words of its protocol."""

from pydantic import Field

from understudy.wire.base import Omitted, Request, View


class ListFilesParams(Request):
    """An agent."""

    agentId: str = Field(min_length=1, max_length=200)  # noqa: N815 - as the protocol spells it


class GetFileParams(ListFilesParams):
    """A context file of an agent."""

    name: str = Field(min_length=1, max_length=200)


class SetFileParams(GetFileParams):
    """What it is to hold, and whether users who have a copy of their own get it too."""

    content: str
    propagate: bool = False


class FileState(View):
    """One of the files that an agent may have; without its content in a list."""

    name: str
    missing: bool
    size: int
    content: Omitted[str] = None


class ListedFiles(View):
    """Every file that an agent may have."""

    agentId: str  # noqa: N815
    files: list[FileState]


class AgentFile(View):
    """One of them."""

    agentId: str  # noqa: N815
    file: FileState


class AgentFileSet(AgentFile):
    """The file as it is now, and how many copies of users changed with it."""

    propagated: int
