"""Calls about projects."""

from collections.abc import Iterator

from understudy.client.calls import at, delete, get, given, post, put
from understudy.client.groups.resource import Resource, body, every, reader
from understudy.core.page import Page
from understudy.sessions.model import Project, ProjectMember
from understudy.wire.base import Deleted
from understudy.wire.projects import (
    AddMember,
    CreateProject,
    UpdateProject,
)

_view = reader(Project)


class Projects(Resource):
    """Sessions and people that work on one thing."""

    def create(self, wanted: CreateProject, *, key: str | None = None) -> Project:
        """A new project."""
        return self.transport.send(post(at("projects"), _view, body(wanted), key=key))

    def get(self, project_id: str) -> Project:
        """One project."""
        return self.transport.send(get(at("projects", project_id), _view))

    def page(self, *, limit: int | None = None, cursor: str | None = None) -> Page[Project]:
        """Some projects."""
        read = reader(Page[Project])
        return self.transport.send(get(at("projects"), read, **given(limit=limit, cursor=cursor)))

    def list(self) -> Iterator[Project]:
        """All projects."""
        return every(lambda cursor: self.page(cursor=cursor))

    def update(self, project_id: str, changes: UpdateProject) -> Project:
        """Change the given fields."""
        return self.transport.send(put(at("projects", project_id), _view, body(changes)))

    def delete(self, project_id: str) -> Deleted:
        """Delete a project; its sessions stay."""
        return self.transport.send(delete(at("projects", project_id), Deleted.model_validate))

    def members(self, project_id: str) -> Page[ProjectMember]:
        """Who belongs to a project."""
        read = reader(Page[ProjectMember])
        return self.transport.send(get(at("projects", project_id, "members"), read))

    def add_member(self, project_id: str, member: AddMember) -> Project:
        """Let a session or a person join."""
        path = at("projects", project_id, "members")
        return self.transport.send(post(path, _view, body(member)))

    def remove_member(self, project_id: str, member_id: str) -> Project:
        """Let a member go."""
        return self.transport.send(delete(at("projects", project_id, "members", member_id), _view))
