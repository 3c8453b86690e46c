"""The way into every route: who calls, may they, is the body sound, was it asked before."""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from understudy.api.auth import identify
from understudy.api.idempotency import answer_once, claim_of
from understudy.api.methods import without_stream
from understudy.api.operations import SAFE_METHODS, Operation, operation_named
from understudy.api.parts import AppParts, parts_of
from understudy.api.strict import StrictRequest, check_text
from understudy.core.errors import Invalid, Unavailable

Handler = Callable[[Request], Coroutine[Any, Any, Response]]
MAX_PATH_ID_CHARS: Final = 500
# What is searched for may be as long as an input; who searches says how much they take.
MAX_CHARS: Final[Mapping[str, int]] = {"query": 16_000}
DOMAIN_READINESS: Final = "readiness"


class GatedRoute(APIRoute):
    """A route behind the gate. Nothing of the body is read before the caller is known."""

    def get_route_handler(self) -> Handler:
        inner = super().get_route_handler()
        operation_id = self.operation_id or ""
        operation = operation_named(operation_id, frozenset(self.methods or ()))

        async def handle(request: Request) -> Response:
            parts = parts_of(request)
            await _admit(request, parts, operation)
            strict = StrictRequest(request.scope, request.receive)
            _check_address(strict)
            await _read_body(strict)
            claim = claim_of(strict, operation_id)
            if claim is None:
                return without_stream(request.scope, await inner(strict))
            return await answer_once(parts, claim, lambda: inner(strict))

        return handle


async def _admit(request: Request, parts: AppParts, operation: Operation) -> None:
    """Know the caller, check the role, and take no new work while stopping."""
    if operation.role is None:
        return
    principal = await run_in_threadpool(identify, request, parts)
    request.state.principal = principal
    principal.require(operation.role)
    if request.method not in SAFE_METHODS:
        require_ready(parts)


def require_ready(parts: AppParts) -> None:
    """Raise unless the daemon takes work."""
    reason = parts.readiness()
    if reason is not None:
        raise Unavailable(
            f"daemon_{reason}", domain=DOMAIN_READINESS, detail=f"the daemon is {reason}"
        )


def _check_address(request: Request) -> None:
    """Refuse ids and queries that nothing could have been stored under."""
    for name, value in (*request.path_params.items(), *request.query_params.multi_items()):
        check_text(name, (name,))
        check_text(str(value), (name,))
        if len(str(value)) > MAX_CHARS.get(name, MAX_PATH_ID_CHARS):
            raise Invalid("value_too_long", domain="api", pointer=f"/{name}", detail="too long")


async def _read_body(request: StrictRequest) -> None:
    if request.method in SAFE_METHODS:
        return
    body = await request.body()
    if not body:
        return
    if not request.has_json:
        raise Invalid(
            "unsupported_media_type",
            domain="api",
            detail="send JSON, with Content-Type: application/json",
        )
    request.state.body = await request.json()
