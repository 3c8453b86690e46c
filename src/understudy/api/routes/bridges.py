"""Bridges of channels, and the endpoint for inbound messages."""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Path
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from understudy.api.bodies import check_same_id
from understudy.api.gate import GatedRoute
from understudy.api.operations import anyone, operator, viewer
from understudy.api.paging import Paging
from understudy.api.routes.channels import ONE, ChannelId
from understudy.api.services import Caller, Services
from understudy.channels.bridge_model import Bridge, BridgeDelivery, NewBridge
from understudy.channels.bridges import MAX_BODY_BYTES
from understudy.core.page import Page
from understudy.wire.base import Deleted
from understudy.wire.bridges import BridgeFields, CreateBridge, UpdateBridge

router = APIRouter(tags=["channels"], route_class=GatedRoute)
BridgeId = Annotated[str, Path(description="id of the bridge")]
BRIDGES: Final = ONE + "/bridges"
BRIDGE: Final = BRIDGES + "/{bridge_id}"
INCOMING: Final = "/v1/bridges/{bridge_id}/messages"


@router.post(BRIDGES, operation_id="channels.create_bridge", status_code=201)
@operator(body_id="bridge_id", secret=("secret",))
def create(
    channel_id: ChannelId, body: CreateBridge, services: Services, caller: Caller
) -> NewBridge:
    """Create a bridge; a secret that was generated for it is shown this once."""
    return services.channels.bridges.create(
        caller, channel_id, body.bridge_id, body.connector, **_fields(body)
    )


@router.get(BRIDGES, operation_id="channels.bridges")
@viewer()
def list_bridges(channel_id: ChannelId, services: Services, page: Paging) -> Page[Bridge]:
    """List the bridges of a channel; credentials are named, never shown."""
    return Page.cut(services.channels.bridges.of_channel(channel_id), page)


@router.get(BRIDGE, operation_id="channels.get_bridge")
@viewer()
def get(channel_id: ChannelId, bridge_id: BridgeId, services: Services) -> Bridge:
    """Show a bridge."""
    return services.channels.bridges.get(channel_id, bridge_id)


@router.put(BRIDGE, operation_id="channels.update_bridge")
@operator()
def update(
    channel_id: ChannelId,
    bridge_id: BridgeId,
    body: UpdateBridge,
    services: Services,
    caller: Caller,
) -> Bridge:
    """Change a bridge; what is left out keeps its value."""
    check_same_id("bridge_id", body.bridge_id, bridge_id)
    return services.channels.bridges.update(caller, channel_id, bridge_id, **_fields(body))


@router.delete(BRIDGE, operation_id="channels.delete_bridge")
@operator()
def delete(
    channel_id: ChannelId, bridge_id: BridgeId, services: Services, caller: Caller
) -> Deleted:
    """Delete a bridge with its credentials."""
    services.channels.bridges.delete(caller, channel_id, bridge_id)
    return Deleted()


@router.get(BRIDGE + "/deliveries", operation_id="channels.bridge_deliveries")
@viewer()
def deliveries(
    channel_id: ChannelId, bridge_id: BridgeId, services: Services, page: Paging
) -> Page[BridgeDelivery]:
    """List the deliveries of a bridge, newest first."""
    return services.channels.bridges.deliveries(channel_id, bridge_id, page)


@router.post(INCOMING, operation_id="bridges.receive", response_class=JSONResponse)
@anyone(max_body_bytes=MAX_BODY_BYTES)
async def receive(bridge_id: BridgeId, request: Request, services: Services) -> JSONResponse:
    """Receive what the other end of a bridge sends, signed as its connector signs."""
    return await _heard(bridge_id, request, services)


@router.put(
    INCOMING + "/_matrix/app/v1/transactions/{transaction_id}",
    operation_id="bridges.receive_matrix",
    response_class=JSONResponse,
)
@anyone(max_body_bytes=MAX_BODY_BYTES)
async def receive_matrix(
    bridge_id: BridgeId, transaction_id: str, request: Request, services: Services
) -> JSONResponse:
    """Receive the transaction of a Matrix homeserver, which calls the application service so."""
    return await _heard(bridge_id, request, services)


async def _heard(bridge_id: str, request: Request, services: Services) -> JSONResponse:
    body = await request.body()
    headers = {name.lower(): value for name, value in request.headers.items()}
    answer = await run_in_threadpool(services.channels.bridges.hear, bridge_id, headers, body)
    return JSONResponse(answer)


def _fields(body: BridgeFields) -> dict[str, Any]:
    """The fields that were set."""
    return body.model_dump(include=set(BridgeFields.model_fields), exclude_none=True)
