"""What agents need from outside."""

from contextlib import AbstractContextManager
from typing import Protocol

from understudy.agents.model import Agent, ContextFile
from understudy.core.audit import AuditStore
from understudy.core.errors import NotFound
from understudy.core.page import Page, PageRequest


class AgentStore(Protocol):
    """Agents and their context files."""

    def get(self, agent_id: str) -> Agent | None: ...

    def add(self, agent: Agent) -> bool: ...

    def update(self, agent: Agent, *, expected_version: int) -> None: ...

    def delete(self, agent_id: str) -> bool: ...

    def in_use(self, agent_id: str) -> bool:
        """Whether a session belongs to this agent."""
        ...

    def page(self, request: PageRequest) -> Page[Agent]: ...

    def file(self, agent_id: str, name: str, *, version: int | None = None) -> ContextFile | None:
        """One version of a file, the newest when none is named."""
        ...

    def files(self, agent_id: str) -> tuple[ContextFile, ...]:
        """The newest version of every file."""
        ...

    def add_file(self, file: ContextFile) -> bool:
        """Keep a new version; False when that version exists already."""
        ...

    def file_versions(self, agent_id: str, name: str, request: PageRequest) -> Page[ContextFile]:
        """Versions of one file, newest first."""
        ...


class UserFileStore(Protocol):
    """The copies of context files that users have for themselves, with their history."""

    def file(
        self, agent_id: str, user_id: str, name: str, *, version: int | None = None
    ) -> ContextFile | None:
        """One version of a user's copy, the newest when none is named."""
        ...

    def files(self, agent_id: str, user_id: str) -> tuple[ContextFile, ...]:
        """The newest version of every copy of a user's."""
        ...

    def add_file(self, file: ContextFile) -> bool:
        """Keep a new version; False when that version exists already."""
        ...

    def file_versions(
        self, agent_id: str, user_id: str, name: str, request: PageRequest
    ) -> Page[ContextFile]:
        """Versions of one copy, newest first."""
        ...

    def users(self, agent_id: str, name: str) -> tuple[str, ...]:
        """The users who have a copy of a file, by id."""
        ...


class AgentUnit(Protocol):
    """One transaction over what agents touch."""

    @property
    def agents(self) -> AgentStore: ...

    @property
    def user_files(self) -> UserFileStore: ...

    @property
    def audit(self) -> AuditStore: ...


class AgentUnits(Protocol):
    """Opens transactions."""

    def read(self) -> AbstractContextManager[AgentUnit]: ...

    def write(self) -> AbstractContextManager[AgentUnit]: ...


def require_agent(unit: AgentUnit, agent_id: str) -> Agent:
    """The agent, or `NotFound`."""
    agent = unit.agents.get(agent_id)
    if agent is None:
        raise NotFound("agent_not_found", domain="agents", detail=f"no agent {agent_id!r}")
    return agent
