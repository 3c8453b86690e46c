"""Which status of a delivery may follow which."""

from typing import Final

from understudy.core.machine import Machine
from understudy.runs.model import DeliveryStatus

_S = DeliveryStatus

DELIVERY: Final = Machine(
    name="delivery",
    domain="deliveries",
    conflict_code="delivery_state_conflict",
    steps={
        _S.PENDING: frozenset({_S.DELIVERED, _S.DEAD, _S.SKIPPED}),
        _S.DEAD: frozenset({_S.PENDING}),
        _S.DELIVERED: frozenset(),
        _S.SKIPPED: frozenset(),
    },
)
