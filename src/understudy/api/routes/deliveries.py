"""Deliveries to webhooks, and the secret they are signed with."""

from typing import Annotated, Final

from fastapi import APIRouter, Path

from understudy.api.gate import GatedRoute
from understudy.api.operations import admin, operator, viewer
from understudy.api.paging import Paging
from understudy.api.services import Caller, RunId, Services
from understudy.core.page import Page
from understudy.deliveries.model import DeliveryLog
from understudy.wire.replies import WebhookSecretView

router = APIRouter(tags=["deliveries"], route_class=GatedRoute)
DeliveryId = Annotated[str, Path(description="id of the delivery")]
OF_RUN: Final = "/v1/runs/{run_id}/deliveries"


@router.get(OF_RUN, operation_id="deliveries.list")
@viewer()
def list_deliveries(run_id: RunId, services: Services, page: Paging) -> Page[DeliveryLog]:
    """List the deliveries of a run's output to each reply target, try by try."""
    return Page.cut(services.deliveries.of_run(run_id), page)


@router.post(OF_RUN + "/{delivery_id}/retry", operation_id="deliveries.retry")
@operator()
def retry(
    run_id: RunId, delivery_id: DeliveryId, services: Services, caller: Caller
) -> DeliveryLog:
    """Retry a dead delivery now."""
    return services.deliveries.retry(caller, run_id, delivery_id)


@router.post("/v1/webhook-secret", operation_id="webhooks.rotate_secret", status_code=201)
@admin(secret=("secret",))
def rotate_secret(services: Services, caller: Caller) -> WebhookSecretView:
    """Replace the secret that webhooks are signed with; it is shown this once."""
    return WebhookSecretView(secret=services.webhook_secret.rotate(caller))
