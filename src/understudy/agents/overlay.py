"""Which context files count for a user: their own copies, over those of the agent."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from understudy.agents.model import CONTEXT_FILES, Agent, AgentType, ContextFile

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# The files that a user may have a copy of, by the type of the agent; the others are for all.
PER_USER: Final[Mapping[AgentType, frozenset[str]]] = {
    AgentType.OPEN: frozenset(CONTEXT_FILES),
    AgentType.PREDEFINED: frozenset({"USER.md", "HEARTBEAT.md"}),
}


def files_in_force(unit: "Unit", agent: Agent | None, user_id: str) -> tuple[ContextFile, ...]:
    """The files that count for a user, by name; an agent that is unknown has none.

    A copy that is empty hides the agent's own: the user has done away with it.
    """
    if agent is None:
        return ()
    shown = {file.name: file for file in unit.agents.files(agent.agent_id)}
    if user_id:
        copies = unit.user_files.files(agent.agent_id, user_id)
        own = PER_USER[agent.agent_type]
        shown |= {copy.name: copy for copy in copies if copy.name in own}
    return tuple(shown[name] for name in sorted(shown) if shown[name].content)
