"""Runs."""

from functools import partial
from typing import Annotated, Final

from fastapi import APIRouter, Header, Path, Query, Request
from fastapi.responses import PlainTextResponse

from understudy.api.gate import GatedRoute
from understudy.api.idempotency import key_for_receipt
from understudy.api.limits import LARGE_BODY_BYTES
from understudy.api.operations import admin, client, operator, viewer
from understudy.api.paging import Paging, items, offset_of
from understudy.api.services import Caller, RunId, Services, SessionId
from understudy.api.submissions import AcceptLanguage, answer_inline, submission_of
from understudy.api.views.runs import run_event_view, run_view
from understudy.core.page import Page, encode_cursor
from understudy.runs.artifacts import Artifact
from understudy.runs.model import DebugRequest, RunStatus
from understudy.runs.service import RunDetail
from understudy.wire.base import Items
from understudy.wire.events import RunEventView
from understudy.wire.runs import RunCounts, RunView, SubmitInput
from understudy.wire.sessions import SessionView

router = APIRouter(tags=["runs"], route_class=GatedRoute)
ArtifactId = Annotated[str, Path(description="id of the artifact")]
IdempotencyKey = Annotated[
    str | None, Header(description="a repeat under the same key finds the first run again")
]
InSession = Annotated[str | None, Query(description="only of this session")]
OfAgent = Annotated[str | None, Query(description="only of this agent")]
ONE: Final = "/v1/runs/{run_id}"


@router.post("/v1/sessions/{session_id}/runs", operation_id="runs.submit", status_code=202)
@client(own_receipts=True, max_body_bytes=LARGE_BODY_BYTES)
def submit(
    session_id: SessionId,
    body: SubmitInput,
    services: Services,
    caller: Caller,
    idempotency_key: IdempotencyKey = None,
    accept_language: AcceptLanguage = None,
) -> RunView:
    """Queue a run; it starts when the runs before it in the session have ended."""
    submission = submission_of(body, accept_language=accept_language)
    key = key_for_receipt(services, caller, idempotency_key, body.idempotency_key)
    submitted = services.runs.service.submit(caller, session_id, submission, idempotency_key=key)
    return run_view(submitted, caller)


@router.post("/v1/sessions/{session_id}/input", operation_id="sessions.input")
@operator(action="runs.submit", own_receipts=True, max_body_bytes=LARGE_BODY_BYTES)
async def submit_inline(
    session_id: SessionId,
    body: SubmitInput,
    services: Services,
    caller: Caller,
    request: Request,
    idempotency_key: IdempotencyKey = None,
    accept_language: AcceptLanguage = None,
) -> SessionView:
    """Run at once in an idle session, and answer when the run has ended."""

    def act() -> RunDetail:
        submission = submission_of(body, accept_language=accept_language)
        key = key_for_receipt(services, caller, idempotency_key, body.idempotency_key)
        return services.runs.service.submit(
            caller, session_id, submission, idempotency_key=key, needs_idle=True
        )

    return await answer_inline(services, request, act)


@router.get("/v1/runs", operation_id="runs.list")
@viewer()
def list_runs(
    services: Services,
    caller: Caller,
    page: Paging,
    session_id: InSession = None,
    agent_id: OfAgent = None,
    status: Annotated[list[RunStatus] | None, Query(description="one or more")] = None,
) -> Items[RunView]:
    """List runs, newest first."""
    found = services.runs.service.page(
        page, session_id=session_id, agent_id=agent_id, statuses=tuple(status or ())
    )
    return items(found, partial(run_view, reader=caller))


@router.get("/v1/runs/counts", operation_id="runs.counts")
@viewer()
def counts(services: Services, session_id: InSession = None, agent_id: OfAgent = None) -> RunCounts:
    """Count the runs of each status."""
    found = services.runs.service.counts(session_id=session_id, agent_id=agent_id)
    return RunCounts(total=sum(found.values()), statuses=found)


@router.get(ONE, operation_id="runs.get")
@viewer(by_client=True)
def get(run_id: RunId, services: Services, caller: Caller) -> RunView:
    """Show a run."""
    return run_view(services.runs.service.get(run_id), caller)


@router.get(ONE + "/events", operation_id="runs.events")
@viewer()
def events(run_id: RunId, services: Services, page: Paging) -> Items[RunEventView]:
    """Show all events of a run, in order."""
    agent_id = services.runs.service.get(run_id).run.agent_id
    found = services.runs.service.events(run_id, after_offset=offset_of(page), limit=page.limit)
    return Items(
        items=[run_event_view(event, agent_id=agent_id) for event in found.events],
        next_cursor=encode_cursor((found.events[-1].offset,)) if found.more else None,
    )


@router.post(ONE + "/cancel", operation_id="runs.cancel")
@operator()
def cancel(run_id: RunId, services: Services, caller: Caller) -> RunView:
    """Stop a run for good; a run that has ended is answered as it is."""
    return run_view(services.runs.service.cancel(caller, run_id), caller)


@router.get(ONE + "/debug", operation_id="runs.debug")
@admin()
def debug(run_id: RunId, services: Services, page: Paging) -> Page[DebugRequest]:
    """List the provider requests of a run, redacted, where debug capture was on."""
    return Page.cut(services.runs.service.debug(run_id), page)


@router.get(ONE + "/artifacts", operation_id="runs.artifacts")
@viewer()
def artifacts(run_id: RunId, services: Services, page: Paging) -> Page[Artifact]:
    """List the full results of a run's tools, where the model was shown only a part."""
    return Page.cut(services.runs.service.artifacts(run_id), page)


@router.get(ONE + "/artifacts/{artifact_id}", operation_id="runs.artifact")
@viewer()
def artifact(
    run_id: RunId, artifact_id: ArtifactId, services: Services, caller: Caller
) -> PlainTextResponse:
    """Show the text of a tool result; for admins also of a captured request or an input file."""
    return PlainTextResponse(services.runs.service.artifact(caller, run_id, artifact_id))


@router.get(ONE + "/debug/artifacts/{artifact_id}", operation_id="runs.debug_artifact")
@admin()
def debug_artifact(
    run_id: RunId, artifact_id: ArtifactId, services: Services, caller: Caller
) -> PlainTextResponse:
    """Show the text of a captured request, a tool result or an input file."""
    return artifact(run_id, artifact_id, services, caller)
