"""OpenAI's API over the agents; `openai.types` is imported with the first call."""

from string import punctuation
from typing import Annotated, Final
from urllib.parse import quote

from fastapi import APIRouter, Header, Path, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from understudy.api.extras import module_with
from understudy.api.gate import GatedRoute
from understudy.api.openai_door import (
    OpenAIDoor,
    OpenAIRequest,
    answer_of,
    ended_well,
    run_id_of,
)
from understudy.api.operations import client, reader
from understudy.api.services import Caller, Services, open_streams_of
from understudy.api.sse import stream_response
from understudy.api.submissions import AcceptLanguage, settled
from understudy.core.errors import coded_error
from understudy.core.page import PageRequest
from understudy.runs.service import RunDetail
from understudy.wire.openai import ChatBody, ResponsesBody

router = APIRouter(tags=["doors"], route_class=GatedRoute)
# Not in our OpenAPI document: the shapes are OpenAI's, and described there.
PREFIX: Final = "/openai/v1"
ONE: Final = PREFIX + "/responses/{response_id}"
MAX_BYTES: Final = 4 * 1024 * 1024
MAX_MODELS: Final = 1_000
IdempotencyKey = Annotated[str | None, Header()]
ResponseId = Annotated[str, Path()]


@router.get(PREFIX + "/models", operation_id="openai.models", include_in_schema=False)
@reader()
def models(services: Services) -> Response:
    """The agents, as models."""
    wire = module_with("openai")
    agents = services.agents.service.page(PageRequest(limit=MAX_MODELS)).items
    data = ",".join(wire.text_of(wire.model_of(agent)) for agent in agents)
    return _json(f'{{"object":"list","data":[{data}]}}')


@router.get(PREFIX + "/models/{model}", operation_id="openai.model", include_in_schema=False)
@reader()
def model(model: Annotated[str, Path()], services: Services) -> Response:
    """One agent, as a model."""
    wire = module_with("openai")
    with services.resources.units.read() as unit:
        agent = unit.agents.get(model)
    if agent is None:
        raise coded_error("openai/model_not_found", model=model)
    return _json(wire.text_of(wire.model_of(agent)))


@router.post(PREFIX + "/chat/completions", operation_id="openai.chat", include_in_schema=False)
@client(action="runs.submit", own_receipts=True, max_body_bytes=MAX_BYTES)
async def chat(
    body: ChatBody,
    services: Services,
    caller: Caller,
    request: Request,
    idempotency_key: IdempotencyKey = None,
    accept_language: AcceptLanguage = None,
) -> Response:
    """A run of an agent as a chat completion."""
    wire = await run_in_threadpool(module_with, "openai")
    door, asked = OpenAIDoor(services, caller, str(request.base_url)), OpenAIRequest.of_chat(body)
    streams = open_streams_of(request)
    streams.check_room(caller.user_id)
    submitted = await run_in_threadpool(door.submit, asked, idempotency_key, accept_language)
    if body.stream:
        with_usage = bool(body.stream_options and body.stream_options.include_usage)
        speaker = wire.ChatSpeaker(submitted.run, with_usage)
        return _marked(stream_response(door.follow(submitted, speaker, asked)), submitted)
    with streams.counted(caller.user_id):
        detail = ended_well(await settled(services, request, submitted))
    waits = door.waits(detail)
    await run_in_threadpool(door.keep, asked, detail.run, answer_of(detail, waits))
    return _marked(_json(wire.text_of(wire.completion_of(detail, waits))), detail)


@router.post(PREFIX + "/responses", operation_id="openai.respond", include_in_schema=False)
@client(action="runs.submit", own_receipts=True, max_body_bytes=MAX_BYTES)
async def respond(
    body: ResponsesBody,
    services: Services,
    caller: Caller,
    request: Request,
    idempotency_key: IdempotencyKey = None,
    accept_language: AcceptLanguage = None,
) -> Response:
    """A run of an agent as a response."""
    wire = await run_in_threadpool(module_with, "openai")
    door = OpenAIDoor(services, caller, str(request.base_url))
    asked, streams = OpenAIRequest.of_response(body), open_streams_of(request)
    streams.check_room(caller.user_id)
    detail = await run_in_threadpool(door.submit, asked, idempotency_key, accept_language)
    if body.stream:
        speaker = wire.ResponseSpeaker(detail)
        return _marked(stream_response(door.follow(detail, speaker, asked)), detail)
    if not body.background:
        with streams.counted(caller.user_id):
            detail = await settled(services, request, detail)
    waits = door.waits(detail)
    if not body.background:
        await run_in_threadpool(door.keep, asked, detail.run, answer_of(detail, waits))
    return _marked(_json(wire.text_of(wire.response_of(detail, waits))), detail)


@router.get(ONE, operation_id="openai.response", include_in_schema=False)
@reader()
async def response(
    response_id: ResponseId,
    services: Services,
    caller: Caller,
    request: Request,
    stream: Annotated[bool, Query()] = False,
    starting_after: Annotated[int | None, Query()] = None,
) -> Response:
    """A run as it is now, or from its beginning on."""
    wire = await run_in_threadpool(module_with, "openai")
    if starting_after is not None:
        raise coded_error("openai/stream_from_start", pointer="/starting_after")
    door = OpenAIDoor(services, caller, str(request.base_url))
    run_id = run_id_of(response_id)
    detail = await run_in_threadpool(services.runs.service.get, run_id)
    if stream:
        speaker = wire.ResponseSpeaker(detail)
        return _marked(stream_response(door.follow(detail, speaker, None)), detail)
    return _marked(_json(wire.text_of(wire.response_of(detail, door.waits(detail)))), detail)


@router.post(ONE + "/cancel", operation_id="openai.cancel", include_in_schema=False)
@client(action="runs.cancel")
def cancel(response_id: ResponseId, services: Services, caller: Caller) -> Response:
    """Stop a run for good; one that has ended is answered as it is."""
    wire = module_with("openai")
    detail = services.runs.service.cancel(caller, run_id_of(response_id))
    return _marked(_json(wire.text_of(wire.response_of(detail, None))), detail)


def _json(text: str) -> Response:
    return Response(text, media_type="application/json")


def _marked(answer: Response, detail: RunDetail) -> Response:
    """The answer with its run and session in headers."""
    answer.headers["x-understudy-run-id"] = detail.run.run_id
    # A caller's id may have letters that no header can carry.
    session_id = quote(detail.run.session_id, safe=punctuation)
    answer.headers["x-understudy-session-id"] = session_id
    return answer
