"""Grants of skills, access checks, and the skills of agents and sessions."""

from typing import Annotated, Final

from fastapi import APIRouter, Path, Query

from understudy.api.gate import GatedRoute
from understudy.api.operations import operator, viewer
from understudy.api.paging import Paging, items
from understudy.api.routes.skills import ONE, SkillRef, acknowledged
from understudy.api.services import AgentId, Caller, Services, SessionId
from understudy.core.errors import coded_error
from understudy.core.page import Page
from understudy.runtime.two_people import TwoApprovers
from understudy.skills.access import AgentSkill, Author, SkillAccess
from understudy.skills.model import AgentGrant, UserGrant
from understudy.wire.base import Items
from understudy.wire.skills import (
    AgentSkillView,
    GrantAgent,
    GrantUser,
    GrantView,
    OfferedSkill,
    RevokeAgent,
    RevokeUser,
    SkillChanged,
)

router = APIRouter(tags=["skills"], route_class=GatedRoute)
AGENTS: Final = ONE + "/grants/agent"
USERS: Final = ONE + "/grants/user"
ByAgent = Annotated[str | None, Query(description="an agent")]
ByUser = Annotated[str | None, Query(description="a user")]


@router.get(ONE + "/access", operation_id="skills.access")
@viewer()
def access(
    skill_id: SkillRef,
    services: Services,
    caller: Caller,
    agent_id: ByAgent = None,
    user_id: ByUser = None,
) -> SkillAccess:
    """Explain whether an agent that works for a user may use a skill, in which version, and why."""
    return services.skills.library.access(caller, skill_id, agent_id=agent_id, user_id=user_id)


@router.get(ONE + "/grants", operation_id="skills.grants")
@viewer()
def grants(
    skill_id: SkillRef, services: Services, caller: Caller, page: Paging
) -> Items[GrantView]:
    """List the agents and then the users that may use a skill; for its owner and admins."""
    found = services.skills.library.grants(caller, skill_id)
    return items(Page.cut(found, page), _grant_view)


@router.post(AGENTS, operation_id="skills.grant_agent", status_code=201)
@operator(two=TwoApprovers.SKILL_ACTIVATION, action="skills.grant")
def grant_agent(
    skill_id: SkillRef, body: GrantAgent, services: Services, caller: Caller
) -> SkillChanged:
    """Let an agent use a skill, always its current version or only the one named, which the guard
    reads again if it is an earlier one."""
    skill = services.skills.service.grant_agent(
        Author(principal=caller),
        skill_id,
        body.agent_id,
        version=body.version,
        acknowledged=acknowledged(body.acknowledged),
    )
    return SkillChanged.seen_by(caller, skill)


@router.post(USERS, operation_id="skills.grant_user", status_code=201)
@operator(two=TwoApprovers.SKILL_ACTIVATION, action="skills.grant")
def grant_user(
    skill_id: SkillRef, body: GrantUser, services: Services, caller: Caller
) -> SkillChanged:
    """Grant a skill to a user's runs, whichever agent does the work."""
    skill = services.skills.service.grant_user(Author(principal=caller), skill_id, body.user_id)
    return SkillChanged.seen_by(caller, skill)


@router.delete(AGENTS + "/{agent_id}", operation_id="skills.revoke_agent")
@operator(action="skills.revoke")
def revoke_agent(
    skill_id: SkillRef,
    agent_id: AgentId,
    services: Services,
    caller: Caller,
) -> SkillChanged:
    """Revoke the grant of an agent; the last grant makes an internal skill private again."""
    skill = services.skills.service.revoke_agent(Author(principal=caller), skill_id, agent_id)
    return SkillChanged.seen_by(caller, skill)


@router.delete(USERS + "/{user_id}", operation_id="skills.revoke_user")
@operator(action="skills.revoke")
def revoke_user(
    skill_id: SkillRef,
    user_id: Annotated[str, Path(description="id of the user")],
    services: Services,
    caller: Caller,
) -> SkillChanged:
    """Revoke the grant of a user; the last grant makes an internal skill private again."""
    skill = services.skills.service.revoke_user(Author(principal=caller), skill_id, user_id)
    return SkillChanged.seen_by(caller, skill)


@router.delete(AGENTS, operation_id="skills.revoke_named_agent")
@operator(action="skills.revoke")
def revoke_named_agent(
    skill_id: SkillRef,
    services: Services,
    caller: Caller,
    agent_id: ByAgent = None,
    body: RevokeAgent | None = None,
) -> SkillChanged:
    """Revoke the grant of an agent named in the query or in the body."""
    named = _grantee("agent_id", agent_id, None if body is None else body.agent_id)
    return revoke_agent(skill_id, named, services, caller)


@router.delete(USERS, operation_id="skills.revoke_named_user")
@operator(action="skills.revoke")
def revoke_named_user(
    skill_id: SkillRef,
    services: Services,
    caller: Caller,
    user_id: ByUser = None,
    body: RevokeUser | None = None,
) -> SkillChanged:
    """Revoke the grant of a user named in the query or in the body."""
    named = _grantee("user_id", user_id, None if body is None else body.user_id)
    return revoke_user(skill_id, named, services, caller)


@router.get("/v1/agents/{agent_id}/skills", operation_id="agents.skills")
@viewer()
def of_agent(
    agent_id: AgentId,
    services: Services,
    caller: Caller,
    page: Paging,
) -> Items[AgentSkillView]:
    """List the stored skills that an agent may use when it works for the caller, by name.

    Of those that it was granted and may not use now, the caller sees their own; an admin all.
    """
    return items(services.skills.library.of_agent(caller, agent_id, page), _agent_skill_view)


@router.get("/v1/sessions/{session_id}/skills", operation_id="sessions.skills")
@viewer()
def of_session(
    session_id: SessionId,
    services: Services,
    caller: Caller,
    page: Paging,
    query: Annotated[str | None, Query(description="what it is to be good for")] = None,
) -> Items[OfferedSkill]:
    """List the skills that a run of the caller could use in a session: by name, or best first."""
    session = services.sessions.get(session_id)
    offered = services.skills.catalogue.list_for(
        agent_id=session.agent_id, user_id=caller.user_id, session_id=session_id
    )
    if query is not None:
        offered = services.skills.catalogue.find(offered, query, len(offered))
    return items(Page.cut(offered, page), OfferedSkill.from_entry)


def _grant_view(grant: AgentGrant | UserGrant) -> GrantView:
    return GrantView.of(grant, kind="agent" if isinstance(grant, AgentGrant) else "user")


def _agent_skill_view(held: AgentSkill) -> AgentSkillView:
    return AgentSkillView.of(
        held.skill,
        id=held.skill.skill_id,
        granted=held.granted,
        allowed=held.allowed,
        reason=held.reason,
        pinned_version=held.pinned_version,
    )


def _grantee(field: str, in_query: str | None, in_body: str | None) -> str:
    """The grantee of a revocation, from the query or the body."""
    named = {name for name in (in_query, in_body) if name}
    where = f"name one {field}: in the path, in the query or in the body"
    if not named:
        raise coded_error("skills/grantee_missing", pointer=f"/{field}", detail=where)
    if len(named) > 1:
        raise coded_error("skills/grantee_ambiguous", pointer=f"/{field}", detail=where)
    return named.pop()
