"""Deliveries and their tries as the wire shows them."""

from understudy.api.views.runs import delivery_view
from understudy.deliveries.model import DeliveryLog, Try
from understudy.deliveries.service import may_retry
from understudy.wire.replies import DeliveryLogView, DeliveryTryView


def delivery_log_view(log: DeliveryLog) -> DeliveryLogView:
    """A delivery with everything that was tried for it."""
    delivery = log.delivery
    sent = delivery.delivery_id is not None
    return DeliveryLogView(
        **delivery_view(delivery).model_dump(),
        tries=[_try(tried) for tried in log.tries],
        actions=["retry"] if sent and may_retry(delivery.status) else [],
    )


def _try(tried: Try) -> DeliveryTryView:
    return DeliveryTryView(
        attempt=tried.attempt,
        at_ms=tried.at_ms,
        outcome=tried.outcome.value,
        status_code=tried.status_code,
        error=tried.error,
    )
