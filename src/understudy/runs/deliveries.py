"""Deliveries of a run's output to its reply targets: pending, local, or in the outbox."""

from collections.abc import Mapping, Sequence
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
    """A pending delivery for each reply target."""
    return tuple(
        Delivery(
            plugin=target.plugin, address=target.address, status=DeliveryStatus.PENDING, attempts=0
        )
        for target in targets
    )


def settle_local(run: Run) -> tuple[Delivery, ...]:
    """The deliveries of an ended run: local ones are delivered, because readers read the run."""
    if not _has_something_to_say(run):
        return run.deliveries
    return tuple(map(_read_here, run.deliveries))


def _read_here(delivery: Delivery) -> Delivery:
    if delivery.plugin != LOCAL:
        return delivery
    return replace(delivery, status=DeliveryStatus.DELIVERED, attempts=1)


def queue_deliveries(unit: "Unit", run: Run) -> None:
    """Queue the webhook deliveries of a run in the outbox; called once, when it ends."""
    if _has_something_to_say(run):
        queue_for_targets(unit, run.run_id, run.reply_targets, at_ms=run.finished_at_ms)


def queue_for_targets(
    unit: "Unit",
    run_id: str,
    targets: tuple[ReplyTarget, ...],
    *,
    at_ms: int | None,
    task_id: str | None = None,
) -> None:
    """Queue a delivery for each webhook among some reply targets, of a run or of its task."""
    # Positions of tasks come after all reply targets of the run.
    first = 0 if task_id is None else unit.deliveries.next_task_position(run_id)
    for position, target in enumerate(targets, start=first):
        if target.plugin == HTTP:
            delivery = Delivery(
                plugin=target.plugin,
                address=target.address,
                status=DeliveryStatus.PENDING,
                attempts=0,
                delivery_id=new_id("dlv"),
                next_attempt_at_ms=at_ms,
                task_id=task_id,
            )
            unit.deliveries.add(run_id, position, delivery)


def queue_unread(unit: "Unit", run_id: str) -> Run | None:
    """Queue the deliveries of a damaged run that was closed; returns it if it decodes now."""
    try:
        run = unit.runs.get(run_id)
    except DamagedRecord:
        return None
    if run is not None:
        queue_deliveries(unit, run)
    return run


def shown_deliveries(run: Run, sent: Mapping[int, Delivery]) -> tuple[Delivery, ...]:
    """The deliveries of a run: from the outbox where they are queued, else from the run."""
    known = run.deliveries or pending_deliveries(run.reply_targets)
    return tuple(
        sent.get(position) or _without_outbox(run, delivery)
        for position, delivery in enumerate(known)
    )


def shown_for_targets(
    targets: tuple[ReplyTarget, ...], sent: Sequence[Delivery], *, has_ended: bool
) -> tuple[Delivery, ...]:
    """The deliveries of a background task: from the outbox, or local ones."""
    queued = iter(sent)
    known = (
        next(queued, delivery) if delivery.plugin == HTTP else delivery
        for delivery in pending_deliveries(targets)
    )
    return tuple(map(_read_here, known) if has_ended else known)


def _without_outbox(run: Run, delivery: Delivery) -> Delivery:
    if run.status in TERMINAL and delivery.status == DeliveryStatus.PENDING:
        return replace(delivery, status=DeliveryStatus.SKIPPED)
    return delivery


def _has_something_to_say(run: Run) -> bool:
    """Whether a run has ended with a result or an error; one cancelled in the queue has neither."""
    has_begun = run.started_at_ms is not None or run.status is not RunStatus.CANCELLED
    return run.status in TERMINAL and has_begun
