"""The records of sessions, personas, projects and sidechains."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

from understudy.core.errors import FieldError, coded_error
from understudy.core.records import OMIT, OMIT_EMPTY, JsonObject, ScopeLists

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

MAX_DEPTH: Final = 3
MAX_LIVE: Final = 8
MAX_LABEL_CHARS: Final = 200


class SessionStatus(StrEnum):
    """Whether a session takes new runs."""

    ACTIVE = "active"
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultSkill:
    """A skill that a persona brings along."""

    name: str
    args: Annotated[str | None, OMIT] = None


class ActiveSkillSource(StrEnum):
    """How an active skill came to a session."""

    PERSONA = "persona"
    SESSION = "session"
    PARENT = "parent"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveSkill:
    """A skill whose instructions each prompt of a session has, in the version of its activation."""

    # The id; `local:` and the slug of a local skill, `promoted:` and the name of a promoted one.
    ref: str
    slug: str
    name: str
    # None for a local or promoted skill, which has no stored versions.
    version: Annotated[int | None, OMIT] = None
    digest: str
    source: ActiveSkillSource
    args: Annotated[str | None, OMIT] = None
    activated_by: str
    activated_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonaSnapshot:
    """A copy of a persona, made when it was bound; later edits of the persona do not reach it."""

    persona_id: str
    persona_version: int
    display_name: str
    soul: str
    capability_scope: ScopeLists
    default_skills: tuple[DefaultSkill, ...]
    digest: str
    bound_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutePolicy:
    """Which route and generation settings future runs of a session take by default."""

    provider: Annotated[str | None, OMIT] = None
    generation: Annotated[JsonObject, OMIT_EMPTY] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyTarget:
    """Where the output of a run is delivered."""

    plugin: str
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A durable conversation of one agent; owns the journal."""

    session_id: str
    agent_id: str
    owner_id: str
    created_at_ms: int
    updated_at_ms: int
    thread_id: str | None = None
    parent_session_id: str | None = None
    status: SessionStatus = SessionStatus.ACTIVE
    ended_reason: str | None = None
    persona: PersonaSnapshot | None = None
    # Flat allow and deny lists, normalised; None where the session sets no scope of its own.
    capability_scope: ScopeLists | None = None
    credential_scope: ScopeLists | None = None
    # Permission rules: the session's own, and those a sidechain took from its parent.
    permissions: JsonObject | None = None
    route_policy: RoutePolicy | None = None
    reply_targets: tuple[ReplyTarget, ...] = ()
    active_skills: tuple[ActiveSkill, ...] = ()
    # Working directory of its tools within the workspace; None for the whole workspace.
    workdir: str | None = None
    # The trial or replay that it belongs to, itself or through a parent; set by the daemon only.
    trial_id: str | None = None
    journal_length: int = 0
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Persona:
    """A mutable instruction record that sessions take snapshots of."""

    persona_id: str
    display_name: str
    soul: str
    capability_scope: ScopeLists
    default_skills: tuple[DefaultSkill, ...]
    metadata: JsonObject
    created_at_ms: int
    updated_at_ms: int
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonaChanged(Persona):
    """A persona after a change, with the skills that it names and that are not there yet."""

    warnings: Annotated[tuple[FieldError, ...], OMIT_EMPTY] = ()


class ProjectStatus(StrEnum):
    """The status of a project."""

    ACTIVE = "active"
    PAUSED = "paused"
    COMPLETED = "completed"
    ARCHIVED = "archived"


class MemberKind(StrEnum):
    """The kind of a project member."""

    SESSION = "session"
    HUMAN_ACTOR = "human_actor"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectMember:
    """A session or a person that belongs to a project."""

    member_id: str
    member_kind: MemberKind
    display_name: str
    session_id: Annotated[str | None, OMIT] = None
    agent_id: Annotated[str | None, OMIT] = None
    actor_id: Annotated[str | None, OMIT] = None
    role: Annotated[str | None, OMIT] = None
    expertise_tags: tuple[str, ...] = ()
    metadata: JsonObject = field(default_factory=dict)


# Every list of projects holds its links with what they say.
MAX_CHANNEL_LINKS: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelNote:
    """What a project says about a channel that it links."""

    # What the channel is for, such as `planning` or `incidents`.
    role: Annotated[str | None, OMIT] = None
    metadata: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """Sessions and people that work on one thing."""

    project_id: str
    display_name: str
    created_at_ms: int
    updated_at_ms: int
    description: Annotated[str | None, OMIT] = None
    status: ProjectStatus = ProjectStatus.ACTIVE
    members: tuple[ProjectMember, ...] = ()
    channel_links: tuple[str, ...] = ()
    # The linked channels that its members are in because they are in the project.
    mirrored_channels: tuple[str, ...] = ()
    # By the id of the linked channel; a link without role and metadata has none.
    channel_notes: Mapping[str, ChannelNote] = field(default_factory=dict)
    metadata: JsonObject = field(default_factory=dict)
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectDetail(Project):
    """A project with its number of tasks, and of those that have not ended."""

    task_count: int = 0
    active_task_count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelLink(ChannelNote):
    """A channel that a project links; threads of new tasks begin in the default one."""

    channel_id: str
    default_for_new_tasks: bool
    # Whether its roster has the members of the project.
    mirror_members: bool = False


def require_project(unit: "Unit", project_id: str, *, lock: bool = False) -> Project:
    """The project, or `NotFound`."""
    project = unit.projects.get(project_id, lock=lock)
    if project is None:
        raise coded_error("projects/project_not_found", project_id=project_id)
    return project


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionActivity:
    """The unfinished runs and messages of a session."""

    active_runs: int = 0
    queued_runs: int = 0
    waiting_runs: int = 0
    live_children: int = 0
    # Messages for the session that no run has read yet.
    pending_mail: int = 0

    @property
    def blockers(self) -> tuple[str, ...]:
        """Why the session is not idle; empty means it is."""
        counts = (
            ("active_runs", self.active_runs),
            ("queued_runs", self.queued_runs),
            ("waiting_runs", self.waiting_runs),
            ("live_children", self.live_children),
            ("pending_mail", self.pending_mail),
        )
        return tuple(name for name, count in counts if count)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStanding:
    """The title of a session, and its current and queued runs."""

    # The beginning of its first input.
    title: str | None = None
    # The run that is running or waiting, and its status.
    active_run_id: str | None = None
    active_run_status: str | None = None
    queued_runs: int = 0


def unsaved_session(agent_id: str, owner_id: str, *, now_ms: int) -> Session:
    """A new session of an agent that is not stored: no stored one has its id, which is empty."""
    return Session(
        session_id="",
        agent_id=agent_id,
        owner_id=owner_id,
        created_at_ms=now_ms,
        updated_at_ms=now_ms,
    )


def require_session(unit: "Unit", session_id: str, *, lock: bool = False) -> Session:
    """The session, or `NotFound`."""
    session = unit.sessions.get(session_id, lock=lock)
    if session is None:
        raise coded_error("sessions/session_not_found", session_id=session_id)
    return session


@dataclass(frozen=True, slots=True, kw_only=True)
class Spawn:
    """The record of how a run spawned a sidechain; a person's sidechain has none."""

    session_id: str
    # The run that spawned it, and the first run of the sidechain.
    run_id: str
    first_run_id: str
    created_at_ms: int
    label: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sidechain:
    """A child session with its spawn record."""

    session: Session
    spawn: Spawn | None = None


def check_room(unit: "Unit", parent: Session) -> None:
    """Refuse another sidechain of a locked session beyond the limits of width or depth."""
    if unit.sidechains.depth(parent.session_id) >= MAX_DEPTH:
        raise coded_error("sessions/sidechain_limit", depth=MAX_DEPTH)
    if unit.sidechains.count_live(parent.session_id) >= MAX_LIVE:
        raise coded_error("sessions/sidechain_limit:width", width=MAX_LIVE)


def spawns_of(unit: "Unit", run_id: str) -> Iterator[Spawn]:
    """The spawn records of a run's sidechains."""
    return filter(None, map(unit.sidechains.spawn_of, unit.sidechains.spawned_by(run_id)))
