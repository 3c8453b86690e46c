"""Streams of events."""

import asyncio
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import StreamingResponse

from understudy.api.gate import GatedRoute
from understudy.api.operations import viewer
from understudy.api.services import RunId, Services, SessionId
from understudy.api.sse import (
    first_place,
    follow_all,
    follow_session,
    resume_state,
    stream_response,
    stream_run,
    wanted_place,
    wanted_position,
)

router = APIRouter(tags=["streams"], route_class=GatedRoute)
Cursor = Annotated[str | None, Query(description="the id of the last event received")]
# An event as parsed by a browser: the data are JSON, and a heartbeat has no id.
EVENT: Final = {
    "type": "object",
    "properties": {
        "event": {"type": "string"},
        "id": {"type": "string"},
        "data": {
            "type": "string",
            "contentMediaType": "application/json",
            "contentSchema": {"type": "object"},
        },
    },
}
EVENT_STREAM: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "Server-sent events; `Last-Event-ID` takes up where a reader left off",
        # OpenAPI 3.1 has no schema for stream events (3.2 has `itemSchema`), hence an extension.
        "content": {"text/event-stream": {"x-event-schema": EVENT}},
    }
}


@router.get(
    "/v1/runs/{run_id}/stream",
    operation_id="runs.stream",
    response_class=StreamingResponse,
    responses=EVENT_STREAM,
)
@viewer()
async def follow_run(
    run_id: RunId,
    services: Services,
    request: Request,
    cursor: Cursor = None,
) -> StreamingResponse:
    """Stream the events of a run, from its beginning to its end."""
    position = wanted_position(request, cursor)
    run = (await asyncio.to_thread(services.runs.service.get, run_id)).run
    telling = await asyncio.to_thread(resume_state, services, run_id, run.session_id, position)
    return stream_response(stream_run(services, run_id, run.session_id, telling))


@router.get(
    "/v1/sessions/{session_id}/stream",
    operation_id="sessions.stream",
    response_class=StreamingResponse,
    responses=EVENT_STREAM,
)
@viewer()
async def stream_session(
    session_id: SessionId,
    services: Services,
    request: Request,
    cursor: Cursor = None,
) -> StreamingResponse:
    """Stream the events of a session from now on, or after the cursor."""
    position = wanted_position(request, cursor)
    session = await asyncio.to_thread(services.sessions.get, session_id)
    after = session.journal_length if position is None else position.offset
    return stream_response(follow_session(services, session_id, after))


@router.get(
    "/v1/events/stream",
    operation_id="events.stream",
    response_class=StreamingResponse,
    responses=EVENT_STREAM,
)
@viewer()
async def stream_events(
    services: Services, request: Request, cursor: Cursor = None
) -> StreamingResponse:
    """Stream the events of all sessions from now on, or after the cursor."""
    asked = wanted_place(request, cursor)
    after = await asyncio.to_thread(first_place, services, asked)
    return stream_response(follow_all(services, after))
