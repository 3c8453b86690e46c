"""Which status of a message may follow which."""

from typing import Final

from understudy.core.machine import Machine
from understudy.mailboxes.model import MessageStatus

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
# What keeps a mailbox from being empty.
UNDELIVERED: Final = frozenset({_S.PENDING, _S.DELIVERING})
