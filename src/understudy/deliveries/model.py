"""The records of a delivery that is on its way."""

from dataclasses import dataclass
from enum import StrEnum

from understudy.runs.model import Delivery


class TryOutcome(StrEnum):
    """What came of one try."""

    DELIVERED = "delivered"
    RETRY = "retry"
    DEAD = "dead"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A delivery that one worker has to itself for a while.

    `attempt` counts the tries since it was queued, `round_attempt` those since somebody last had it
    tried again.
    """

    delivery_id: str
    run_id: str
    address: str
    attempt: int
    round_attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a target said: a status, or why there is none."""

    status_code: int | None = None
    error: str | None = None
    # Whether it is no use to ask again, whatever the status would say.
    is_final: bool = False
    retry_after_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
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
    status_code: int | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryLog:
    """A delivery with everything that was tried for it."""

    delivery: Delivery
    tries: tuple[Try, ...] = ()
