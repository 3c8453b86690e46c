"""Queries for skills with their grants to one agent and one user, and the records in their rows."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import fields
from typing import Any, Final, TypeVar

import sqlalchemy as sa

from understudy.skills.model import (
    AgentGrant,
    GrantedSkill,
    Skill,
    SkillOrigin,
    SkillStatus,
    UserGrant,
    Visibility,
)
from understudy.storage.rows import from_row
from understudy.storage.schema import (
    skill_agent_grants,
    skill_user_grants,
    skill_versions,
    skills,
)

G = TypeVar("G", AgentGrant, UserGrant)

# Columns that no record is read from.
NOT_READ: Final = frozenset({"search", "sort_name"})
COLUMNS: Final = tuple(column for column in skills.c if column.name not in NOT_READ)
# Prefixes of the columns of a joined grant.
OF_AGENT: Final = "agent_"
OF_USER: Final = "user_"
PINNED_DIGEST: Final = "pinned_digest"
# A version whose trash name differs is of an earlier skill with this slug, which was deleted.
IS_OF_THIS_LIFE: Final = skill_versions.c.trash_name.is_not_distinct_from(skills.c.trash_name)


def open_to(owner: Any) -> tuple[sa.ColumnElement[bool], ...]:
    """The conditions of skills that need no grant."""
    return (
        skills.c.origin == str(SkillOrigin.SYSTEM),
        skills.c.visibility == str(Visibility.PUBLIC),
        skills.c.owner_id == owner,
    )


def visible_to(user_id: str) -> Iterator[sa.ColumnElement[bool]]:
    """The conditions of skills that a user sees."""
    granted = sa.exists().where(
        skill_user_grants.c.skill_id == skills.c.skill_id,
        skill_user_grants.c.user_id == user_id,
    )
    yield sa.or_(*open_to(user_id), granted)
    yield sa.or_(~skills.c.is_draft, skills.c.owner_id == user_id)


def _with_grants() -> sa.Select[Any]:
    """Skills, each joined with its grants to one agent and one user."""
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
    """The ids of skills that may be open to an agent and a user; each part uses an index."""
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


BY_NAME: Final = (skills.c.sort_name, skills.c.slug)
_USABLE: Final = sa.and_(
    skills.c.status == str(SkillStatus.ACTIVE), skills.c.enabled, ~skills.c.is_draft
)
# Of what nobody has accepted yet, the owner may have a version.
_USABLE_TO_USER: Final = sa.and_(
    skills.c.status == str(SkillStatus.ACTIVE),
    skills.c.enabled,
    sa.or_(~skills.c.is_draft, skills.c.owner_id == sa.bindparam("user")),
)
MAYBE_OPEN: Final = (
    _with_grants().where(skills.c.skill_id.in_(_maybe_open()), _USABLE_TO_USER).order_by(*BY_NAME)
)
# A stamp of the rows: a changed skill has another revision; of a grant only the pin changes.
_STAMP: Final = (
    "skill_id",
    "revision",
    "digest",
    "updated_at_ms",
    f"{OF_AGENT}agent_id",
    f"{OF_AGENT}pinned_version",
    f"{OF_USER}user_id",
    PINNED_DIGEST,
)
MAYBE_OPEN_STAMP: Final = MAYBE_OPEN.with_only_columns(
    *(MAYBE_OPEN.selected_columns[name] for name in _STAMP)
)
OPEN_TO_EVERYBODY: Final = (
    sa.select(*COLUMNS)
    .where(
        _USABLE,
        sa.or_(
            skills.c.origin == str(SkillOrigin.SYSTEM),
            skills.c.visibility == str(Visibility.PUBLIC),
        ),
    )
    .order_by(*BY_NAME)
)
WITH_GRANTS: Final = _with_grants().where(skills.c.skill_id == sa.bindparam("skill"))


def of_agent(*, sees_all: bool) -> sa.Select[Any]:
    """The skills that an agent may use for a user, and those that were granted but are not usable.

    Of the latter only the user's own, unless `sees_all`.
    """
    is_granted = skill_agent_grants.c.agent_id.is_not(None)
    is_own = sa.and_(
        skills.c.owner_id == sa.bindparam("user"),
        skills.c.owner_id != "",
        skills.c.origin != str(SkillOrigin.SYSTEM),
    )
    is_shown = sa.or_(_USABLE_TO_USER, is_granted if sees_all else sa.and_(is_granted, is_own))
    query = _with_grants().add_columns(skills.c.sort_name)
    return query.where(skills.c.skill_id.in_(_maybe_open()), is_shown)


def stamp_of(rows: Sequence[Any]) -> Hashable:
    """The stamp of rows of `MAYBE_OPEN` or of `MAYBE_OPEN_STAMP`."""
    return tuple(tuple(getattr(row, name) for name in _STAMP) for row in rows)


def who(agent_id: str, user_id: str) -> dict[str, str]:
    """The parameters of a query over grants; an unprintable id matches nobody."""
    named = {"agent": agent_id, "user": user_id}
    return {kind: it if it.isprintable() else "" for kind, it in named.items()}


def read_granted(row: Any) -> GrantedSkill:
    """The skill in a row, with its grants."""
    return GrantedSkill(
        skill=from_row(row, Skill),
        agent_grant=_joined(row, AgentGrant, OF_AGENT),
        user_grant=_joined(row, UserGrant, OF_USER),
        pinned_digest=getattr(row, PINNED_DIGEST),
    )


def _joined(row: Any, kind: type[G], prefix: str) -> G | None:
    """The grant that was joined to a skill; None without one."""
    values = {each.name: getattr(row, prefix + each.name) for each in fields(kind)}
    return None if values["skill_id"] is None else kind(**values)
