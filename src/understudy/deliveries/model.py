"""The records of a delivery in the outbox, its state machine and its back-off."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final

from pydantic import computed_field

from understudy.core.machine import Machine
from understudy.core.records import OMIT
from understudy.runs.model import Delivery, DeliveryStatus

# The back-off after each attempt in seconds: exponential, at most an hour.
WAITS_S: Final = (1, 4, 16, 64, 256, 1024, 3600)
MAX_ATTEMPTS: Final = len(WAITS_S) + 1
# The cap on `Retry-After`: a target may ask for days.
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
    """The outcome of one delivery attempt."""

    DELIVERED = "delivered"
    RETRY = "retry"
    DEAD = "dead"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedDelivery:
    """A delivery that one worker holds under a lease.

    `attempt` counts the attempts since it was queued, `round_attempt` those since the last manual
    retry.
    """

    delivery_id: str
    run_id: str
    address: str
    attempt: int
    round_attempt: int
    # The background task whose end is delivered; None for the end of the run.
    task_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetAnswer:
    """The answer of a target: a status code, or the error that prevented one."""

    status_code: int | None = None
    error: str | None = None
    # Whether a retry is pointless, whatever the status code.
    is_final: bool = False
    retry_after_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryVerdict:
    """The consequence of an answer: delivered, retry after a wait, or dead."""

    outcome: TryOutcome
    error: str | None = None
    wait_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """One delivery attempt in the log."""

    attempt: int
    at_ms: int
    outcome: TryOutcome
    status_code: Annotated[int | None, OMIT] = None
    error: Annotated[str | None, OMIT] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryLog(Delivery):
    """A delivery with its attempts."""

    tries: tuple[Try, ...] = ()

    @computed_field
    @property
    def actions(self) -> tuple[str, ...]:
        """The allowed actions; a delivery that was never sent has no id to retry by."""
        return ("retry",) if self.delivery_id is not None and may_retry(self.status) else ()


def may_retry(status: str) -> bool:
    """Whether a delivery in this status may be retried."""
    return DeliveryStatus.PENDING in DELIVERY.allowed(DeliveryStatus(status))


def wait_ms(attempt: int, *, jitter: float, retry_after_s: float = 0.0) -> int | None:
    """Milliseconds of back-off after an attempt, counted from 1; None after the last one.

    `jitter` is a random number from 0 to 1 that decides half of the wait, so that deliveries which
    failed together are not retried together.
    """
    if attempt >= MAX_ATTEMPTS:
        return None
    ours = WAITS_S[max(attempt, 1) - 1] * (0.5 + jitter / 2)
    return round(1000 * max(ours, min(retry_after_s, LONGEST_RETRY_AFTER_S)))
