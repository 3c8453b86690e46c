"""What sessions need from outside: stores, and a unit of work that holds them."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, TypeVar

from understudy.agents.ports import AgentStore, UserFileStore
from understudy.core.audit import AuditStore
from understudy.core.errors import NotFound
from understudy.core.page import Page, PageRequest
from understudy.sessions.journal import EventKind, JournalEvent, NewEvent
from understudy.sessions.model import Persona, Project, Session
from understudy.sessions.sidechains import SidechainStore
from understudy.sessions.tasks import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionActivity:
    """What keeps a session busy."""

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


class SessionStore(Protocol):
    """Sessions by id."""

    def get(self, session_id: str, *, lock: bool = False) -> Session | None:
        """One session; `lock` holds its row until the unit ends."""
        ...

    def hold_if_free(self, session_id: str) -> bool:
        """Hold a session's row until the unit ends; False when somebody else holds it."""
        ...

    def add(self, session: Session) -> bool:
        """Store a new session; False when the id is taken."""
        ...

    def update(self, session: Session, *, expected_version: int) -> None:
        """Replace a session; raises `StaleVersion` when it changed meanwhile."""
        ...

    def page(
        self, request: PageRequest, *, persona_id: str | None = None, status: str | None = None
    ) -> Page[Session]:
        """Sessions, newest first."""
        ...

    def ids_of_persona(self, persona_id: str, *, limit: int) -> tuple[str, ...]:
        """The newest sessions that a persona is bound to; readable or not."""
        ...

    def persona_ids(self, session_ids: Sequence[str]) -> dict[str, str | None]:
        """The persona of each of these sessions that there are; readable or not."""
        ...

    def activity(self, session_id: str) -> SessionActivity:
        """What keeps the session busy."""
        ...

    def workdirs_in_use(self) -> frozenset[str]:
        """The folders of sessions in which a run has not ended."""
        ...

    def count(self) -> int:
        """How many sessions there are."""
        ...


class JournalStore(Protocol):
    """Append-only events per session."""

    def append(
        self, session_id: str, events: Sequence[NewEvent], *, at_ms: int
    ) -> tuple[JournalEvent, ...]:
        """Write events in order and answer them with their offsets."""
        ...

    def read(
        self,
        *,
        session_id: str | None = None,
        run_id: str | None = None,
        after_offset: int = 0,
        after_sequence: int = 0,
        kinds: Sequence[EventKind] = (),
        limit: int = 200,
    ) -> tuple[JournalEvent, ...]:
        """Events in order: of a session or run by offset, of all sessions by sequence."""
        ...

    def read_back(
        self, session_id: str, *, before_offset: int, kinds: Sequence[EventKind], limit: int
    ) -> tuple[JournalEvent, ...]:
        """The newest events before an offset, newest first."""
        ...

    def checkpoints(
        self, session_id: str, *, before_offset: int, limit: int
    ) -> tuple[JournalEvent, ...]:
        """The newest checkpoints before an offset, newest first."""
        ...

    def by_keys(self, session_id: str, keys: Sequence[str]) -> tuple[JournalEvent, ...]:
        """The events of a session that carry one of these keys, in order."""
        ...

    def outputs(self, run_ids: Sequence[str]) -> dict[str, tuple[JournalEvent, ...]]:
        """The output events of some runs, in order."""
        ...

    def last_sequence(self) -> int:
        """The sequence of the newest event of all sessions."""
        ...


class PersonaStore(Protocol):
    """Personas by id."""

    def get(self, persona_id: str) -> Persona | None: ...

    def add(self, persona: Persona) -> bool: ...

    def update(self, persona: Persona, *, expected_version: int) -> None: ...

    def delete(self, persona_id: str) -> bool: ...

    def page(self, request: PageRequest, *, query: str | None = None) -> Page[Persona]: ...


class ProjectStore(Protocol):
    """Projects by id."""

    def get(self, project_id: str, *, lock: bool = False) -> Project | None: ...

    def add(self, project: Project) -> bool: ...

    def update(self, project: Project, *, expected_version: int) -> None: ...

    def delete(self, project_id: str) -> bool: ...

    def page(self, request: PageRequest) -> Page[Project]: ...

    def ids_for_session(self, session_id: str) -> tuple[str, ...]:
        """The projects that a session is a member of."""
        ...

    def ids_for_sessions(self, session_ids: Sequence[str]) -> tuple[str, ...]:
        """The projects that any of these sessions is a member of."""
        ...


class TaskStore(Protocol):
    """Tasks of sessions."""

    def all(self, session_id: str) -> tuple[Task, ...]:
        """The tasks of a session by number; one that cannot be read is left out."""
        ...

    def count(self, session_id: str) -> int:
        """How many tasks a session has."""
        ...

    def of_call(self, call_digest: str) -> Task | None:
        """The task that a tool call has made."""
        ...

    def add(self, task: Task) -> None:
        """Store a new task of a session whose row this unit holds locked."""
        ...

    def update(self, task: Task, *, expected_version: int) -> None:
        """Replace a task; raises `StaleVersion` when it changed meanwhile."""
        ...


class SessionUnit(Protocol):
    """One transaction over everything sessions touch."""

    @property
    def agents(self) -> AgentStore: ...

    @property
    def user_files(self) -> UserFileStore: ...

    @property
    def sessions(self) -> SessionStore: ...

    @property
    def journal(self) -> JournalStore: ...

    @property
    def personas(self) -> PersonaStore: ...

    @property
    def projects(self) -> ProjectStore: ...

    @property
    def tasks(self) -> TaskStore: ...

    @property
    def sidechains(self) -> SidechainStore: ...

    @property
    def audit(self) -> AuditStore: ...


UnitT_co = TypeVar("UnitT_co", covariant=True)


class Units(Protocol[UnitT_co]):
    """Opens transactions. A write commits when its block ends, and undoes all when it raises."""

    def read(self) -> AbstractContextManager[UnitT_co]: ...

    def write(self) -> AbstractContextManager[UnitT_co]: ...


def require_session(unit: SessionUnit, session_id: str, *, lock: bool = False) -> Session:
    """The session, or `NotFound`."""
    session = unit.sessions.get(session_id, lock=lock)
    if session is None:
        raise NotFound("session_not_found", domain="sessions", detail=f"no session {session_id!r}")
    return session
