"""Flows: one start of one version of a playbook each."""

import asyncio
from typing import Annotated, Final

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import StreamingResponse

from understudy.api.bodies import located
from understudy.api.gate import GatedRoute
from understudy.api.idempotency import key_for_receipt
from understudy.api.limits import LARGE_BODY_BYTES
from understudy.api.operations import operator, viewer
from understudy.api.paging import Paging
from understudy.api.routes.playbooks import evidence_of
from understudy.api.routes.runs import IdempotencyKey
from understudy.api.routes.streams import EVENT_STREAM, Cursor, follow_run
from understudy.api.services import Caller, Services
from understudy.api.submissions import AcceptLanguage, submission_of
from understudy.api.views.runs import run_view
from understudy.core.page import Page
from understudy.core.principal import Principal
from understudy.core.records import reduced
from understudy.playbooks.flow import FLOW_ENDED, FlowStatus
from understudy.playbooks.flows import FlowDetail
from understudy.playbooks.model import PlaybookRef
from understudy.playbooks.start import NewFlow
from understudy.wire.playbooks import AttestFlow, FlowView, StartFlow

router = APIRouter(tags=["flows"], route_class=GatedRoute)
FlowId = Annotated[str, Path(description="id of the flow")]
ONE: Final = "/v1/flows/{flow_id}"


@router.post("/v1/flows", operation_id="flows.start", status_code=202)
@operator(body_id="flow_id", own_receipts=True, max_body_bytes=LARGE_BODY_BYTES)
def start(
    body: StartFlow,
    services: Services,
    caller: Caller,
    idempotency_key: IdempotencyKey = None,
    accept_language: AcceptLanguage = None,
) -> FlowView:
    """Start a version of a playbook: a run in a session, and the record of its contract."""
    key = key_for_receipt(services, caller, idempotency_key, body.idempotency_key)
    with located("request"):
        request = submission_of(body.request, accept_language=accept_language)
    wanted = NewFlow(
        playbook_ref=PlaybookRef(**body.playbook_ref.model_dump()),
        session_id=body.session_id,
        request=request,
        flow_id=body.flow_id,
        metadata=body.metadata,
        evidence_refs=evidence_of(body.evidence_refs),
    )
    flow_id = services.flows.starter.start(caller, wanted, idempotency_key=key)
    return flow_view(services.flows.service.get(flow_id), caller)


@router.get("/v1/flows", operation_id="flows.list")
@viewer()
def list_flows(
    services: Services,
    caller: Caller,
    page: Paging,
    playbook_id: Annotated[str | None, Query(description="only of this playbook")] = None,
    session_id: Annotated[str | None, Query(description="only in this session")] = None,
    status: Annotated[FlowStatus | None, Query(description="only of this status")] = None,
) -> Page[FlowView]:
    """List flows, newest first."""
    found = services.flows.service.page(
        page, playbook_id=playbook_id, session_id=session_id, status=status
    )
    shown = tuple(flow_view(each, caller) for each in found.items)
    return Page(items=shown, next_cursor=found.next_cursor)


@router.get(ONE, operation_id="flows.get")
@viewer()
def get(flow_id: FlowId, services: Services, caller: Caller) -> FlowView:
    """Show a flow, with its contract and the evidence that is missing."""
    return flow_view(services.flows.service.get(flow_id), caller)


@router.post(ONE + "/evidence", operation_id="flows.evidence")
@operator()
def evidence(flow_id: FlowId, body: AttestFlow, services: Services, caller: Caller) -> FlowView:
    """Add evidence; what is there already is not added again."""
    found = services.flows.service.attest(caller, flow_id, evidence_of(body.evidence_refs))
    return flow_view(found, caller)


@router.post(ONE + "/cancel", operation_id="flows.cancel")
@operator()
def cancel(flow_id: FlowId, services: Services, caller: Caller) -> FlowView:
    """Cancel all runs of a flow; one that has ended is answered as it is."""
    return flow_view(services.flows.service.cancel(caller, flow_id), caller)


@router.get(
    ONE + "/stream",
    operation_id="flows.stream",
    response_class=StreamingResponse,
    responses=EVENT_STREAM,
)
@viewer()
async def stream(
    flow_id: FlowId, services: Services, request: Request, cursor: Cursor = None
) -> StreamingResponse:
    """Stream the run of a flow."""
    found = await asyncio.to_thread(services.flows.service.get, flow_id)
    return await follow_run(found.flow.run_id, services, request, cursor)


def flow_view(detail: FlowDetail, reader: Principal) -> FlowView:
    """A flow with its current status."""
    flow, reading = detail.flow, detail.reading
    ended = reading.status in FLOW_ENDED
    return reduced(
        FlowView,
        flow,
        status=reading.status,
        primitive_refs=reading.primitive_refs,
        phase_states=reading.phase_states,
        contract=reading.contract,
        run=None if detail.run is None else run_view(detail.run, reader),
        run_stream_url=f"/v1/runs/{flow.run_id}/stream",
        completed_at_ms=detail.completed_at_ms,
        actions=("evidence",) if ended else ("evidence", "cancel"),
    )
