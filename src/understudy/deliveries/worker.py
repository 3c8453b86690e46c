"""The duty of the delivery worker: claim due deliveries, POST them, store the outcome.

After a crash between the POST and the commit the lease runs out, and the delivery is sent again
under the same id: at least once, never lost.
"""

import hashlib
import hmac
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final
from urllib.parse import urlsplit

import structlog

from understudy import __version__
from understudy.core.clock import Clock
from understudy.core.errors import DamagedRecord, coded_error
from understudy.deliveries.model import (
    ClaimedDelivery,
    DeliveryVerdict,
    TargetAnswer,
    Try,
    TryOutcome,
    wait_ms,
)
from understudy.deliveries.service import WebhookSecret
from understudy.deliveries.webhook import TIMEOUT_S, WebhookSender
from understudy.runs.model import DeliveryStatus, Run
from understudy.sessions.journal import JournalEvent
from understudy.work.db_retry import retry_while_db_down
from understudy.work.worker import Claim, WorkerSleep

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units
    from understudy.telemetry.metrics import Metrics


log = structlog.get_logger()

AT_ONCE: Final = 16
LOOK_S: Final = 0.5
# Longer than the timeout of a POST, with time to store its outcome.
LEASE_MS: Final = round(TIMEOUT_S * 1000) + 5_000
STATUS_AFTER: Final = {
    TryOutcome.DELIVERED: DeliveryStatus.DELIVERED,
    TryOutcome.RETRY: DeliveryStatus.PENDING,
    TryOutcome.DEAD: DeliveryStatus.DEAD,
}
UNREADABLE: Final = "the run can no longer be read"
TOO_MANY: Final = 429
# The outcome by status class; any class without an entry is dead.
CLASSES: Final[Mapping[int, TryOutcome]] = {2: TryOutcome.DELIVERED, 5: TryOutcome.RETRY}
GAVE_UP: Final = "given up after {attempts} attempts: {error}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryDuty:
    """Sends the deliveries of all runs; any number of workers share one outbox."""

    at_once: ClassVar[int] = AT_ONCE
    sleep: ClassVar[WorkerSleep] = WorkerSleep(topics=(), longest_s=LOOK_S, tables=("deliveries",))

    units: "Units"
    clock: Clock
    secret: WebhookSecret
    sender: WebhookSender
    observer: "Metrics"
    jitter: Callable[[], float] = random.SystemRandom().random
    # The payload about the end of a background task; None if the task is deleted.
    task_message: Callable[["Unit", str], Mapping[str, Any] | None] = lambda _, __: None

    def claim(self, limit: int) -> Claim[ClaimedDelivery]:
        """Claim up to `limit` due deliveries under a lease."""
        now = self.clock.now_ms()
        # A claim is a write transaction: only when a delivery is due.
        with self.units.read() as unit:
            due = unit.deliveries.next_due_ms()
        if due is None or due > now:
            return Claim(due_at_ms=due)
        with self.units.write() as unit:
            claimed = unit.deliveries.claim(now_ms=now, until_ms=now + LEASE_MS, limit=limit)
        return Claim(items=claimed)

    async def do(self, claimed: ClaimedDelivery) -> None:
        """Send one delivery; on an unexpected error its lease expires and it is sent again."""
        try:
            await self.deliver(claimed)
        except Exception:
            log.exception("delivery.failed", delivery_id=claimed.delivery_id)

    async def deliver(self, claimed: ClaimedDelivery) -> None:
        """POST one delivery and store the outcome."""
        at_ms = self.clock.now_ms()
        try:
            body = await retry_while_db_down(self._message, claimed)
        except DamagedRecord:
            answer = TargetAnswer(error=UNREADABLE, is_final=True)
        else:
            secret = await retry_while_db_down(self.secret.current)
            signed = headers(secret, claimed.delivery_id, at_ms, body)
            answer = await self.sender.post(claimed.address, signed, body)
        verdict = judge(answer, attempt=claimed.round_attempt, jitter=self.jitter())
        tried = Try(
            attempt=claimed.attempt,
            at_ms=at_ms,
            outcome=verdict.outcome,
            status_code=answer.status_code,
            error=verdict.error,
        )
        await retry_while_db_down(self._settle, claimed, tried, verdict)
        self._tell(claimed, tried)

    def _message(self, claimed: ClaimedDelivery) -> bytes:
        with self.units.read() as unit:
            if claimed.task_id is not None:
                return self._of_task(unit, claimed.delivery_id, claimed.task_id)
            run = unit.runs.get(claimed.run_id)
            if run is None:
                raise coded_error("deliveries/record_damaged", detail=UNREADABLE)
            outputs = unit.journal.outputs([run.run_id]).get(run.run_id, ())
        return message(claimed.delivery_id, run, outputs)

    def _of_task(self, unit: "Unit", delivery_id: str, task_id: str) -> bytes:
        told = self.task_message(unit, task_id)
        if told is None:
            raise coded_error("deliveries/record_damaged", detail=UNREADABLE)
        return encoded({"delivery_id": delivery_id, **told})

    def _settle(self, claimed: ClaimedDelivery, tried: Try, verdict: DeliveryVerdict) -> None:
        retries = verdict.outcome is TryOutcome.RETRY
        due = self.clock.now_ms() + verdict.wait_ms if retries else None
        with self.units.write() as unit:
            unit.deliveries.settle(claimed, tried, STATUS_AFTER[verdict.outcome], due_at_ms=due)

    def _tell(self, claimed: ClaimedDelivery, tried: Try) -> None:
        self.observer.delivery_tried(outcome=str(tried.outcome))
        say = log.info if tried.outcome is TryOutcome.DELIVERED else log.warning
        say(
            "delivery.tried",
            delivery_id=claimed.delivery_id,
            run_id=claimed.run_id,
            # Log only the host: paths and queries of webhooks are often secrets.
            host=urlsplit(claimed.address).hostname,
            attempt=claimed.attempt,
            outcome=str(tried.outcome),
            error=tried.error,
        )


def message(delivery_id: str, run: Run, outputs: Sequence[JournalEvent]) -> bytes:
    """The request body; the same run gives the same bytes on every retry."""
    told: dict[str, Any] = {
        "delivery_id": delivery_id,
        "run_id": run.run_id,
        "session_id": run.session_id,
        "status": str(run.status),
        "outputs": [{"text": str(event.data.get("text", ""))} for event in outputs],
        "finished_at_ms": run.finished_at_ms,
    }
    if run.error is not None:
        told["error"] = run.error
    return encoded(told)


def encoded(told: Mapping[str, Any]) -> bytes:
    """A message as ASCII JSON: escapes keep even a lone surrogate valid."""
    return json.dumps(told, separators=(",", ":")).encode()


def signature(secret: str, timestamp_ms: int, body: bytes) -> str:
    """HMAC-SHA256 over timestamp, full stop and body, as the header value."""
    signed = f"{timestamp_ms}.".encode() + body
    return "sha256=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def headers(secret: str, delivery_id: str, timestamp_ms: int, body: bytes) -> Mapping[str, str]:
    """The request headers of a delivery, with its signature."""
    return {
        "Content-Type": "application/json",
        "User-Agent": f"understudy/{__version__}",
        "X-Understudy-Delivery": delivery_id,
        "X-Understudy-Timestamp": str(timestamp_ms),
        "X-Understudy-Signature": signature(secret, timestamp_ms, body),
    }


def judge(answer: TargetAnswer, *, attempt: int, jitter: float) -> DeliveryVerdict:
    """The verdict on the answer to an attempt: delivered, retry with back-off, or dead."""
    outcome = _outcome(answer)
    if outcome is TryOutcome.DELIVERED:
        return DeliveryVerdict(outcome=outcome)
    error = answer.error or f"the target answered {answer.status_code}"
    if outcome is TryOutcome.DEAD:
        return DeliveryVerdict(outcome=outcome, error=error)
    wait = wait_ms(attempt, jitter=jitter, retry_after_s=answer.retry_after_s)
    if wait is None:
        return DeliveryVerdict(
            outcome=TryOutcome.DEAD, error=GAVE_UP.format(attempts=attempt, error=error)
        )
    return DeliveryVerdict(outcome=TryOutcome.RETRY, error=error, wait_ms=wait)


def _outcome(answer: TargetAnswer) -> TryOutcome:
    if answer.is_final:
        return TryOutcome.DEAD
    if answer.status_code is None or answer.status_code == TOO_MANY:
        return TryOutcome.RETRY
    return CLASSES.get(answer.status_code // 100, TryOutcome.DEAD)
