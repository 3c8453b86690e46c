"""What mailboxes need from outside."""

from collections.abc import Sequence
from typing import Protocol

from understudy.core.page import Page, PageRequest
from understudy.mailboxes.model import Message, MessageStatus
from understudy.runs.ports import RunUnit


class MessageStore(Protocol):
    """Messages of all mailboxes."""

    def get(self, message_id: str, *, lock: bool = False) -> Message | None:
        """One message; `lock` holds its row until the unit ends."""
        ...

    def add(self, message: Message) -> bool:
        """Store a new message; False when its tool call has sent one already."""
        ...

    def update(self, message: Message) -> None:
        """Replace a message whose row this unit holds locked."""
        ...

    def bury_unread(self, message_id: str, *, reason: str, at_ms: int) -> None:
        """Give up a message without reading it, for one that cannot be read."""
        ...

    def of_call(self, call_digest: str) -> Message | None:
        """The message that a tool call has sent."""
        ...

    def of_run(self, run_id: str) -> Message | None:
        """The message that a run was made to read."""
        ...

    def page(
        self,
        request: PageRequest,
        *,
        session_id: str | None = None,
        agent_id: str | None = None,
        statuses: Sequence[MessageStatus] = (),
    ) -> Page[Message]:
        """The messages of a mailbox, newest first."""
        ...

    def waiting_in(self, session_id: str) -> int:
        """How many messages of a session have not been delivered."""
        ...

    def is_delivering(self, session_id: str) -> bool:
        """Whether a run of the session has a message."""
        ...

    def claim_due(self, now_ms: int) -> str | None:
        """The oldest message that is due, in a session where no other is in delivery.

        Nobody else holds it, and its row is held until the unit ends.
        """
        ...

    def read_by_ended_runs(self, *, limit: int) -> tuple[str, ...]:
        """Messages in delivery whose runs have ended."""
        ...

    def next_due_ms(self) -> int | None:
        """When the next message may be delivered; those behind one in delivery are not counted."""
        ...

    def any_delivering(self) -> bool:
        """Whether any message is in delivery."""
        ...


class MailboxUnit(RunUnit, Protocol):
    """One transaction over everything mailboxes touch."""

    @property
    def messages(self) -> MessageStore: ...
