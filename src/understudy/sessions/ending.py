"""How a session ends, and every session below it with it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from understudy.core import audit
from understudy.core.errors import Conflict
from understudy.core.principal import Principal
from understudy.sessions.journal import EventKind, NewEvent
from understudy.sessions.model import Session, SessionStatus, require_session

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

WITH_PARENT: Final = "its parent session has ended"


def hold_below(unit: "Unit", session_id: str) -> tuple[Session, ...]:
    """The sessions below a locked one that have not ended, locked before any event is written."""
    return tuple(
        require_session(unit, child_id, lock=True) for child_id in unit.sidechains.below(session_id)
    )


def check_in_no_project(unit: "Unit", sessions: Sequence[Session]) -> None:
    """Refuse to end a member of a project."""
    for session in sessions:
        projects = unit.projects.ids_for_session(session.session_id)
        if projects:
            raise Conflict(
                "session_in_project",
                domain="sessions",
                detail=f"session {session.session_id} is a member of project {projects[0]}",
            )


def end_with_parent(
    unit: "Unit", principal: Principal, sessions: Sequence[Session], *, now_ms: int
) -> None:
    """End sidechains, held locked, whose parent ends."""
    for session in sessions:
        ended = replace(
            session,
            status=SessionStatus.ENDED,
            ended_reason=WITH_PARENT,
            version=session.version + 1,
            updated_at_ms=now_ms,
        )
        unit.sessions.update(ended, expected_version=session.version)
        event = NewEvent(kind=EventKind.SESSION, data={"type": "end"})
        unit.journal.append(session.session_id, (event,), at_ms=now_ms)
        unit.audit.add(
            audit.done(
                principal, "sessions.end", session.session_id, at_ms=now_ms, version=ended.version
            )
        )
