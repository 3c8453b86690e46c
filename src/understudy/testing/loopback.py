"""A small HTTP/1.1 server in its own thread, for synchronous tests."""

import asyncio
import contextlib
import json
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """One received request; header names are lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(slots=True)
class HttpReply:
    """The response to one request."""

    writer: asyncio.StreamWriter
    is_open: bool = field(default=True)

    async def whole(
        self,
        body: bytes,
        *,
        status: int = 200,
        content_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Send a complete body."""
        more = {"Content-Length": str(len(body))} | dict(headers or {})
        self.writer.write(_head(status, content_type, more) + body)
        await self.writer.drain()

    async def document(
        self, document: object, *, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        """Send JSON."""
        await self.whole(json.dumps(document).encode(), status=status, headers=headers)

    async def begin_stream(self) -> None:
        """Begin a stream of server-sent events."""
        self.writer.write(_head(200, "text/event-stream", {"Transfer-Encoding": "chunked"}))

    async def send(self, piece: bytes) -> None:
        """Send one chunk of the stream."""
        self.writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        await self.writer.drain()

    async def end_stream(self) -> None:
        """End the stream properly."""
        self.writer.write(b"0\r\n\r\n")
        await self.writer.drain()

    def drop(self) -> None:
        """Close the connection, whatever the client still expects."""
        self.is_open = False
        self.writer.close()


Respond = Callable[[HttpRequest, HttpReply], Awaitable[None]]


class LoopbackServer:
    """Serves on 127.0.0.1 from a background thread until it is stopped."""

    def __init__(self, respond: Respond, *, port: int = 0) -> None:
        self._respond = respond
        self.port = port
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """The base URL of the server."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Listen; port 0 is replaced by a free one."""
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()

    def stop(self) -> None:
        """Drop every connection and end the thread."""
        if self._loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(self._shut(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, action: Callable[[], None]) -> None:
        """Run an action on the server's thread, and wait for it."""

        async def act() -> None:
            action()

        asyncio.run_coroutine_threadsafe(act(), self._loop).result()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _shut(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = self._loop.create_task(self._converse(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Disconnects of clients are normal in these tests.
        gone = (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError)
        try:
            with contextlib.suppress(*gone):
                reply = HttpReply(writer)
                while reply.is_open:
                    await self._respond(await _read_request(reader), reply)
        finally:
            writer.close()


async def _read_request(reader: asyncio.StreamReader) -> HttpRequest:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.split("\r\n")
    method, path, _ = first.split(" ", 2)
    pairs = (line.split(":", 1) for line in lines if line)
    headers = {name.lower(): value.strip() for name, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return HttpRequest(method=method, path=path, headers=headers, body=body)


def _head(status: int, content_type: str, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", f"Content-Type: {content_type}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
