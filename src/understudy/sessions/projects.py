"""Projects: which sessions and people work on one thing."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import coded_error
from understudy.core.ids import check_caller_id, new_id
from understudy.core.page import Page, PageRequest
from understudy.core.principal import Principal
from understudy.sessions.model import MemberKind, Project, ProjectMember, require_session

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units


@dataclass(frozen=True, slots=True)
class ProjectService:
    """Create, read, change and delete projects and their members."""

    units: "Units"
    clock: Clock

    def create(
        self, principal: Principal, project_id: str | None, display_name: str, **fields: Any
    ) -> Project:
        """A new project, with members if some are given."""
        if project_id is not None:
            check_caller_id(project_id, field="project_id", domain="projects")
        now = self.clock.now_ms()
        project = Project(
            project_id=project_id or new_id("prj"),
            display_name=_named(display_name),
            created_at_ms=now,
            updated_at_ms=now,
            **fields,
        )
        with self.units.write() as unit:
            checked = _checked(unit, project)
            if not unit.projects.add(checked):
                raise coded_error("projects/project_already_exists", project_id=project.project_id)
            self._audit(unit, principal, "projects.create", checked)
            return checked

    def get(self, project_id: str) -> Project:
        """One project, or `NotFound`."""
        with self.units.read() as unit:
            return _require(unit, project_id)

    def page(self, request: PageRequest) -> Page[Project]:
        """Projects by id."""
        with self.units.read() as unit:
            return unit.projects.page(request)

    def update(self, principal: Principal, project_id: str, **fields: Any) -> Project:
        """Change the given fields of a project; members, if given, replace those there are."""
        if "display_name" in fields:
            fields["display_name"] = _named(fields["display_name"])
        with self.units.write() as unit:
            stored = _require(unit, project_id, lock=True)
            changed = _checked(unit, replace(stored, **fields))
            return self._save(unit, principal, "projects.update", stored, changed)

    def delete(self, principal: Principal, project_id: str) -> None:
        """Delete a project; its sessions stay."""
        with self.units.write() as unit:
            stored = _require(unit, project_id, lock=True)
            unit.projects.delete(project_id)
            self._audit(unit, principal, "projects.delete", stored)

    def add_member(self, principal: Principal, project_id: str, member: ProjectMember) -> Project:
        """Let a session or a person join."""
        with self.units.write() as unit:
            stored = _require(unit, project_id, lock=True)
            return self._save(
                unit, principal, "projects.add_member", stored, _joined(unit, stored, member)
            )

    def remove_member(self, principal: Principal, project_id: str, member_id: str) -> Project:
        """Let a member go."""
        with self.units.write() as unit:
            stored = _require(unit, project_id, lock=True)
            remaining = tuple(m for m in stored.members if m.member_id != member_id)
            if len(remaining) == len(stored.members):
                raise coded_error("projects/project_member_not_found", member_id=member_id)
            return self._save(
                unit,
                principal,
                "projects.remove_member",
                stored,
                replace(stored, members=remaining),
            )

    def _save(
        self,
        unit: "Unit",
        principal: Principal,
        action: str,
        stored: Project,
        changed: Project,
    ) -> Project:
        if changed == stored:
            return stored
        changed = replace(changed, version=stored.version + 1, updated_at_ms=self.clock.now_ms())
        unit.projects.update(changed, expected_version=stored.version)
        self._audit(unit, principal, action, changed)
        return changed

    def _audit(self, unit: "Unit", principal: Principal, action: str, to: Project) -> None:
        now = self.clock.now_ms()
        unit.audit.add(audit.done(principal, action, to.project_id, at_ms=now, version=to.version))


def _require(unit: "Unit", project_id: str, *, lock: bool = False) -> Project:
    project = unit.projects.get(project_id, lock=lock)
    if project is None:
        raise coded_error("projects/project_not_found", project_id=project_id)
    return project


def _checked(unit: "Unit", project: Project) -> Project:
    """The project with each of its members checked as if it had just joined."""
    for index, channel_id in enumerate(project.channel_links):
        # Locked, or it could be deleted between this look and the commit.
        if unit.channels.get(channel_id, lock=True) is None:
            raise coded_error(
                "channels/channel_not_found:linked",
                pointer=f"/channel_links/{index}",
                channel_id=channel_id,
            )
    checked = replace(project, members=())
    for member in project.members:
        checked = _joined(unit, checked, member)
    return checked


def _joined(unit: "Unit", project: Project, member: ProjectMember) -> Project:
    check_caller_id(member.member_id, field="member_id", domain="projects")
    if member.member_kind is MemberKind.SESSION and member.session_id is None:
        member = replace(member, session_id=member.member_id)
    if member.session_id is not None:
        require_session(unit, member.session_id)
    for other in project.members:
        same_session = member.session_id is not None and other.session_id == member.session_id
        if other.member_id == member.member_id or same_session:
            raise coded_error("projects/project_member_exists", member_id=member.member_id)
    return replace(project, members=(*project.members, member))


def _named(display_name: str) -> str:
    if not display_name.strip():
        raise coded_error("projects/display_name_blank", pointer="/display_name")
    return display_name.strip()
