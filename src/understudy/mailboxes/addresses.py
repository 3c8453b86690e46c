"""Where a message goes: a session, or the session in which an agent reads its mail."""

from typing import TYPE_CHECKING, Final

from understudy.core import audit
from understudy.core.errors import Conflict, NotFound
from understudy.core.principal import DAEMON
from understudy.mailboxes.model import NewMessage
from understudy.sessions.creation import NewSession, new_session
from understudy.sessions.journal import EventKind, NewEvent
from understudy.sessions.model import Session, SessionStatus, require_session

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

MAIL_SESSION: Final = "mail-"


def require_agent(unit: "Unit", agent_id: str) -> None:
    """Raise `NotFound` unless there is such an agent."""
    # A model may name anything; what is no id is not looked for.
    if not agent_id.isprintable() or unit.agents.get(agent_id) is None:
        raise NotFound("agent_not_found", domain="agents", detail=f"no agent {agent_id!r}")


def session_for(unit: "Unit", wanted: NewMessage, *, now_ms: int) -> Session:
    """The session that a message is delivered in; an agent's is made when it is first needed."""
    if wanted.agent_id is None:
        session = require_session(unit, wanted.session_id or "")
    else:
        session = _mail_session(unit, wanted.agent_id, now_ms=now_ms)
    if session.status is SessionStatus.ENDED:
        raise Conflict("session_ended", domain="sessions", detail="the session has ended")
    return session


def _mail_session(unit: "Unit", agent_id: str, *, now_ms: int) -> Session:
    require_agent(unit, agent_id)
    session_id = MAIL_SESSION + agent_id
    session = unit.sessions.get(session_id)
    if session is None:
        _create(unit, NewSession(session_id=session_id, agent_id=agent_id), now_ms=now_ms)
        session = require_session(unit, session_id)
    if session.agent_id != agent_id:
        raise Conflict(
            "mail_session_taken",
            domain="mailboxes",
            detail=f"session {session_id!r}, for the mail of this agent, belongs to another one",
        )
    return session


def _create(unit: "Unit", wanted: NewSession, *, now_ms: int) -> None:
    session = new_session(unit, DAEMON, wanted, now_ms=now_ms)
    if not unit.sessions.add(session):
        return  # somebody else was faster
    event = NewEvent(kind=EventKind.SESSION, data={"type": "created", "agent_id": session.agent_id})
    unit.journal.append(session.session_id, (event,), at_ms=now_ms)
    unit.audit.add(audit.done(DAEMON, "sessions.create", session.session_id, at_ms=now_ms))
