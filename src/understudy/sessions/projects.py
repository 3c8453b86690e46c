"""Projects: the sessions and people that work on one thing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import Invalid, coded_error
from understudy.core.ids import check_caller_id, new_id
from understudy.core.page import Page, PageRequest
from understudy.core.pointer import pointer
from understudy.core.principal import Principal
from understudy.core.records import extended
from understudy.sessions.model import (
    MAX_CHANNEL_LINKS,
    ChannelNote,
    MemberKind,
    Project,
    ProjectDetail,
    ProjectMember,
    ProjectStatus,
    require_project,
    require_session,
)

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

Mirror: TypeAlias = Callable[["Unit", Principal, Project | None, Project | None], None]


@dataclass(frozen=True, slots=True)
class ProjectService:
    """Create, read, change and delete projects and their members."""

    units: "Units"
    clock: Clock
    # Keeps the rosters of channels in step with the members; told the project before and after.
    mirror: Mirror = lambda *_: None

    def create(
        self, principal: Principal, project_id: str | None, display_name: str, **fields: Any
    ) -> ProjectDetail:
        """Create a project, with members if given."""
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
            _check_named(project, project.channel_links)
            checked = _checked(unit, project)
            if not unit.projects.add(checked):
                raise coded_error("projects/project_already_exists", project_id=project.project_id)
            self.mirror(unit, principal, None, checked)
            self._audit(unit, principal, "projects.create", checked)
            return detail_of(unit, checked)

    def get(self, project_id: str) -> ProjectDetail:
        """One project, or `NotFound`."""
        with self.units.read() as unit:
            return detail_of(unit, require_project(unit, project_id))

    def page(
        self,
        request: PageRequest,
        *,
        query: str | None = None,
        status: ProjectStatus | None = None,
        member_session_id: str | None = None,
        channel_id: str | None = None,
    ) -> Page[ProjectDetail]:
        """Projects by id; all, or those with a status, a session or words."""
        with self.units.read() as unit:
            page = unit.projects.page(
                request,
                query=query,
                status=status,
                session_id=member_session_id,
                ids=None if channel_id is None else unit.projects.ids_linking(channel_id),
            )
            return Page(items=details_of(unit, page.items), next_cursor=page.next_cursor)

    def update(self, principal: Principal, project_id: str, **fields: Any) -> ProjectDetail:
        """Change the given fields of a project; members, if given, replace the existing ones."""
        if "display_name" in fields:
            fields["display_name"] = _named(fields["display_name"])
        with self.units.write() as unit:
            stored = require_project(unit, project_id, lock=True)
            changed = replace(stored, **fields)
            # Whoever takes a link away may send back what was said of it.
            _check_named(changed, (*stored.channel_links, *changed.channel_links))
            changed = _checked(unit, changed)
            return self._save(unit, principal, "projects.update", stored, changed)

    def delete(self, principal: Principal, project_id: str) -> None:
        """Delete a project; its sessions stay."""
        with self.units.write() as unit:
            stored = require_project(unit, project_id, lock=True)
            task_count = detail_of(unit, stored).task_count
            if task_count:
                raise coded_error("projects/project_has_tasks", task_count=task_count)
            self.mirror(unit, principal, stored, None)
            unit.projects.delete(project_id)
            self._audit(unit, principal, "projects.delete", stored)

    def add_member(
        self, principal: Principal, project_id: str, member: ProjectMember
    ) -> ProjectDetail:
        """Add a session or a person as a member."""
        with self.units.write() as unit:
            stored = require_project(unit, project_id, lock=True)
            return self._save(
                unit, principal, "projects.add_member", stored, _joined(unit, stored, member)
            )

    def remove_member(self, principal: Principal, project_id: str, member_id: str) -> ProjectDetail:
        """Remove a member."""
        with self.units.write() as unit:
            stored = require_project(unit, project_id, lock=True)
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

    def link_channel(
        self,
        principal: Principal,
        project_id: str,
        channel_id: str,
        *,
        is_default: bool,
        mirrors: bool | None = None,
        **note: Any,
    ) -> ProjectDetail:
        """Link a channel; the first link, or a new default, is where the threads of tasks begin.

        With `mirrors` the members of the project are members of the channel as well; None leaves it.
        The fields of `note` are those of a `ChannelNote`; one that is not given keeps its value.
        """
        with self.units.write() as unit:
            stored = require_project(unit, project_id, lock=True)
            others = tuple(each for each in stored.channel_links if each != channel_id)
            links = (channel_id, *others) if is_default else (*others, channel_id)
            if not is_default and channel_id in stored.channel_links:
                links = stored.channel_links
            mirrored = stored.mirrored_channels
            if mirrors is not None:
                mirrored = tuple(each for each in mirrored if each != channel_id)
                mirrored = (*mirrored, channel_id) if mirrors else mirrored
            noted = replace(stored.channel_notes.get(channel_id, ChannelNote()), **note)
            changed = replace(
                stored,
                channel_links=links,
                mirrored_channels=mirrored,
                channel_notes={**stored.channel_notes, channel_id: noted},
            )
            try:
                changed = _checked(unit, changed)
            except Invalid as problem:
                raise problem.moved(lambda _: "/channel_id") from None
            return self._save(unit, principal, "projects.link_channel", stored, changed)

    def unlink_channel(
        self, principal: Principal, project_id: str, channel_id: str
    ) -> ProjectDetail:
        """Unlink a channel; the first remaining link becomes the default."""
        with self.units.write() as unit:
            stored = require_project(unit, project_id, lock=True)
            if channel_id not in stored.channel_links:
                raise coded_error("projects/channel_not_linked", channel_id=channel_id)
            left = tuple(each for each in stored.channel_links if each != channel_id)
            changed = _only_linked(replace(stored, channel_links=left))
            return self._save(unit, principal, "projects.unlink_channel", stored, changed)

    def _save(
        self,
        unit: "Unit",
        principal: Principal,
        action: str,
        stored: Project,
        changed: Project,
    ) -> ProjectDetail:
        if changed == stored:
            return detail_of(unit, stored)
        _check_left(unit, stored, changed)
        _check_unlinked(unit, stored, changed)
        changed = replace(changed, version=stored.version + 1, updated_at_ms=self.clock.now_ms())
        self.mirror(unit, principal, stored, changed)
        unit.projects.update(changed, expected_version=stored.version)
        self._audit(unit, principal, action, changed)
        return detail_of(unit, changed)

    def _audit(self, unit: "Unit", principal: Principal, action: str, to: Project) -> None:
        now = self.clock.now_ms()
        unit.audit.add(audit.done(principal, action, to.project_id, at_ms=now, version=to.version))


def detail_of(unit: "Unit", project: Project) -> ProjectDetail:
    """A project with its task counts."""
    return details_of(unit, (project,))[0]


def details_of(unit: "Unit", projects: Sequence[Project]) -> tuple[ProjectDetail, ...]:
    """Some projects with their task counts."""
    counts = unit.project_tasks.counts([each.project_id for each in projects])
    details = []
    for each in projects:
        every, is_active = counts.get(each.project_id, (0, 0))
        details.append(extended(ProjectDetail, each, task_count=every, active_task_count=is_active))
    return tuple(details)


def _check_unlinked(unit: "Unit", stored: Project, changed: Project) -> None:
    """Refuse to unlink a channel that an open task uses."""
    for channel_id in {*stored.channel_links} - {*changed.channel_links}:
        tasks = unit.project_tasks.open_in(stored.project_id, channel_id)
        if tasks:
            raise coded_error("projects/channel_in_use", channel_id=channel_id, tasks=list(tasks))


def _check_left(unit: "Unit", stored: Project, changed: Project) -> None:
    """Refuse to remove a member, or change its session, while it has open tasks."""
    stays = {(member.member_id, member.session_id) for member in changed.members}
    for member in stored.members:
        if (member.member_id, member.session_id) not in stays:
            tasks = unit.project_tasks.open_of(stored.project_id, member.member_id)
            if tasks:
                raise coded_error(
                    "projects/member_has_tasks", member_id=member.member_id, tasks=list(tasks)
                )


def _checked(unit: "Unit", project: Project) -> Project:
    """The project with each member validated as if it had just joined."""
    project = replace(project, channel_links=tuple(dict.fromkeys(project.channel_links)))
    if len(project.channel_links) > MAX_CHANNEL_LINKS:
        raise coded_error(
            "projects/too_many_channels", pointer="/channel_links", limit=MAX_CHANNEL_LINKS
        )
    for channel_id in project.channel_links:
        # Locked, or it could be deleted between this check and the commit.
        if unit.channels.get(channel_id, lock=True) is None:
            raise coded_error("channels/channel_not_found:linked", channel_id=channel_id)
    checked = _only_linked(replace(project, members=()))
    for member in project.members:
        checked = _joined(unit, checked, member)
    return checked


def _check_named(project: Project, known: Sequence[str]) -> None:
    """Refuse what is said of channels that the project does not link."""
    for name in ("mirrored_channels", "channel_notes"):
        for index, channel_id in enumerate(getattr(project, name)):
            if channel_id not in known:
                at = channel_id if name == "channel_notes" else index
                raise coded_error(
                    "projects/channel_not_linked:named",
                    pointer=pointer((name, at)),
                    channel_id=channel_id,
                )


def _only_linked(project: Project) -> Project:
    """The project without what it says of channels that it does not link."""
    links, notes = project.channel_links, project.channel_notes
    stripped = {
        each: replace(notes[each], role=(notes[each].role or "").strip() or None)
        for each in links
        if each in notes
    }
    return replace(
        project,
        mirrored_channels=tuple(each for each in links if each in project.mirrored_channels),
        channel_notes={key: note for key, note in stripped.items() if note != ChannelNote()},
    )


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
