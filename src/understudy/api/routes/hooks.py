"""Hooks of coding agents: their own event in, their own answer out."""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Body, Path
from starlette.concurrency import run_in_threadpool

from understudy.api.gate import GatedRoute
from understudy.api.operations import client
from understudy.api.services import Caller, Services
from understudy.core.records import JsonObject
from understudy.core.strict_json import parse_mended
from understudy.foreign.hook_events import HookTool

router = APIRouter(tags=["doors"], route_class=GatedRoute)
# A tool's answer may be long; what is kept of it is not.
MAX_EVENT_BYTES: Final = 16 * 1024 * 1024


@router.post("/v1/hooks/{tool}", operation_id="hooks.post")
@client(max_body_bytes=MAX_EVENT_BYTES, parse=parse_mended)
async def post(
    tool: Annotated[HookTool, Path(description="the coding agent that sends its events")],
    event: Annotated[JsonObject, Body(description="the event, as the tool sends it")],
    services: Services,
    caller: Caller,
) -> dict[str, Any]:
    """Answer a hook event in the tool's own shape.

    The start of a session and a prompt are answered with reviewed learnings; the turn is recorded
    when it ends. An event that is unknown is kept with the turn and answered with an empty object.
    """
    return await run_in_threadpool(services.hooks.answer, caller, tool, event)
