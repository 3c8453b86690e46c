"""The records of a delivery in the outbox, its state machine and its back-off."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final

from pydantic import computed_field

from understudy.core.machine import Machine
from understudy.core.records import OMIT
from understudy.runs.model import Delivery, DeliveryStatus

# Seconds after the first try, the second, and so on: four times as long each time, an hour at most.
WAITS_S: Final = (1, 4, 16, 64, 256, 1024, 3600)
MAX_ATTEMPTS: Final = len(WAITS_S) + 1
# A target may ask for days; it is asked again all the same.
LONGEST_RETRY_AFTER_S: Final = 3600.0
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


class TryOutcome(StrEnum):
    """What came of one try."""

    DELIVERED = "delivered"
    RETRY = "retry"
    DEAD = "dead"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedDelivery:
    """A delivery that one worker has to itself for a while.

    `attempt` counts the tries since it was queued, `round_attempt` those since somebody last had it
    tried again.
    """

    delivery_id: str
    run_id: str
    address: str
    attempt: int
    round_attempt: int
    # The background task whose end it tells; None: that of the run.
    task_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetAnswer:
    """What a target said: a status, or why there is none."""

    status_code: int | None = None
    error: str | None = None
    # Whether it is no use to ask again, whatever the status would say.
    is_final: bool = False
    retry_after_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryVerdict:
    """What an answer means for the delivery."""

    outcome: TryOutcome
    error: str | None = None
    wait_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """One try, as the log keeps it."""

    attempt: int
    at_ms: int
    outcome: TryOutcome
    status_code: Annotated[int | None, OMIT] = None
    error: Annotated[str | None, OMIT] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryLog(Delivery):
    """A delivery with everything that was tried for it."""

    tries: tuple[Try, ...] = ()

    @computed_field
    @property
    def actions(self) -> tuple[str, ...]:
        """What can be done about it now; what was not sent has no id to name it by."""
        return ("retry",) if self.delivery_id is not None and may_retry(self.status) else ()


def may_retry(status: str) -> bool:
    """Whether somebody may have a delivery in this status tried again."""
    return DeliveryStatus.PENDING in DELIVERY.allowed(DeliveryStatus(status))


def wait_ms(attempt: int, *, jitter: float, retry_after_s: float = 0.0) -> int | None:
    """Milliseconds to wait after this try, from 1; None when it was the last one.

    `jitter` is a random number from 0 to 1: half of the wait depends on it, so that many deliveries
    that failed together do not come back together.
    """
    if attempt >= MAX_ATTEMPTS:
        return None
    ours = WAITS_S[max(attempt, 1) - 1] * (0.5 + jitter / 2)
    return round(1000 * max(ours, min(retry_after_s, LONGEST_RETRY_AFTER_S)))
