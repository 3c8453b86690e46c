"""What a target's answer means: taken, ask again, or give up."""

from collections.abc import Mapping
from typing import Final

from understudy.deliveries.backoff import wait_ms
from understudy.deliveries.model import Answer, TryOutcome, Verdict

TOO_MANY: Final = 429
# What the first digit of a status means; anything unheard of is given up.
CLASSES: Final[Mapping[int, TryOutcome]] = {2: TryOutcome.DELIVERED, 5: TryOutcome.RETRY}
GAVE_UP: Final = "given up after {attempts} attempts: {error}"


def judge(answer: Answer, *, attempt: int, jitter: float) -> Verdict:
    """What follows from an answer to the try with this number."""
    outcome = _outcome(answer)
    if outcome is TryOutcome.DELIVERED:
        return Verdict(outcome=outcome)
    error = answer.error or f"the target answered {answer.status_code}"
    if outcome is TryOutcome.DEAD:
        return Verdict(outcome=outcome, error=error)
    wait = wait_ms(attempt, jitter=jitter, retry_after_s=answer.retry_after_s)
    if wait is None:
        return Verdict(outcome=TryOutcome.DEAD, error=GAVE_UP.format(attempts=attempt, error=error))
    return Verdict(outcome=TryOutcome.RETRY, error=error, wait_ms=wait)


def _outcome(answer: Answer) -> TryOutcome:
    if answer.is_final:
        return TryOutcome.DEAD
    if answer.status_code is None or answer.status_code == TOO_MANY:
        return TryOutcome.RETRY
    return CLASSES.get(answer.status_code // 100, TryOutcome.DEAD)
