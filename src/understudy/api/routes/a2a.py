"""Agent2Agent over the agents; its library is imported with the first call."""

import logging
from typing import Any, Final, cast

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from understudy import __version__
from understudy.api.extras import module_with
from understudy.api.gate import GatedRoute
from understudy.api.operations import anyone, client, reader
from understudy.api.problems import A2A_PATH
from understudy.api.services import Caller, open_streams_of

router = APIRouter(tags=["doors"], route_class=GatedRoute)
CARD: Final[dict[str, Any]] = {
    "name": "Understudy",
    "description": "Agents that learn under review; what waits for a person says where to decide.",
    "version": __version__,
    "capabilities": {"streaming": True, "pushNotifications": False, "extendedAgentCard": False},
    "securitySchemes": {"token": {"httpAuthSecurityScheme": {"scheme": "bearer"}}},
    "securityRequirements": [{"schemes": {"token": {"list": []}}}],
    **{it: ["text/plain"] for it in ("defaultInputModes", "defaultOutputModes")},
    "skills": [{"id": "run", "name": "Run", "description": "Does a task", "tags": ["agent"]}],
}
SUBMITTING: Final = ("SendMessage", "SendStreamingMessage", "CancelTask")


# Not in our OpenAPI document: the shapes are the protocol's, and described there.
@router.get("/.well-known/agent-card.json", operation_id="a2a.card", include_in_schema=False)
@anyone()
async def card(request: Request) -> Response:
    """What the daemon is, and where tasks are sent."""
    url = str(request.base_url) + A2A_PATH[1:]
    binding = {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    return JSONResponse({**CARD, "supportedInterfaces": [binding]})


@router.post(A2A_PATH, operation_id="a2a.call", include_in_schema=False)
@reader(max_body_bytes=4 * 1024 * 1024)
async def call(request: Request, caller: Caller) -> Response:
    """A method of the protocol."""
    asked = await request.json()
    if isinstance(asked, dict) and asked.get("method") in SUBMITTING:
        client().admit(caller)
    open_streams_of(request).check_room(caller.user_id)
    library = await run_in_threadpool(module_with, "a2a")
    # Its log quotes what was sent.
    logging.getLogger("a2a").setLevel(logging.CRITICAL)
    return cast("Response", await library.answer_of(request))
