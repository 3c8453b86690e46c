"""Use cases of mailboxes: post, list, acknowledge, retry."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import coded_error
from understudy.core.ids import new_id
from understudy.core.page import Page, PageRequest
from understudy.core.principal import DAEMON, Principal
from understudy.mailboxes.letters import check_message
from understudy.mailboxes.model import (
    MAX_WAITING,
    MESSAGE,
    MailSender,
    Message,
    MessageStatus,
    NewMessage,
)
from understudy.sessions.creation import NewSession, new_session
from understudy.sessions.journal import EventKind, NewEvent
from understudy.sessions.model import Session, SessionStatus, require_session

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

MAIL_SESSION: Final = "mail-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mailbox:
    """The mailbox of a session or of an agent."""

    session_id: str | None = None
    agent_id: str | None = None

    def holds(self, message: Message) -> bool:
        """Whether a message is in this mailbox."""
        if self.agent_id is not None:
            return message.to_agent_id == self.agent_id
        return message.session_id == self.session_id


@dataclass(frozen=True, slots=True, kw_only=True)
class MailboxService:
    """The operations of callers and tools on mailboxes, each in one transaction."""

    units: "Units"
    clock: Clock
    # Wakes the mail worker.
    changed: Callable[[], None] = lambda: None

    def post(self, principal: Principal, wanted: NewMessage) -> Message:
        """Post a message from a user."""
        check_message(wanted)
        with self.units.write() as unit:
            message = self.put(unit, principal, MailSender(user_id=principal.user_id), wanted)
        self.changed()
        return message

    def put(
        self,
        unit: "Unit",
        principal: Principal,
        sender: MailSender,
        wanted: NewMessage,
        *,
        hops: int = 1,
        call_digest: str | None = None,
    ) -> Message:
        """Put a validated message into a mailbox, in the caller's transaction."""
        now = self.clock.now_ms()
        session = session_for(unit, wanted, now_ms=now)
        if unit.messages.waiting_in(session.session_id) >= MAX_WAITING:
            raise coded_error("mailboxes/mailbox_full", limit=MAX_WAITING)
        message = Message(
            message_id=new_id("msg"),
            session_id=session.session_id,
            to_agent_id=wanted.agent_id,
            sender=sender,
            subject=wanted.subject,
            content=wanted.content,
            metadata=wanted.metadata,
            hops=hops,
            due_at_ms=now,
            call_digest=call_digest,
            created_at_ms=now,
            updated_at_ms=now,
        )
        if not unit.messages.add(message):
            raise coded_error("mailboxes/message_sent_already")
        unit.audit.add(audit.done(principal, "mailboxes.post", message.message_id, at_ms=now))
        return message

    def page(
        self, box: Mailbox, request: PageRequest, *, statuses: Sequence[MessageStatus] = ()
    ) -> Page[Message]:
        """The messages of a mailbox, newest first; reading acknowledges nothing."""
        with self.units.read() as unit:
            _require_owner(unit, box)
            return unit.messages.page(
                request, session_id=box.session_id, agent_id=box.agent_id, statuses=statuses
            )

    def ack(self, principal: Principal, box: Mailbox, message_id: str) -> Message:
        """Acknowledge a pending or dead message; idempotent."""

        def settle(_: "Unit", message: Message) -> Message:
            if message.status is MessageStatus.DELIVERING:
                raise coded_error("mailboxes/message_in_delivery", run_id=message.run_id)
            return replace(message, status=MessageStatus.ACKED, due_at_ms=None)

        return self._change(principal, box, message_id, "mailboxes.ack", settle)

    def retry(self, principal: Principal, box: Mailbox, message_id: str) -> Message:
        """Queue a dead message again, with a fresh count of attempts."""

        def revive(unit: "Unit", message: Message) -> Message:
            if message.status is not MessageStatus.DEAD:
                raise coded_error("mailboxes/message_not_dead", status=message.status)
            if require_session(unit, message.session_id).status is SessionStatus.ENDED:
                raise coded_error("sessions/session_ended")
            now = self.clock.now_ms()
            return replace(
                message, status=MessageStatus.PENDING, attempts=0, reason=None, due_at_ms=now
            )

        return self._change(principal, box, message_id, "mailboxes.retry", revive)

    def _change(
        self,
        principal: Principal,
        box: Mailbox,
        message_id: str,
        action: str,
        change: Callable[["Unit", Message], Message],
    ) -> Message:
        with self.units.write() as unit:
            message = unit.messages.get(message_id, lock=True)
            if message is None or not box.holds(message):
                raise coded_error("mailboxes/message_not_found", message_id=message_id)
            changed = change(unit, message)
            if changed == message:
                return message
            MESSAGE.check(message.status, changed.status)
            now = self.clock.now_ms()
            changed = replace(changed, updated_at_ms=now)
            unit.messages.update(changed)
            unit.audit.add(audit.done(principal, action, message_id, at_ms=now))
        self.changed()
        return changed


def _require_owner(unit: "Unit", box: Mailbox) -> None:
    if box.agent_id is not None:
        require_agent(unit, box.agent_id)
    else:
        require_session(unit, box.session_id or "")


def require_agent(unit: "Unit", agent_id: str) -> None:
    """Raise `NotFound` unless the agent exists."""
    # The id comes from a model: an unprintable one is not looked up.
    if not agent_id.isprintable() or unit.agents.get(agent_id) is None:
        raise coded_error("agents/agent_not_found", agent_id=agent_id)


def session_for(unit: "Unit", wanted: NewMessage, *, now_ms: int) -> Session:
    """The session that receives a message; an agent's mail session is created on first use."""
    if wanted.agent_id is None:
        session = require_session(unit, wanted.session_id or "")
    else:
        session = _mail_session(unit, wanted.agent_id, now_ms=now_ms)
    if session.status is SessionStatus.ENDED:
        raise coded_error("sessions/session_ended")
    return session


def _mail_session(unit: "Unit", agent_id: str, *, now_ms: int) -> Session:
    require_agent(unit, agent_id)
    session_id = MAIL_SESSION + agent_id
    session = unit.sessions.get(session_id)
    if session is None:
        _create(unit, NewSession(session_id=session_id, agent_id=agent_id), now_ms=now_ms)
        session = require_session(unit, session_id)
    if session.agent_id != agent_id:
        raise coded_error("mailboxes/mail_session_taken", session_id=session_id)
    return session


def _create(unit: "Unit", wanted: NewSession, *, now_ms: int) -> None:
    session = new_session(unit, DAEMON, wanted, now_ms=now_ms)
    if not unit.sessions.add(session):
        return  # another transaction inserted it first
    event = NewEvent(kind=EventKind.SESSION, data={"type": "created", "agent_id": session.agent_id})
    unit.journal.append(session.session_id, (event,), at_ms=now_ms)
    unit.audit.add(audit.done(DAEMON, "sessions.create", session.session_id, at_ms=now_ms))
