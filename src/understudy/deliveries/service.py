"""Use cases of deliveries that a caller starts: look at what was tried, and have it tried again."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

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


@dataclass(frozen=True, slots=True)
class DeliveryService:
    """The delivery log of a run, and a second chance for what was given up."""

    units: "Units"
    clock: Clock

    def of_run(self, run_id: str) -> tuple[DeliveryLog, ...]:
        """The deliveries of a run, in the order of its reply targets."""
        with self.units.read() as unit:
            run = require_run(unit, run_id)
            sent = unit.deliveries.of_runs([run_id]).get(run_id, {})
            shown = shown_deliveries(run, sent)
            ids = [delivery.delivery_id for delivery in shown if delivery.delivery_id]
            tries = unit.deliveries.tries(ids)
        return tuple(
            extended(DeliveryLog, delivery, tries=tries.get(delivery.delivery_id or "", ()))
            for delivery in shown
        )

    def retry(self, principal: Principal, run_id: str, delivery_id: str) -> DeliveryLog:
        """Have a dead delivery tried again, from now on."""
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
