"""How the web server is set up: what it waits for, and what it takes."""

from typing import Final

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from understudy.ws.limits import LIMITS, MAX_FRAME_BYTES, PING_S, PONG_S

STREAM_GRACE_S: Final = 3


class ImpatientWebSocket(WebSocketsSansIOProtocol):
    """Lets go of a client that takes nothing, instead of waiting for it with what is unsent."""

    give_up_s = LIMITS.write_s

    async def run_asgi(self) -> None:
        await super().run_asgi()
        self._give_up()

    def keepalive_timeout(self) -> None:
        super().keepalive_timeout()
        self._give_up()

    def _give_up(self) -> None:
        # Where it is closed by then, this does nothing.
        self.loop.call_later(self.give_up_s, self.transport.abort)


def server_config(app: FastAPI) -> uvicorn.Config:
    """The settings of uvicorn for an app."""
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=STREAM_GRACE_S,
        ws=ImpatientWebSocket,
        ws_max_size=MAX_FRAME_BYTES,
        ws_ping_interval=PING_S,
        ws_ping_timeout=PONG_S,
        # A few bytes could grow to a frame; and what is secret must not show in lengths.
        ws_per_message_deflate=False,
    )
