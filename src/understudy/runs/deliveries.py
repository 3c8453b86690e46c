"""What becomes of a run's output at each of the reply targets it was submitted with."""

from dataclasses import replace

from understudy.runs.model import Delivery, Run, RunStatus
from understudy.sessions.model import ReplyTarget


def pending_deliveries(targets: tuple[ReplyTarget, ...]) -> tuple[Delivery, ...]:
    """One delivery for each target, not tried yet."""
    return tuple(
        Delivery(plugin=target.plugin, address=target.address, status="pending", attempts=0)
        for target in targets
    )


def settle_local(run: Run) -> tuple[Delivery, ...]:
    """The deliveries of a run that ended: who reads the run itself has what it said."""
    if run.status is not RunStatus.COMPLETED:
        return run.deliveries
    return tuple(
        replace(delivery, status="delivered", attempts=1)
        if delivery.plugin == "local"
        else delivery
        for delivery in run.deliveries
    )
