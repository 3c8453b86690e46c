"""Masks HTTP answers by the caller's sight, streams included."""

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any, Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from understudy.api.operations import SAFE_METHODS
from understudy.core.sight import WHOLE, Sight, current_sight
from understudy.wire.veil import veil

if TYPE_CHECKING:
    from understudy.daemon.services import Services

TEXTS: Final = ("application/json", "text/", "application/problem+json")
BAD_REQUEST: Final = 400


async def veiled(request: Request, services: "Services", answer: Response) -> Response:
    """The answer masked for its caller; ids that the request names stay."""
    sight = current_sight.get()
    if sight == WHOLE or not (answer.media_type or "").startswith(TEXTS):
        return answer
    if isinstance(answer, StreamingResponse):
        answer.body_iterator = _chunks(services, sight, answer.body_iterator)
        return answer
    asked = await _asked(request, is_read=answer.status_code < BAD_REQUEST)
    body = await run_in_threadpool(_veiled, services, sight, bytes(answer.body), asked)
    if body != answer.body:
        answer.body = body
        answer.headers["content-length"] = str(len(body))
    return answer


async def _asked(request: Request, *, is_read: bool) -> str:
    """The text of the request, which an answer may repeat; a successful read repeats nothing."""
    if request.method not in SAFE_METHODS:
        return (await request.body()).decode(errors="replace") + "\n".join(_named(request))
    return "" if is_read else "\n".join(_named(request))


def _named(request: Request) -> Iterator[str]:
    yield from map(str, request.path_params.values())
    yield from request.query_params.values()


async def _chunks(services: "Services", sight: Sight, chunks: Any) -> AsyncIterator[bytes]:
    async for chunk in chunks:
        yield await run_in_threadpool(_veiled, services, sight, chunk)


def _veiled(services: "Services", sight: Sight, body: bytes, asked: str = "") -> bytes:
    text = body.decode(errors="replace")
    shown = veil(services.resources.units, sight, text, asked)
    return body if shown is text else shown.encode()
