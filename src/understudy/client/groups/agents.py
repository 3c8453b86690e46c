"""Calls about agents and their context files."""

from collections.abc import Iterator

from understudy.client.calls import at, delete, get, given, post, put
from understudy.client.groups.agent_proposals import AgentProposals
from understudy.client.groups.resource import Resource, body, every
from understudy.client.groups.user_files import UserFiles
from understudy.client.transport import Transport
from understudy.wire.agents import (
    AgentView,
    CreateAgent,
    FileSummary,
    FileVersionDetail,
    FileVersionView,
    FileView,
    UpdateAgent,
)
from understudy.wire.base import Deleted, Items
from understudy.wire.evolution import EntryKind, EvolutionEntry

_view = AgentView.model_validate
_file = FileView.model_validate


class Agents:
    """Configured workers."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.files = AgentFiles(transport)
        self.user_files = UserFiles(transport)
        self.proposals = AgentProposals(transport)

    def create(self, wanted: CreateAgent, *, key: str | None = None) -> AgentView:
        """A new agent."""
        return self.transport.send(post(at("agents"), _view, body(wanted), key=key))

    def get(self, agent_id: str) -> AgentView:
        """One agent."""
        return self.transport.send(get(at("agents", agent_id), _view))

    def page(self, *, limit: int | None = None, cursor: str | None = None) -> Items[AgentView]:
        """Some agents."""
        read = Items[AgentView].model_validate
        return self.transport.send(get(at("agents"), read, **given(limit=limit, cursor=cursor)))

    def list(self) -> Iterator[AgentView]:
        """All agents."""
        return every(lambda cursor: self.page(cursor=cursor))

    def evolution_page(
        self,
        agent_id: str,
        *,
        kind: EntryKind | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Items[EvolutionEntry]:
        """Some of what made an agent what it is, newest first; perhaps fewer than asked for."""
        path, read = at("agents", agent_id, "evolution"), Items[EvolutionEntry].model_validate
        return self.transport.send(get(path, read, **given(kind=kind, limit=limit, cursor=cursor)))

    def evolution(
        self, agent_id: str, *, kind: EntryKind | None = None
    ) -> Iterator[EvolutionEntry]:
        """All of it, newest first."""
        return every(lambda cursor: self.evolution_page(agent_id, kind=kind, cursor=cursor))

    def update(self, agent_id: str, changes: UpdateAgent) -> AgentView:
        """Change the given fields."""
        return self.transport.send(put(at("agents", agent_id), _view, body(changes)))

    def delete(self, agent_id: str) -> Deleted:
        """Delete an agent."""
        return self.transport.send(delete(at("agents", agent_id), Deleted.model_validate))


class AgentFiles(Resource):
    """The files an agent's instructions are made of, with their history."""

    def page(self, agent_id: str) -> Items[FileSummary]:
        """The files in force, without their content."""
        read = Items[FileSummary].model_validate
        return self.transport.send(get(at("agents", agent_id, "files"), read))

    def get(self, agent_id: str, name: str) -> FileView:
        """One file."""
        return self.transport.send(get(at("agents", agent_id, "files", name), _file))

    def set(self, agent_id: str, name: str, content: str) -> FileView:
        """Write a new version of a file."""
        path = at("agents", agent_id, "files", name)
        return self.transport.send(put(path, _file, {"content": content}))

    def delete(self, agent_id: str, name: str) -> Deleted:
        """Take a file out of force; its history stays."""
        path = at("agents", agent_id, "files", name)
        return self.transport.send(delete(path, Deleted.model_validate))

    def versions_page(
        self, agent_id: str, name: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Items[FileVersionView]:
        """Some versions of a file, newest first."""
        path = at("agents", agent_id, "files", name, "versions")
        read = Items[FileVersionView].model_validate
        return self.transport.send(get(path, read, **given(limit=limit, cursor=cursor)))

    def versions(self, agent_id: str, name: str) -> Iterator[FileVersionView]:
        """All versions of a file, newest first."""
        return every(lambda cursor: self.versions_page(agent_id, name, cursor=cursor))

    def version(self, agent_id: str, name: str, version: int) -> FileVersionDetail:
        """One version of a file, with what it changed of the version before."""
        path = at("agents", agent_id, "files", name, "versions", str(version))
        return self.transport.send(get(path, FileVersionDetail.model_validate))

    def restore(self, agent_id: str, name: str, version: int) -> FileView:
        """Bring an earlier version back as a new one."""
        path = at("agents", agent_id, "files", name, "restore")
        return self.transport.send(post(path, _file, {"version": version}))
