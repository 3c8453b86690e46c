"""Messages sent by runs, and their tool: once per call, to the user's sessions, bounded hops."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypeAlias

from pydantic import BaseModel, Field

from understudy.core.errors import UnderstudyError, coded_error
from understudy.core.principal import Principal, Role
from understudy.mailboxes.letters import check_message
from understudy.mailboxes.model import (
    MAX_CONTENT_BYTES,
    MAX_HOPS,
    MAX_SUBJECT_CHARS,
    MailSender,
    Message,
    NewMessage,
)
from understudy.mailboxes.service import MailboxService
from understudy.runs.model import RunKind
from understudy.tools.base import Approval, Effect, Parameters, ToolContext, ToolError, in_thread

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# A run, if any, and its session.
Origin: TypeAlias = tuple[str | None, str | None]
Id = Annotated[str, Field(min_length=1, max_length=500)]


@dataclass(frozen=True, slots=True)
class RunMail:
    """Sends messages for runs."""

    service: MailboxService

    def send(self, sender: MailSender, wanted: NewMessage, *, call_digest: str) -> Message:
        """Send a message; a repeated call returns the message that it sent first."""
        check_message(wanted)
        with self.service.units.write() as unit:
            sent = unit.messages.of_call(call_digest)
            if sent is not None:
                return sent
            _require_own(unit, sender, wanted.session_id)
            hops = hops_of(unit, sender) + 1
            if hops > MAX_HOPS:
                raise coded_error("mailboxes/mail_goes_in_circles", hops=hops, max_hops=MAX_HOPS)
            principal = Principal(user_id=sender.user_id, role=Role.OPERATOR)
            message = self.service.put(
                unit, principal, sender, wanted, hops=hops, call_digest=call_digest
            )
        self.service.changed()
        return message


def hops_of(unit: "Unit", sender: MailSender) -> int:
    """The longest chain of messages that led to a run or to any of its ancestors."""
    hops = 0
    todo: list[Origin] = [(sender.run_id, sender.session_id)]
    seen: set[Origin] = set()
    while todo:
        origin = todo.pop()
        if origin in seen:
            continue
        seen.add(origin)
        run_id, session_id = origin
        message = None if run_id is None else unit.messages.of_run(run_id)
        hops = max(hops, message.hops if message else 0)
        todo += (*_above(unit, session_id), *_below(unit, run_id))
    return hops


def _above(unit: "Unit", session_id: str | None) -> Iterator[Origin]:
    """The run that spawned a sidechain, ended or not, and the current run of its parent."""
    parent_id = None if session_id is None else unit.sidechains.parent_of(session_id)
    if session_id is None or parent_id is None:
        return
    spawn = unit.sidechains.spawn_of(session_id)
    current = unit.runs.current(parent_id)
    yield None if spawn is None else spawn.run_id, parent_id
    yield None if current is None else current.run_id, parent_id


def _below(unit: "Unit", run_id: str | None) -> Iterator[Origin]:
    """The run of the sidechain whose question a clarification run answers."""
    run = None if run_id is None else unit.runs.get(run_id)
    if run is None or run.kind is not RunKind.PARENT_CLARIFICATION:
        return
    request = unit.requests.get(str((run.input.metadata or {}).get("request_id", "")))
    if request is not None:
        yield request.run_id, request.session_id


def _require_own(unit: "Unit", sender: MailSender, session_id: str | None) -> None:
    if session_id is None:
        return
    # The id comes from a model: an unprintable one is not looked up.
    session = unit.sessions.get(session_id) if session_id.isprintable() else None
    # `NotFound` for sessions of other users, so that a model cannot probe for them.
    if session is None or session.owner_id != sender.user_id:
        raise coded_error("sessions/session_not_found:of_user", session_id=session_id)


class SendMailParameters(Parameters):
    """What `send_mail` takes: one receiver, and what to say."""

    to_session_id: Id | None = Field(default=None, description="A session of the same user.")
    to_agent_id: Id | None = Field(default=None, description="An agent; instead of a session.")
    subject: str | None = Field(
        default=None, max_length=MAX_SUBJECT_CHARS, description="What it is about, in one line."
    )
    content: str = Field(min_length=1, max_length=MAX_CONTENT_BYTES, description="The text.")


class SendMail:
    """Puts a message into a mailbox; the receiver reads it in a run of its own."""

    name = "send_mail"
    description = (
        "Send a message to another session of the same user, or to an agent. The receiver reads it "
        "later, in a run of its own; no answer comes back to this call."
    )
    effect = Effect.IDEMPOTENT
    approval = Approval.NEVER
    parameters: type[BaseModel] = SendMailParameters

    def __init__(self, mail: RunMail) -> None:
        self._mail = mail

    async def call(self, arguments: SendMailParameters, context: ToolContext) -> str:
        """Send the message and return its id; a repeated call sends no second one."""
        try:
            return await in_thread(self._send, arguments, context)
        except UnderstudyError as problem:
            raise ToolError(problem.detail, code=problem.code) from problem

    def _send(self, letter: SendMailParameters, context: ToolContext) -> str:
        sender = MailSender(
            user_id=context.user_id,
            run_id=context.run_id,
            session_id=context.session_id,
            agent_id=context.agent_id,
        )
        wanted = NewMessage(
            session_id=letter.to_session_id,
            agent_id=letter.to_agent_id,
            subject=letter.subject,
            content=letter.content,
        )
        message = self._mail.send(sender, wanted, call_digest=context.call_digest)
        receiver = f"agent {letter.to_agent_id}" if letter.to_agent_id else letter.to_session_id
        return f"sent {message.message_id} to {receiver}"
