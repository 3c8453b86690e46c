"""The records of a mailbox, and the state machine of a message."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import Field, computed_field

from understudy.core.machine import Machine
from understudy.core.records import HIDDEN, OMIT, JsonObject, shown_if_set

MAX_CONTENT_BYTES: Final = 64 * 1024
MAX_SUBJECT_CHARS: Final = 200
MAX_ATTEMPTS: Final = 3
# The most messages that may wait in one mailbox.
MAX_WAITING: Final = 1000
# The longest chain of messages that cause messages.
MAX_HOPS: Final = 8


class MessageStatus(StrEnum):
    """The status of a message."""

    PENDING = "pending"  # waits for its first delivery or a retry
    DELIVERING = "delivering"  # a run is reading it
    ACKED = "acked"  # read by a run, or acknowledged by a user
    DEAD = "dead"  # given up after the last attempt


ACTIONS: Final[Mapping[MessageStatus, tuple[str, ...]]] = {
    MessageStatus.PENDING: ("ack",),
    MessageStatus.DELIVERING: (),
    MessageStatus.ACKED: (),
    MessageStatus.DEAD: ("ack", "retry"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MailSender:
    """The sender of a message: a user, or a run that acts for one."""

    user_id: str
    run_id: Annotated[str | None, OMIT] = None
    session_id: Annotated[str | None, OMIT] = None
    agent_id: Annotated[str | None, OMIT] = None

    @computed_field
    @property
    def type(self) -> Literal["user", "run"]:
        """The kind of sender."""
        return "user" if self.run_id is None else "run"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage:
    """A message to be sent, to a session or to an agent."""

    content: str
    session_id: str | None = None
    agent_id: str | None = None
    subject: str | None = None
    metadata: JsonObject | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message for a session; one for an agent is delivered in the agent's mail session."""

    message_id: str
    session_id: str
    sender: MailSender
    content: str
    created_at_ms: int
    updated_at_ms: int
    to_agent_id: Annotated[str | None, OMIT] = None
    subject: Annotated[str | None, OMIT] = None
    metadata: Annotated[JsonObject | None, OMIT] = None
    status: MessageStatus = MessageStatus.PENDING
    # The length of the chain of messages that led to this one, itself included.
    hops: int = 1
    # Delivery attempts since it was sent, or since the last manual retry.
    attempts: int = 0
    run_ids: tuple[str, ...] = ()
    # The time of the next attempt; None unless pending.
    due_at_ms: Annotated[int | None, OMIT, Field(alias="next_attempt_at_ms")] = None
    # Why the last attempt failed.
    reason: Annotated[str | None, OMIT] = None
    # The digest of the tool call that sent it: a repeated call sends no second message.
    call_digest: Annotated[str | None, HIDDEN] = None

    @shown_if_set
    @property
    def to_session_id(self) -> str | None:
        """The session that it is addressed to; None if addressed to an agent."""
        return self.session_id if self.to_agent_id is None else None

    @computed_field
    @property
    def actions(self) -> tuple[str, ...]:
        """The allowed actions."""
        return ACTIONS[self.status]

    @property
    def run_id(self) -> str | None:
        """The run of the current or last attempt."""
        return self.run_ids[-1] if self.run_ids else None


_S = MessageStatus

MESSAGE: Final = Machine(
    name="message",
    domain="mailboxes",
    conflict_code="message_state_conflict",
    steps={
        _S.PENDING: frozenset({_S.DELIVERING, _S.ACKED, _S.DEAD}),
        _S.DELIVERING: frozenset({_S.PENDING, _S.ACKED, _S.DEAD}),
        _S.DEAD: frozenset({_S.PENDING, _S.ACKED}),
        _S.ACKED: frozenset(),
    },
)
# The statuses that count as waiting.
UNDELIVERED: Final = frozenset({_S.PENDING, _S.DELIVERING})
