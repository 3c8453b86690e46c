"""Who may change an agent: its owner, and admins."""

from typing import TYPE_CHECKING

from understudy.agents.model import Agent, require_agent
from understudy.agents.switches import SOUL_LOCKS
from understudy.core.errors import coded_error
from understudy.core.principal import Principal, Role

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


def require_owned(unit: "Unit", principal: Principal, agent_id: str) -> Agent:
    """The agent; `NotFound`, or `Rejected` for a caller who is neither owner nor admin."""
    agent = require_agent(unit, agent_id)
    owns = agent.owner_id == principal.user_id and principal.role.includes(Role.OPERATOR)
    if not owns and not principal.role.includes(Role.ADMIN):
        raise coded_error("agents/agent_not_yours", agent_id=agent_id)
    return agent


def check_for_admins(principal: Principal, before: Agent, after: Agent) -> None:
    """Refuse to an owner changes that would widen the rights of the agent or of anybody."""
    if principal.role.includes(Role.ADMIN):
        return
    for field, was, will_be in (
        ("permissions", before.permissions, after.permissions),
        ("owner_id", before.owner_id, after.owner_id),
        # The locks of SOUL.md hold for predefined agents.
        ("agent_type", before.agent_type, after.agent_type),
        *(
            (lock, before.other_config.get(lock), after.other_config.get(lock))
            for lock in SOUL_LOCKS
        ),
    ):
        if was != will_be:
            raise coded_error("auth/forbidden:agent_field", field=field, role=principal.role)
