"""Masks JSON and text answers of callers who see only part of the records."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from understudy.api.operations import SAFE_METHODS
from understudy.core.visibility import UNRESTRICTED, current_visibility
from understudy.wire.masking import masked

if TYPE_CHECKING:
    from understudy.daemon.services import Services

JSON_TYPES: Final = ("application/json", "application/problem+json")
BAD_REQUEST: Final = 400


async def masked_answer(request: Request, services: "Services", answer: Response) -> Response:
    """The answer masked for its caller; ids that the request names stay. Streams mask their events."""
    media_type = answer.media_type or ""
    is_json = media_type.startswith(JSON_TYPES)
    if (
        current_visibility.get() == UNRESTRICTED
        or isinstance(answer, StreamingResponse)
        or not (is_json or media_type.startswith("text/"))
    ):
        return answer
    asked = await _asked(request, is_read=answer.status_code < BAD_REQUEST)
    body = await run_in_threadpool(_masked, services, bytes(answer.body), asked, is_json=is_json)
    if body != answer.body:
        answer.body = body
        answer.headers["content-length"] = str(len(body))
    return answer


def _masked(services: "Services", body: bytes, asked: str, *, is_json: bool) -> bytes:
    text = body.decode(errors="replace")
    answer = json.loads(text) if is_json and text else text
    shown = masked(services.resources.units, answer, asked)
    if shown == answer:
        return body
    return bytes(JSONResponse(shown).body) if is_json else shown.encode()


async def _asked(request: Request, *, is_read: bool) -> str:
    """The text of the request, which an answer may repeat; a successful read repeats nothing."""
    if request.method not in SAFE_METHODS:
        return (await request.body()).decode(errors="replace") + "\n".join(_named(request))
    return "" if is_read else "\n".join(_named(request))


def _named(request: Request) -> Iterator[str]:
    yield from map(str, request.path_params.values())
    yield from request.query_params.values()
