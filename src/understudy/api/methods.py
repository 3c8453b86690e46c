"""HEAD and OPTIONS for every path, and which methods a path takes."""

from typing import Final

from starlette.datastructures import Headers
from starlette.responses import Response, StreamingResponse
from starlette.routing import Match, Router
from starlette.types import ASGIApp, Receive, Scope, Send

METHODS: Final = ("DELETE", "GET", "PATCH", "POST", "PUT")
# Set in the scope of a HEAD request, which the routes see as the GET it stands for.
IS_HEAD: Final = "understudy.is_head"


class Methods:
    """Answers OPTIONS, and lets HEAD in wherever GET is; servers send no body to HEAD."""

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
    """All methods that a path takes; None when there is no such path."""
    taken = {method for method in METHODS if _takes(router, {**scope, "method": method})}
    if not taken:
        return None
    return ", ".join(sorted(taken | {"OPTIONS"} | ({"HEAD"} if "GET" in taken else set())))


def _takes(router: Router, scope: Scope) -> bool:
    return any(route.matches(scope)[0] is Match.FULL for route in router.routes)


def without_stream(scope: Scope, response: Response) -> Response:
    """The answer to HEAD where GET would be told a stream: its headers alone."""
    if not scope.get(IS_HEAD) or not isinstance(response, StreamingResponse):
        return response
    kept = Headers(raw=response.raw_headers)
    return Response(status_code=response.status_code, headers=dict(kept))
