"""The delivery service: read and retry deliveries; and the secret that signs webhooks."""

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import coded_error
from understudy.core.principal import Principal
from understudy.core.records import extended
from understudy.deliveries.model import DeliveryLog, may_retry
from understudy.runs.deliveries import shown_deliveries
from understudy.runs.model import require_run

if TYPE_CHECKING:
    from understudy.storage.unit import Units

PREFIX: Final = "whsec_"


@dataclass(frozen=True, slots=True)
class DeliveryService:
    """The delivery log of a run, and manual retries of dead deliveries."""

    units: "Units"
    clock: Clock

    def of_run(self, run_id: str) -> tuple[DeliveryLog, ...]:
        """The deliveries of a run, in the order of its reply targets, and of its background tasks."""
        with self.units.read() as unit:
            run = require_run(unit, run_id)
            sent = unit.deliveries.of_runs([run_id]).get(run_id, {})
            of_tasks = (each for each in sent.values() if each.task_id is not None)
            shown = (*shown_deliveries(run, sent), *of_tasks)
            ids = [delivery.delivery_id for delivery in shown if delivery.delivery_id]
            tries = unit.deliveries.tries(ids)
        return tuple(
            extended(DeliveryLog, delivery, tries=tries.get(delivery.delivery_id or "", ()))
            for delivery in shown
        )

    def retry(self, principal: Principal, run_id: str, delivery_id: str) -> DeliveryLog:
        """Queue a dead delivery again, due now."""
        with self.units.write() as unit:
            require_run(unit, run_id)
            delivery = unit.deliveries.find(run_id, delivery_id)
            if delivery is None:
                raise coded_error("deliveries/delivery_not_found", delivery_id=delivery_id)
            if not may_retry(delivery.status):
                raise coded_error("deliveries/delivery_state_conflict", status=delivery.status)
            now = self.clock.now_ms()
            unit.deliveries.try_again(delivery_id, at_ms=now)
            unit.audit.add(audit.done(principal, "deliveries.retry", delivery_id, at_ms=now))
        return next(log for log in self.of_run(run_id) if log.delivery_id == delivery_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSecret:
    """The webhook signing secret: created on first use, rotated on demand."""

    units: "Units"
    clock: Clock
    configured: str | None = field(default=None, repr=False)

    def current(self) -> str:
        """The secret in use; created on first use, so that nothing is sent unsigned."""
        if self.configured:
            return self.configured
        with self.units.read() as unit:
            known = unit.webhook_secret.get()
        return known or self._first()

    def rotate(self, principal: Principal) -> str:
        """Replace the secret and return the new one, this once; the old one no longer signs."""
        if self.configured:
            raise coded_error("deliveries/webhook_secret_configured")
        made, now = _make(), self.clock.now_ms()
        with self.units.write() as unit:
            unit.webhook_secret.replace(made, at_ms=now)
            unit.audit.add(audit.done(principal, "webhooks.rotate_secret", "secret", at_ms=now))
        return made

    def _first(self) -> str:
        made = _make()
        with self.units.write() as unit:
            if unit.webhook_secret.add(made, at_ms=self.clock.now_ms()):
                return made
            # Another daemon inserted its secret first.
            return unit.webhook_secret.get() or made


def _make() -> str:
    return PREFIX + secrets.token_urlsafe(32)
