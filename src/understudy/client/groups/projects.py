"""Calls about projects."""

from collections.abc import Iterator

from understudy.client.calls import at, delete, get, given, post, put
from understudy.client.groups.resource import Resource, body, every
from understudy.wire.base import Deleted, Items
from understudy.wire.projects import (
    AddMember,
    CreateProject,
    MemberView,
    ProjectView,
    UpdateProject,
)

_view = ProjectView.model_validate


class Projects(Resource):
    """Sessions and people that work on one thing."""

    def create(self, wanted: CreateProject, *, key: str | None = None) -> ProjectView:
        """A new project."""
        return self.transport.send(post(at("projects"), _view, body(wanted), key=key))

    def get(self, project_id: str) -> ProjectView:
        """One project."""
        return self.transport.send(get(at("projects", project_id), _view))

    def page(self, *, limit: int | None = None, cursor: str | None = None) -> Items[ProjectView]:
        """Some projects."""
        read = Items[ProjectView].model_validate
        return self.transport.send(get(at("projects"), read, **given(limit=limit, cursor=cursor)))

    def list(self) -> Iterator[ProjectView]:
        """All projects."""
        return every(lambda cursor: self.page(cursor=cursor))

    def update(self, project_id: str, changes: UpdateProject) -> ProjectView:
        """Change the given fields."""
        return self.transport.send(put(at("projects", project_id), _view, body(changes)))

    def delete(self, project_id: str) -> Deleted:
        """Delete a project; its sessions stay."""
        return self.transport.send(delete(at("projects", project_id), Deleted.model_validate))

    def members(self, project_id: str) -> Items[MemberView]:
        """Who belongs to a project."""
        read = Items[MemberView].model_validate
        return self.transport.send(get(at("projects", project_id, "members"), read))

    def add_member(self, project_id: str, member: AddMember) -> ProjectView:
        """Let a session or a person join."""
        path = at("projects", project_id, "members")
        return self.transport.send(post(path, _view, body(member)))

    def remove_member(self, project_id: str, member_id: str) -> ProjectView:
        """Let a member go."""
        return self.transport.send(delete(at("projects", project_id, "members", member_id), _view))
