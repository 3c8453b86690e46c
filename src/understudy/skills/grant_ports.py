"""What skills need from outside to know who may use them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from understudy.skills.model import AgentGrant, UserGrant


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantCounts:
    """How many grants a skill has."""

    agents: int
    users: int

    @property
    def any(self) -> bool:
        """Whether there is one at all."""
        return self.agents + self.users > 0


class GrantStore(Protocol):
    """Who may use which skill. Changes are made while the slug is held."""

    def give_agent(self, grant: AgentGrant) -> bool:
        """Grant to an agent; one that has a grant gets the new pin. Tells whether it is new."""
        ...

    def give_user(self, grant: UserGrant) -> bool:
        """Grant to a user; tells whether it is new."""
        ...

    def take_agent(self, skill_id: str, agent_id: str) -> bool:
        """Revoke the grant of an agent; tells whether there was one."""
        ...

    def take_user(self, skill_id: str, user_id: str) -> bool:
        """Revoke the grant of a user; tells whether there was one."""
        ...

    def take_all(self, skill_id: str) -> GrantCounts:
        """Revoke everything; tells how many there were."""
        ...

    def take_all_of_agent(self, agent_id: str, *, at_ms: int) -> int:
        """Revoke everything that an agent was granted, and have the skills be private that nobody
        else was; how many grants there were. Only while all skills are held."""
        ...

    def counts(self, skill_id: str) -> GrantCounts: ...

    def to_agents(self, skill_id: str) -> tuple[AgentGrant, ...]:
        """By agent."""
        ...

    def to_users(self, skill_id: str) -> tuple[UserGrant, ...]:
        """By user."""
        ...

    def of_agent(self, agent_id: str) -> Mapping[str, AgentGrant]:
        """What an agent was granted, by skill."""
        ...
