"""MCP over HTTP at `/mcp`: authentication as for the API, then the library serves the request."""

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from understudy.access.browsers import refuse_other_sites
from understudy.api.gate import identify, require_ready
from understudy.api.in_process import InProcessCalls
from understudy.api.limits import MAX_BODY_BYTES, bounded
from understudy.api.problems import language_of
from understudy.api.services import services_of
from understudy.core.principal import Principal
from understudy.i18n.locales import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from understudy.mcp.tools import Calls

PATH: Final = "/mcp"


class McpEndpoint:
    """Serves each request by itself: nothing of a client is kept between two of them."""

    # How the audit names a request that is refused here.
    action: Final = "mcp.request"

    def __init__(self, app: FastAPI) -> None:
        self._calls = InProcessCalls(app)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        services = services_of(request)
        # Browsers let any site send requests to this machine.
        refuse_other_sites(request.headers)
        caller = await run_in_threadpool(identify, request, services)
        request.state.principal = caller
        require_ready(services)
        language = language_of(scope) or caller.locale or DEFAULT
        # Read here, so that an error on the way is answered as everywhere.
        body = await Request(scope, bounded(scope, receive, MAX_BODY_BYTES)).body()
        calls = partial(self._call, caller, language)
        await serve(calls, scope, _replayed(body, receive), send)

    async def _call(
        self,
        caller: Principal,
        language: str,
        operation: str,
        /,
        *,
        body: object = None,
        key: str | None = None,
        **values: object,
    ) -> Any:
        given = {name: str(value) for name, value in values.items()}
        return await self._calls.call(
            caller, operation, given, body=body, language=language, key=key
        )


def _replayed(body: bytes, rest: Receive) -> Receive:
    messages = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> Message:
        return next(messages, None) or await rest()

    return receive


async def serve(calls: "Calls", scope: Scope, receive: Receive, send: Send) -> None:
    """Have the library serve one request, without a session."""
    manager = (await run_in_threadpool(_loaded))(calls)
    async with manager.run():
        await manager.handle_request(scope, receive, send)


def warm_up() -> None:
    """Load the library before the first request."""
    _loaded()


def _loaded() -> "Callable[[Calls], StreamableHTTPSessionManager]":
    """The library: half a second that no start needs, and memory that an idle daemon does not."""
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from understudy.mcp.server import McpHandlers

    return lambda calls: StreamableHTTPSessionManager(
        McpHandlers(calls).built(), json_response=True, stateless=True
    )


def mount(app: FastAPI) -> None:
    """Mount the endpoint at `/mcp` of an app."""
    app.router.routes.append(Route(PATH, McpEndpoint(app), methods=["POST"], name="mcp"))
