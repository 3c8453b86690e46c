"""The tool by which an agent writes to a session or to an agent."""

from typing import Annotated

from pydantic import BaseModel, Field

from understudy.core.errors import UnderstudyError
from understudy.mailboxes.model import MAX_CONTENT_BYTES, MAX_SUBJECT_CHARS, MailSender, NewMessage
from understudy.mailboxes.outgoing import RunMail
from understudy.tools.base import Approval, Effect, Parameters, ToolContext, ToolError, in_thread

Id = Annotated[str, Field(min_length=1, max_length=500)]


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
        """The id of the message; a repeat of the call sends no other."""
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
