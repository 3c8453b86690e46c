"""OpenTelemetry: traces and logs of agents that other programs run."""

from collections.abc import Callable
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from understudy.api import otlp
from understudy.api.gate import GatedRoute, media_type_of
from understudy.api.operations import client
from understudy.api.services import Caller, Services, long_bodies_of
from understudy.core.principal import Principal
from understudy.foreign.signals import Reported, Told, of_log, of_span

router = APIRouter(tags=["doors"], route_class=GatedRoute)
BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {
            otlp.PROTOBUF: {"schema": {"type": "string", "format": "binary"}},
            otlp.JSON: {"schema": {"type": "object"}},
        },
    }
}
ANSWER: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "What was taken, in the form of the request",
        "content": {
            otlp.PROTOBUF: {"schema": {"type": "string", "format": "binary"}},
            otlp.JSON: {"schema": {"type": "object"}},
        },
    }
}


@router.post(
    "/otlp/v1/traces",
    operation_id="otlp.traces",
    response_class=Response,
    openapi_extra=BODY,
    responses=ANSWER,
)
@client(max_body_bytes=otlp.MAX_BYTES, media_types=otlp.MEDIA_TYPES)
async def traces(request: Request, services: Services, caller: Caller) -> Response:
    """Take spans of agents: GenAI conventions and OpenInference; a trace becomes a turn.

    A trace is recorded shortly after its root span came, or when it was quiet for a minute. Spans of
    anything else are taken and left unread.
    """
    return await _taken(request, services, caller, _traces, of_span)


@router.post(
    "/otlp/v1/logs",
    operation_id="otlp.logs",
    response_class=Response,
    openapi_extra=BODY,
    responses=ANSWER,
)
@client(max_body_bytes=otlp.MAX_BYTES, media_types=otlp.MEDIA_TYPES)
async def logs(request: Request, services: Services, caller: Caller) -> Response:
    """Take log records of agents: events of Claude Code and Codex, and messages of spans.

    Records of anything else are taken and left unread.
    """
    return await _taken(request, services, caller, _logs, of_log)


def _traces() -> otlp.ExportKind:
    # Loaded at the first export: it takes a tenth of a second.
    from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as service

    return otlp.ExportKind(
        export=service.ExportTraceServiceRequest(),
        answer=service.ExportTraceServiceResponse(),
        signals=otlp.spans_of,
        rejected="rejectedSpans",
    )


def _logs() -> otlp.ExportKind:
    from opentelemetry.proto.collector.logs.v1 import logs_service_pb2 as service

    return otlp.ExportKind(
        export=service.ExportLogsServiceRequest(),
        answer=service.ExportLogsServiceResponse(),
        signals=otlp.logs_of,
        rejected="rejectedLogRecords",
    )


async def _taken(
    request: Request,
    services: Services,
    caller: Principal,
    make: Callable[[], otlp.ExportKind],
    read: Callable[[Reported], Told | None],
) -> Response:
    body = await request.body()
    media_type = media_type_of(request)
    encoding = request.headers.get("content-encoding", "").strip().lower()

    def take() -> Response:
        kind = make()
        otlp.read_export(body, media_type=media_type, encoding=encoding, into=kind.export)
        told, rejected = _told(kind, read)
        rejected += services.telemetry.keep(caller, told)
        return otlp.answer(kind, media_type=media_type, rejected=rejected)

    # Parsers hold the interpreter while they run, so one export is read at a time.
    async with long_bodies_of(request):
        return await run_in_threadpool(take)


def _told(kind: otlp.ExportKind, read: Callable[[Reported], Told | None]) -> tuple[list[Told], int]:
    told, rejected = list[Told](), 0
    for signal in kind.signals(kind.export):
        if not otlp.is_named(signal):
            rejected += 1
            continue
        try:
            found = read(signal)
        except RecursionError:
            rejected += 1
            continue
        if found:
            told.append(found)
    return told, rejected
