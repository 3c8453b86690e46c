"""The grant store: grants of skills to agents and to users, in two tables."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

import sqlalchemy as sa

from understudy.skills.model import AgentGrant, GrantCounts, UserGrant, Visibility
from understudy.storage.rows import from_row, insert_new
from understudy.storage.schema import skill_agent_grants, skill_user_grants, skills
from understudy.storage.visible_connection import VisibleConnection


class GrantStore:
    """Grants of skills. Changes are made while the slug is locked."""

    def __init__(self, connection: VisibleConnection) -> None:
        self._connection = connection

    def give_agent(self, grant: AgentGrant) -> bool:
        """Insert a grant to an agent, or update its pin; returns whether it is new."""
        is_new = insert_new(self._connection, skill_agent_grants, asdict(grant))
        if not is_new:
            statement = (
                sa.update(skill_agent_grants)
                .where(_is_agent(grant.skill_id, grant.agent_id))
                .values(pinned_version=grant.pinned_version)
            )
            self._connection.execute(statement)
        return is_new

    def give_user(self, grant: UserGrant) -> bool:
        """Insert a grant to a user; returns whether it is new."""
        return insert_new(self._connection, skill_user_grants, asdict(grant))

    def take_agent(self, skill_id: str, agent_id: str) -> bool:
        """Delete the grant of an agent; returns whether there was one."""
        return self._delete(skill_agent_grants, _is_agent(skill_id, agent_id)) > 0

    def take_user(self, skill_id: str, user_id: str) -> bool:
        """Delete the grant of a user; returns whether there was one."""
        which = sa.and_(
            skill_user_grants.c.skill_id == skill_id, skill_user_grants.c.user_id == user_id
        )
        return self._delete(skill_user_grants, which) > 0

    def take_all(self, skill_id: str) -> GrantCounts:
        """Delete all grants of a skill; returns how many there were."""
        return GrantCounts(
            agents=self._delete(skill_agent_grants, skill_agent_grants.c.skill_id == skill_id),
            users=self._delete(skill_user_grants, skill_user_grants.c.skill_id == skill_id),
        )

    def take_all_of_agent(self, agent_id: str, *, at_ms: int) -> int:
        """Delete all grants of an agent, and make skills private that have no other grant; returns
        how many grants there were. Only while all slugs are locked."""
        # In set operations: there may be thousands of grants, and damaged rows are updated too.
        self._connection.execute(_MAKE_PRIVATE, {"agent": agent_id, "now": at_ms})
        return self._delete(skill_agent_grants, skill_agent_grants.c.agent_id == agent_id)

    def counts(self, skill_id: str) -> GrantCounts:
        """How many grants a skill has."""
        row = self._connection.execute(_COUNTS, {"skill": skill_id}).one()
        return GrantCounts(agents=row.agents, users=row.users)

    def to_agents(self, skill_id: str) -> tuple[AgentGrant, ...]:
        """The grants to agents, by agent."""
        return tuple(from_row(row, AgentGrant) for row in self._rows(_TO_AGENTS, skill=skill_id))

    def to_users(self, skill_id: str) -> tuple[UserGrant, ...]:
        """The grants to users, by user."""
        return tuple(from_row(row, UserGrant) for row in self._rows(_TO_USERS, skill=skill_id))

    def of_agent(self, agent_id: str) -> Mapping[str, AgentGrant]:
        """The grants of an agent, by skill id."""
        return {row.skill_id: from_row(row, AgentGrant) for row in self._rows(_OF, agent=agent_id)}

    def _rows(self, query: sa.Select[Any], **values: str) -> sa.CursorResult[Any]:
        return self._connection.execute(query, values)

    def _delete(self, table: sa.Table, which: sa.ColumnElement[bool]) -> int:
        return self._connection.execute(sa.delete(table).where(which)).rowcount


def _is_agent(skill_id: str, agent_id: str) -> sa.ColumnElement[bool]:
    return sa.and_(
        skill_agent_grants.c.skill_id == skill_id, skill_agent_grants.c.agent_id == agent_id
    )


def _of_skill(table: sa.Table) -> sa.ColumnElement[bool]:
    return table.c.skill_id == sa.bindparam("skill")


def _count(table: sa.Table) -> sa.ScalarSelect[int]:
    query = sa.select(sa.func.count()).select_from(table).where(_of_skill(table))
    return query.scalar_subquery()


_COUNTS: Final = sa.select(
    _count(skill_agent_grants).label("agents"), _count(skill_user_grants).label("users")
)
_TO_AGENTS: Final = (
    sa.select(skill_agent_grants)
    .where(_of_skill(skill_agent_grants))
    .order_by(skill_agent_grants.c.agent_id)
)
_TO_USERS: Final = (
    sa.select(skill_user_grants)
    .where(_of_skill(skill_user_grants))
    .order_by(skill_user_grants.c.user_id)
)
_OF: Final = sa.select(skill_agent_grants).where(
    skill_agent_grants.c.agent_id == sa.bindparam("agent")
)
_OTHERS: Final = skill_agent_grants.alias("others")
# Internal skills whose only grants are to this agent.
_MAKE_PRIVATE: Final = (
    sa.update(skills)
    .where(
        skills.c.visibility == str(Visibility.INTERNAL),
        skills.c.skill_id.in_(
            sa.select(skill_agent_grants.c.skill_id).where(
                skill_agent_grants.c.agent_id == sa.bindparam("agent")
            )
        ),
        ~sa.exists().where(
            _OTHERS.c.skill_id == skills.c.skill_id, _OTHERS.c.agent_id != sa.bindparam("agent")
        ),
        ~sa.exists().where(skill_user_grants.c.skill_id == skills.c.skill_id),
    )
    .values(
        visibility=str(Visibility.PRIVATE),
        revision=skills.c.revision + 1,
        updated_at_ms=sa.bindparam("now"),
    )
)
