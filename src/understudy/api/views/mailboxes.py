"""Messages as the wire shows them."""

from typing import Final

from understudy.mailboxes.model import Message, MessageStatus
from understudy.wire.mailboxes import MessageView, SenderView

ACTIONS: Final = {
    MessageStatus.PENDING: ("ack",),
    MessageStatus.DELIVERING: (),
    MessageStatus.ACKED: (),
    MessageStatus.DEAD: ("ack", "retry"),
}


def message_view(message: Message) -> MessageView:
    """A message as it stands."""
    sender = message.sender
    return MessageView(
        message_id=message.message_id,
        session_id=message.session_id,
        to_session_id=message.session_id if message.to_agent_id is None else None,
        to_agent_id=message.to_agent_id,
        sender=SenderView(
            type="user" if sender.run_id is None else "run",
            user_id=sender.user_id,
            run_id=sender.run_id,
            session_id=sender.session_id,
            agent_id=sender.agent_id,
        ),
        subject=message.subject,
        content=message.content,
        metadata=None if message.metadata is None else dict(message.metadata),
        status=message.status.value,
        hops=message.hops,
        attempts=message.attempts,
        run_ids=list(message.run_ids),
        next_attempt_at_ms=message.due_at_ms,
        reason=message.reason,
        created_at_ms=message.created_at_ms,
        updated_at_ms=message.updated_at_ms,
        actions=list(ACTIONS[message.status]),
    )
