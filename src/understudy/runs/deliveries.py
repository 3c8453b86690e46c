"""What becomes of a run's output at each of the reply targets it was submitted with."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from understudy.core.errors import DamagedRecord
from understudy.core.ids import new_id
from understudy.runs.lifecycle import TERMINAL
from understudy.runs.model import Delivery, DeliveryStatus, Run, RunStatus
from understudy.sessions.model import ReplyTarget

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

HTTP: Final = "http"
LOCAL: Final = "local"


def pending_deliveries(targets: tuple[ReplyTarget, ...]) -> tuple[Delivery, ...]:
    """One delivery for each target, not tried yet."""
    return tuple(
        Delivery(
            plugin=target.plugin, address=target.address, status=DeliveryStatus.PENDING, attempts=0
        )
        for target in targets
    )


def settle_local(run: Run) -> tuple[Delivery, ...]:
    """The deliveries of a run that ended: who reads the run itself has what it said."""
    if not _has_something_to_say(run):
        return run.deliveries
    return tuple(
        replace(delivery, status=DeliveryStatus.DELIVERED, attempts=1)
        if delivery.plugin == LOCAL
        else delivery
        for delivery in run.deliveries
    )


def queue_deliveries(unit: "Unit", run: Run) -> None:
    """Put the end of a run into the outbox for its webhooks; to be called once, as it ends."""
    if not _has_something_to_say(run):
        return
    for position, target in enumerate(run.reply_targets):
        if target.plugin == HTTP:
            delivery = Delivery(
                plugin=target.plugin,
                address=target.address,
                status=DeliveryStatus.PENDING,
                attempts=0,
                delivery_id=new_id("dlv"),
                next_attempt_at_ms=run.finished_at_ms,
            )
            unit.deliveries.add(run.run_id, position, delivery)


def queue_unread(unit: "Unit", run_id: str) -> Run | None:
    """The same for a run that was closed without being read; answers it if that can be done now."""
    try:
        run = unit.runs.get(run_id)
    except DamagedRecord:
        return None
    if run is not None:
        queue_deliveries(unit, run)
    return run


def shown_deliveries(run: Run, sent: Mapping[int, Delivery]) -> tuple[Delivery, ...]:
    """How a run's deliveries stand: the outbox knows of what is sent, the run of the rest."""
    known = run.deliveries or pending_deliveries(run.reply_targets)
    return tuple(
        sent.get(position) or _without_outbox(run, delivery)
        for position, delivery in enumerate(known)
    )


def _without_outbox(run: Run, delivery: Delivery) -> Delivery:
    if run.status in TERMINAL and delivery.status == DeliveryStatus.PENDING:
        return replace(delivery, status=DeliveryStatus.SKIPPED)
    return delivery


def _has_something_to_say(run: Run) -> bool:
    """Whether a run has ended with a result or an error; one cancelled in the queue has neither."""
    has_begun = run.started_at_ms is not None or run.status is not RunStatus.CANCELLED
    return run.status in TERMINAL and has_begun
