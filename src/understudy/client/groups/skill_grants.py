"""Calls about who may use a skill."""

from collections.abc import Iterator, Sequence

from understudy.client.calls import at, delete, get, given, post
from understudy.client.groups.resource import Resource, body, every
from understudy.wire.base import Items
from understudy.wire.skill_requests import AcknowledgedFinding
from understudy.wire.skills import GrantView, SkillAccess, SkillChanged

_changed = SkillChanged.model_validate


class SkillGrants(Resource):
    """Grants to agents and users, and what they come to."""

    def page(
        self, skill: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Items[GrantView]:
        """Some of those a skill is granted to, agents first; for its owner and admins."""
        read = Items[GrantView].model_validate
        query = given(limit=limit, cursor=cursor)
        return self.transport.send(get(_path(skill, "grants"), read, **query))

    def list(self, skill: str) -> Iterator[GrantView]:
        """All of those a skill is granted to, agents first; for its owner and admins."""
        return every(lambda cursor: self.page(skill, cursor=cursor))

    def give_agent(
        self,
        skill: str,
        agent_id: str,
        *,
        version: int | None = None,
        acknowledged: Sequence[AcknowledgedFinding] = (),
        key: str | None = None,
    ) -> SkillChanged:
        """Let an agent use it, always as it is current or in one version only."""
        taken = [body(each) for each in acknowledged]
        fields = given(agent_id=agent_id, version=version, acknowledged=taken or None)
        return self.transport.send(post(_path(skill, "grants", "agent"), _changed, fields, key=key))

    def give_user(self, skill: str, user_id: str, *, key: str | None = None) -> SkillChanged:
        """Let a user use it, with any agent."""
        path = _path(skill, "grants", "user")
        return self.transport.send(post(path, _changed, {"user_id": user_id}, key=key))

    def take_agent(self, skill: str, agent_id: str) -> SkillChanged:
        """Take the grant of an agent back; fine where there is none."""
        path = _path(skill, "grants", "agent")
        return self.transport.send(delete(path, _changed, agent_id=agent_id))

    def take_user(self, skill: str, user_id: str) -> SkillChanged:
        """Take the grant of a user back; fine where there is none."""
        path = _path(skill, "grants", "user")
        return self.transport.send(delete(path, _changed, user_id=user_id))

    def access(
        self, skill: str, *, agent_id: str | None = None, user_id: str | None = None
    ) -> SkillAccess:
        """Whether an agent that works for a user may use it, and why."""
        read = SkillAccess.model_validate
        query = given(agent_id=agent_id, user_id=user_id)
        return self.transport.send(get(_path(skill, "access"), read, **query))


def _path(*more: str) -> str:
    return at("skills", *more)
