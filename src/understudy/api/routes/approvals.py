"""Approvals and questions, of one run or of a session's current runs."""

from functools import partial
from typing import Annotated, Final

from fastapi import APIRouter, Header, Path, Query, Request

from understudy.api.gate import GatedRoute
from understudy.api.idempotency import key_for_receipt
from understudy.api.operations import operator, viewer
from understudy.api.paging import Paging, items
from understudy.api.services import Caller, RunId, Services, SessionId
from understudy.api.submissions import answer_inline
from understudy.api.views.runs import approval_preview, approval_view, question_view, run_view
from understudy.core.principal import Principal
from understudy.runs.answers import read_resolution
from understudy.runs.approvals import Resolution
from understudy.runs.open_requests import RunPlace
from understudy.runs.requests import RequestState
from understudy.runs.service import RunDetail
from understudy.wire.approvals import (
    ApprovalView,
    CancelQuestion,
    QuestionView,
    ResolveApprovals,
    ResolveQuestion,
)
from understudy.wire.base import Items
from understudy.wire.runs import RunView
from understudy.wire.sessions import SessionView

router = APIRouter(tags=["approvals and questions"], route_class=GatedRoute)
RequestId = Annotated[str, Path(description="id of the approval or question")]
Key = Annotated[str | None, Header(alias="Idempotency-Key", description="a repeat changes nothing")]
State = Annotated[
    RequestState | None, Query(description="pending where none is named; see `all` as well")
]
Everything = Annotated[bool, Query(alias="all", description="whatever became of them")]
InSession = Annotated[str | None, Query(alias="session_id")]
OfRun = Annotated[str | None, Query(alias="run_id")]
ONE_RUN: Final = "/v1/runs/{run_id}"
ONE_SESSION: Final = "/v1/sessions/{session_id}"


@router.get("/v1/approvals", operation_id="approvals.list")
@viewer()
def list_approvals(
    services: Services,
    caller: Caller,
    page: Paging,
    session_id: InSession = None,
    run_id: OfRun = None,
    state: State = None,
    everything: Everything = False,
) -> Items[ApprovalView]:
    """List tool calls that wait for a person, and open offers, oldest first."""
    found = services.runs.approvals.reader.page(
        page, state=_state(state, everything=everything), session_id=session_id, run_id=run_id
    )
    return items(found, partial(approval_preview, reader=caller))


@router.get("/v1/approvals/{request_id}", operation_id="approvals.get")
@viewer()
def get_approval(request_id: RequestId, services: Services, caller: Caller) -> ApprovalView:
    """Show an approval or an offer."""
    return approval_view(services.runs.approvals.reader.get(request_id), caller)


@router.get("/v1/questions", operation_id="questions.list")
@viewer()
def list_questions(
    services: Services,
    caller: Caller,
    page: Paging,
    session_id: InSession = None,
    run_id: OfRun = None,
    state: State = None,
    everything: Everything = False,
) -> Items[QuestionView]:
    """List questions that wait for an answer, oldest first."""
    found = services.runs.questions.reader.page(
        page, state=_state(state, everything=everything), session_id=session_id, run_id=run_id
    )
    return items(found, partial(question_view, reader=caller))


@router.get("/v1/questions/{request_id}", operation_id="questions.get")
@viewer()
def get_question(request_id: RequestId, services: Services, caller: Caller) -> QuestionView:
    """Show a question."""
    return question_view(services.runs.questions.reader.get(request_id), caller)


@router.get(ONE_SESSION + "/questions", operation_id="questions.of_session")
@viewer()
def questions_of_session(
    session_id: SessionId, services: Services, caller: Caller, page: Paging
) -> Items[QuestionView]:
    """List the questions of a session that wait for an answer."""
    found = services.runs.questions.reader.page(page, session_id=session_id)
    return items(found, partial(question_view, reader=caller))


@router.post(ONE_RUN + "/approvals", operation_id="approvals.resolve", status_code=202)
@operator(own_receipts=True)
def resolve_approvals(
    run_id: RunId, body: ResolveApprovals, services: Services, caller: Caller, key: Key = None
) -> RunView:
    """Allow or deny tool calls of a run, and answer its offers: all or none; the last one wakes it."""
    return run_view(_resolve(services, caller, RunPlace(run_id=run_id), body, key), caller)


@router.post(
    ONE_SESSION + "/approval-runs", operation_id="approvals.resolve_in_session", status_code=202
)
@operator(action="approvals.resolve", own_receipts=True)
def resolve_session_approvals(
    session_id: SessionId,
    body: ResolveApprovals,
    services: Services,
    caller: Caller,
    key: Key = None,
) -> RunView:
    """Allow or deny tool calls of a session's run."""
    return run_view(_resolve(services, caller, RunPlace(session_id=session_id), body, key), caller)


@router.post(ONE_SESSION + "/approvals", operation_id="approvals.resolve_inline")
@operator(action="approvals.resolve", own_receipts=True)
async def resolve_inline(
    session_id: SessionId,
    body: ResolveApprovals,
    services: Services,
    caller: Caller,
    request: Request,
    key: Key = None,
) -> SessionView:
    """Allow or deny tool calls of a session's run; answer when it has ended or waits again."""

    def act() -> RunDetail:
        return _resolve(services, caller, RunPlace(session_id=session_id), body, key)

    return await answer_inline(services, request, act)


@router.post(ONE_RUN + "/questions", operation_id="questions.resolve", status_code=202)
@operator(own_receipts=True)
def resolve_question(
    run_id: RunId, body: ResolveQuestion, services: Services, caller: Caller, key: Key = None
) -> RunView:
    """Answer or decline a question of a run; with the last one the run goes on."""
    return run_view(_answer(services, caller, RunPlace(run_id=run_id), body, key), caller)


@router.post(ONE_SESSION + "/questions", operation_id="questions.resolve_inline")
@operator(action="questions.resolve", own_receipts=True)
async def resolve_question_inline(
    session_id: SessionId,
    body: ResolveQuestion,
    services: Services,
    caller: Caller,
    request: Request,
    key: Key = None,
) -> SessionView:
    """Answer or decline a question of a session's run; answer when it has ended or waits again."""

    def act() -> RunDetail:
        return _answer(services, caller, RunPlace(session_id=session_id), body, key)

    return await answer_inline(services, request, act)


@router.post(ONE_RUN + "/questions/{request_id}/cancel", operation_id="questions.cancel")
@operator(own_receipts=True)
def cancel_question(
    run_id: RunId,
    request_id: RequestId,
    services: Services,
    caller: Caller,
    body: CancelQuestion | None = None,
    key: Key = None,
) -> RunView:
    """Withdraw a question, and with it the run that cannot go on without an answer."""
    given = key_for_receipt(services, caller, key, body.idempotency_key if body else None)
    run = services.runs.questions.cancel(caller, run_id, request_id, idempotency_key=given)
    return run_view(run, caller)


def _resolve(
    services: Services, caller: Principal, place: RunPlace, body: ResolveApprovals, key: str | None
) -> RunDetail:
    given = key_for_receipt(services, caller, key, body.idempotency_key)
    resolutions = [Resolution(**each.model_dump()) for each in body.resolutions]
    return services.runs.approvals.resolve(caller, place, resolutions, idempotency_key=given)


def _answer(
    services: Services, caller: Principal, place: RunPlace, body: ResolveQuestion, key: str | None
) -> RunDetail:
    given = key_for_receipt(services, caller, key, body.idempotency_key)
    resolution = read_resolution(body.resolution.model_dump())
    return services.runs.questions.resolve(caller, place, resolution, idempotency_key=given)


def _state(state: RequestState | None, *, everything: bool) -> RequestState | None:
    return None if everything else state or RequestState.PENDING
