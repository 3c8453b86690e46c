"""The WebSocket endpoint: checks of the origin, and the connection quota."""

from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from fastapi import FastAPI
from starlette.responses import Response
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from understudy.access.browsers import refuse_other_sites
from understudy.core.errors import Rejected, Unavailable, UnderstudyError
from understudy.wire.problem import MEDIA_TYPE, TYPE_PREFIX, Problem
from understudy.ws.connection import WebSocketConnection
from understudy.ws.limits import LIMITS, Limits
from understudy.ws.quota import ConnectionQuota

if TYPE_CHECKING:
    from understudy.daemon.services import Services

PATH: Final = "/ws"
STATUS: Final[Mapping[type[UnderstudyError], int]] = {Rejected: 403, Unavailable: 503}


class WebSocketEndpoint:
    """Accepts connections within the quota."""

    def __init__(self, services: "Services", limits: Limits) -> None:
        self._services = services
        self._limits = limits
        self._quota = ConnectionQuota(limits)

    async def serve(self, socket: WebSocket) -> None:
        """Serve one connection to its end, or refuse it before it is accepted."""
        with ExitStack() as stack:
            try:
                # Browsers let any site open a socket and read from it: check the origin (CSRF).
                refuse_other_sites(socket.headers)
                slot = stack.enter_context(self._quota.enter())
            except (Rejected, Unavailable) as error:
                await socket.send_denial_response(_denial(error))
                return
            await socket.accept()
            await WebSocketConnection(socket, self._services, slot, self._limits).serve()


def mount(app: FastAPI, services: "Services", limits: Limits = LIMITS) -> None:
    """Mount the endpoint at `/ws` of an app."""
    app.router.routes.append(
        WebSocketRoute(PATH, WebSocketEndpoint(services, limits).serve, name="ws")
    )


def _denial(error: UnderstudyError) -> Response:
    status = STATUS[type(error)]
    problem = Problem(
        type=TYPE_PREFIX + error.code,
        title=error.code.replace("_", " ").capitalize(),
        status=status,
        detail=error.detail,
        code=error.code,
        domain=error.domain,
    )
    return Response(problem.model_dump_json(), status_code=status, media_type=MEDIA_TYPE)
