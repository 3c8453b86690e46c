"""Middleware of every request: request id, HEAD and OPTIONS, browser headers, no stack traces."""

from typing import Final

import structlog
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import Response, StreamingResponse
from starlette.routing import Match, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from understudy.api.answer_headers import add_headers, request_id_of
from understudy.api.problems import INTERNAL, refusal_of
from understudy.core.audit import current_request_id
from understudy.core.errors import UnderstudyError
from understudy.core.trace_context import HEADER, current_traceparent, valid_traceparent
from understudy.telemetry.metrics import Metrics

log = structlog.get_logger()

METHODS: Final = ("DELETE", "GET", "PATCH", "POST", "PUT")
# Set in the scope of a HEAD request, which the routes see as GET.
IS_HEAD: Final = "understudy.is_head"


class Envelope:
    """Sets the request id, counts the request, and answers unhandled errors."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = request_id_of(scope)
        token = current_request_id.set(request_id)
        current_traceparent.set(valid_traceparent(Headers(scope=scope).get(HEADER)))
        answered = False

        async def dressed(message: Message) -> None:
            nonlocal answered
            if message["type"] == "http.response.start":
                answered = True
                add_headers(message, request_id)
                self._metrics.http_answered(scope["method"], status=message["status"])
            await send(message)

        try:
            await self._app(scope, receive, dressed)
        except ClientDisconnect:
            log.debug("http.caller_left", method=scope["method"], path=scope["path"])
        except Exception as error:  # noqa: BLE001 - the edge: a caller gets an answer, the log the rest
            _log(error, scope)
            if not answered:
                await refusal_of(error).answer(scope)(scope, receive, dressed)
        finally:
            current_request_id.reset(token)


def _log(error: Exception, scope: Scope) -> None:
    refusal = refusal_of(error)
    if refusal.reason == INTERNAL:
        log.error("http.failed", method=scope["method"], path=scope["path"], exc_info=error)
    elif not isinstance(error, UnderstudyError):
        log.warning("http.unavailable", reason=refusal.reason, error=type(error).__name__)


class HeadAndOptions:
    """Answers OPTIONS, and routes HEAD like GET; servers send no body to HEAD."""

    def __init__(self, app: ASGIApp, *, router: Router) -> None:
        self._app = app
        self._router = router

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "HEAD":
            scope = {**scope, "method": "GET", IS_HEAD: True}
        elif scope["type"] == "http" and scope["method"] == "OPTIONS":
            allowed = allow_header(self._router, scope)
            if allowed is not None:
                await Response(status_code=204, headers={"Allow": allowed})(scope, receive, send)
                return
        await self._app(scope, receive, send)


def allow_header(router: Router, scope: Scope) -> str | None:
    """The `Allow` header of a path; None if the path does not exist."""
    taken = {method for method in METHODS if _takes(router, {**scope, "method": method})}
    if not taken:
        return None
    return ", ".join(sorted(taken | {"OPTIONS"} | ({"HEAD"} if "GET" in taken else set())))


def _takes(router: Router, scope: Scope) -> bool:
    return any(route.matches(scope)[0] is Match.FULL for route in router.routes)


def without_stream(scope: Scope, response: Response) -> Response:
    """The answer to HEAD for a stream: its headers only."""
    if not scope.get(IS_HEAD) or not isinstance(response, StreamingResponse):
        return response
    kept = Headers(raw=response.raw_headers)
    return Response(status_code=response.status_code, headers=dict(kept))
