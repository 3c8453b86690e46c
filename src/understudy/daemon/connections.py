"""Connections of the web server: timeouts for sending and reading, and their maximum number."""

from asyncio import TimerHandle, Transport
from collections.abc import Sequence
from resource import RLIMIT_NOFILE, getrlimit
from typing import Final

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from understudy.ws.limits import LIMITS, MAX_FRAME_BYTES, PING_S, PONG_S

STREAM_GRACE_S: Final = 3
# Longer than the common HTTP clients keep an idle connection (httpx 5 s, aiohttp 15 s): a server that
# closes first meets the next request, which then ends without an answer.
KEEP_ALIVE_S: Final = 30
# File descriptors that the daemon needs besides connections: database, blobs, programs.
RESERVED_FILES: Final = 256
MAX_CONNECTIONS: Final = 4_000
# How long a closed connection may take to flush its last bytes.
FLUSH_S: Final = 2.0
HEAD_S: Final = 10.0
TIMED_OUT: Final = (408, f"the headers of a request must arrive within {HEAD_S:.0f} seconds")
FULL: Final = (503, "too many connections are open; try again in a moment")


class ImpatientHttp(H11Protocol):
    """HTTP with timeouts for clients that stop sending a request or reading an answer.

    uvicorn only limits the pause between two requests. Bodies that a route reads are limited in
    `api/limits.py`, where the caller can still get an error.
    """

    # Timeout from the first byte of a request (or the start of the connection) to its last header;
    # also for the rest of an unread body.
    head_s = HEAD_S
    # Write timeout: how long an answer may wait for a client that reads nothing.
    write_s = 60.0
    max_connections = MAX_CONNECTIONS

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._head_timer: TimerHandle | None = None
        self._write_timer: TimerHandle | None = None
        self._has_asked = False
        files, _ = getrlimit(RLIMIT_NOFILE)
        if len(self.connections) > min(self.max_connections, max(files - RESERVED_FILES, 1)):
            self._refuse(*FULL)
        self._watch_request()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._watch_request()
        self.resume_writing()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch_request()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch_request()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._write_timer is None:
            self._write_timer = self.loop.call_later(self.write_s, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def _watch_request(self) -> None:
        """Start the timer when the client owes a part of a request, stop it when it does not."""
        self._has_asked = self._has_asked or self.conn.their_state is not h11.IDLE
        is_owed = not self.transport.is_closing() and self._is_owed()
        if is_owed and self._head_timer is None:
            self._head_timer = self.loop.call_later(self.head_s, self._give_up)
        elif not is_owed and self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _is_owed(self) -> bool:
        if self.conn.their_state is h11.IDLE:
            return not self._has_asked or bool(self.conn.trailing_data[0])
        # The rest of a body after its answer, which is not read.
        return self.conn.their_state is h11.SEND_BODY and self.conn.our_state is h11.DONE

    def _give_up(self) -> None:
        if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            self._refuse(*TIMED_OUT)
        else:
            self.transport.close()
        self.loop.call_later(FLUSH_S, self.transport.abort)

    def _refuse(self, status: int, reason: str) -> None:
        """Answer before a request is complete, and close."""
        headers = [
            ("Content-Type", "text/plain; charset=utf-8"),
            ("Content-Length", str(len(reason))),
            ("Retry-After", "1"),
            ("Connection", "close"),
        ]
        answer: tuple[h11.Event, ...] = (
            h11.Response(status_code=status, headers=headers),
            h11.Data(data=reason.encode()),
            h11.EndOfMessage(),
        )
        self.transport.write(b"".join(self.conn.send(part) or b"" for part in answer))
        self.transport.close()


class ImpatientWebSocket(WebSocketsSansIOProtocol):
    """Closes the connection of a client that reads nothing, instead of waiting with unsent data."""

    give_up_s = LIMITS.write_timeout_s

    async def run_asgi(self) -> None:
        await super().run_asgi()
        self._give_up()

    def keepalive_timeout(self) -> None:
        super().keepalive_timeout()
        self._give_up()

    def _give_up(self) -> None:
        # Does nothing if it is closed by then.
        self.loop.call_later(self.give_up_s, self.transport.abort)


def server_config(app: ASGIApp, trusted_proxies: Sequence[str] = ()) -> uvicorn.Config:
    """The settings of uvicorn for an app; from others `X-Forwarded-*` headers do not count."""
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        proxy_headers=bool(trusted_proxies),
        forwarded_allow_ips=list(trusted_proxies),
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=STREAM_GRACE_S,
        http=ImpatientHttp,
        ws=ImpatientWebSocket,
        ws_max_size=MAX_FRAME_BYTES,
        ws_ping_interval=PING_S,
        ws_ping_timeout=PONG_S,
        # Compression bombs; and compressed lengths could reveal secrets.
        ws_per_message_deflate=False,
    )
