"""Which skills are open to whom, as statements that are put together once."""

from typing import Any, Final

import sqlalchemy as sa

from understudy.skills.model import SkillOrigin, SkillStatus, Visibility
from understudy.storage.schema import (
    skill_agent_grants,
    skill_user_grants,
    skill_versions,
    skills,
)
from understudy.storage.skill_rows import OF_AGENT, OF_USER, PINNED_DIGEST

COLUMNS: Final = tuple(column for column in skills.c if column.name not in {"search", "sort_name"})
# Of an earlier life are versions that lie elsewhere than the skill itself.
IS_OF_THIS_LIFE: Final = skill_versions.c.trash_name.is_not_distinct_from(skills.c.trash_name)


def open_to(owner: Any) -> tuple[sa.ColumnElement[bool], ...]:
    """What needs no grant."""
    return (
        skills.c.origin == str(SkillOrigin.SYSTEM),
        skills.c.visibility == str(Visibility.PUBLIC),
        skills.c.owner_id == owner,
    )


def _with_grants() -> sa.Select[Any]:
    """Skills, and beside each what one agent and one user were granted of it."""
    agents, users = skill_agent_grants, skill_user_grants
    joined = skills.outerjoin(
        agents,
        sa.and_(agents.c.skill_id == skills.c.skill_id, agents.c.agent_id == sa.bindparam("agent")),
    ).outerjoin(
        users,
        sa.and_(users.c.skill_id == skills.c.skill_id, users.c.user_id == sa.bindparam("user")),
    )
    joined = joined.outerjoin(
        skill_versions,
        sa.and_(
            skill_versions.c.skill_id == skills.c.skill_id,
            skill_versions.c.number == agents.c.pinned_version,
            IS_OF_THIS_LIFE,
        ),
    )
    beside = [
        column.label(prefix + column.name)
        for prefix, table in ((OF_AGENT, agents), (OF_USER, users))
        for column in table.c
    ]
    pinned = skill_versions.c.digest.label(PINNED_DIGEST)
    return sa.select(*COLUMNS, *beside, pinned).select_from(joined)


def _maybe_open() -> sa.CompoundSelect[Any]:
    """What may be open to an agent and a user: each part by an index, so that it does not matter
    how many skills there are that are not."""
    granted = (
        sa.select(skill_agent_grants.c.skill_id).where(
            skill_agent_grants.c.agent_id == sa.bindparam("agent")
        ),
        sa.select(skill_user_grants.c.skill_id).where(
            skill_user_grants.c.user_id == sa.bindparam("user")
        ),
    )
    ungranted = (sa.select(skills.c.skill_id).where(one) for one in open_to(sa.bindparam("user")))
    return sa.union(*ungranted, *granted)


MAYBE_OPEN: Final = (
    _with_grants()
    .where(
        skills.c.skill_id.in_(_maybe_open()),
        skills.c.status == str(SkillStatus.ACTIVE),
        skills.c.enabled,
    )
    .order_by(skills.c.sort_name, skills.c.slug)
)
# A skill that changed has another revision; grants have none, and little that can change.
MAYBE_OPEN_STAMP: Final = MAYBE_OPEN.with_only_columns(
    skills.c.skill_id,
    skills.c.revision,
    skills.c.digest,
    skills.c.updated_at_ms,
    skill_agent_grants.c.agent_id,
    skill_agent_grants.c.pinned_version,
    skill_user_grants.c.user_id,
    skill_versions.c.digest,
)
OPEN_TO_EVERYBODY: Final = (
    sa.select(*COLUMNS)
    .where(
        skills.c.status == str(SkillStatus.ACTIVE),
        skills.c.enabled,
        sa.or_(
            skills.c.origin == str(SkillOrigin.SYSTEM),
            skills.c.visibility == str(Visibility.PUBLIC),
        ),
    )
    .order_by(skills.c.sort_name, skills.c.slug)
)
WITH_GRANTS: Final = _with_grants().where(skills.c.skill_id == sa.bindparam("skill"))
