"""A pooler in transaction mode in front of PostgreSQL, for tests of what a daemon may rely on there.

Each transaction of a client gets the server connection that rested longest, so never that of the one
before while others are there, and whatever a transaction leaves behind in its session is discarded.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

SSL_REQUEST, GSS_REQUEST, CANCEL_REQUEST = 80877103, 80877104, 80877102
# Messages that the server answers with `ReadyForQuery`.
ANSWERED = (b"Q", b"S", b"F")
GONE = (asyncio.IncompleteReadError, ConnectionError)


@contextmanager
def transaction_pooler(url: str) -> Iterator[str]:
    """Serve until the end of the block; yields the URL of the same database behind the pooler."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    pooler = Pooler(parts.hostname, parts.port)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = asyncio.run_coroutine_threadsafe(pooler.listen(), loop).result(30)
    port = server.sockets[0].getsockname()[1]
    login, _, _ = parts.netloc.rpartition("@")
    try:
        yield urlunsplit(parts._replace(netloc=f"{login}@127.0.0.1:{port}"))
    finally:
        asyncio.run_coroutine_threadsafe(pooler.close(server), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@dataclass
class Wire:
    """One side: a connection that carries messages of a type, a length and a body."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def read(self) -> tuple[bytes, bytes]:
        """The next message: its type, and all of it."""
        head = await self.reader.readexactly(5)
        return head[:1], head + await self.reader.readexactly(int.from_bytes(head[1:]) - 4)

    async def read_start(self) -> tuple[int, bytes]:
        """The first message of a client, which has no type: its code, and all of it."""
        length = await self.reader.readexactly(4)
        body = await self.reader.readexactly(int.from_bytes(length) - 4)
        return int.from_bytes(body[:4]), length + body

    def write(self, message: bytes) -> None:
        self.writer.write(message)


@dataclass
class Client:
    """A client, and the server connection that its transaction has."""

    wire: Wire
    server: Wire | None = None
    # Answers that are due, and whether it has sent something that awaits its `Sync`.
    due: int = 0
    is_within: bool = False


@dataclass
class Pooler:
    """Lends server connections to clients, one transaction at a time."""

    host: str
    port: int
    idle: deque[Wire] = field(default_factory=deque)
    freed: asyncio.Condition = field(default_factory=asyncio.Condition)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    wires: list[Wire] = field(default_factory=list)

    async def listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._accept, "127.0.0.1", 0)

    async def close(self, server: asyncio.Server) -> None:
        server.close()
        for task in tuple(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        for wire in self.wires:
            wire.writer.close()
            with suppress(*GONE):
                await wire.writer.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._begin(self._serve(Client(self._wire(reader, writer))))

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.ensure_future(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def _wire(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Wire:
        self.wires.append(Wire(reader, writer))
        return self.wires[-1]

    async def _serve(self, client: Client) -> None:
        try:
            if await self._login(client.wire):
                await self._forward(client)
        except GONE:
            pass
        finally:
            client.wire.writer.close()
            # One connection less is needed; that of an open transaction is the one.
            spare = client.server or (self.idle.popleft() if self.idle else None)
            if spare is not None:
                spare.writer.close()

    async def _login(self, wire: Wire) -> bool:
        """Let the server check who it is, on a connection that joins the others then."""
        code, message = await wire.read_start()
        while code in (SSL_REQUEST, GSS_REQUEST):
            wire.write(b"N")
            code, message = await wire.read_start()
        if code == CANCEL_REQUEST:
            return False
        # As others of its kind do: it would hold for the session.
        if b"\0options\0" in message:
            refusal = b"SFATAL\0C08P01\0Munsupported startup parameter: options\0\0"
            wire.write(b"E" + (len(refusal) + 4).to_bytes(4) + refusal)
            return False
        server = self._wire(*await asyncio.open_connection(self.host, self.port))
        server.write(message)
        kind = b""
        while kind != b"Z":
            kind, message = await server.read()
            wire.write(message)
            # The kinds of authentication that want an answer: here only a password in plain text.
            if kind == b"R" and message[5:9] == (3).to_bytes(4):
                server.write((await wire.read())[1])
        await self._give_back(server)
        return True

    async def _forward(self, client: Client) -> None:
        while True:
            kind, message = await client.wire.read()
            if kind == b"X":
                return
            if client.server is None:
                client.server = await self._take()
                self._begin(self._answer(client, client.server))
            client.due += kind in ANSWERED
            client.is_within = kind not in ANSWERED
            client.server.write(message)

    async def _answer(self, client: Client, server: Wire) -> None:
        with suppress(*GONE):
            while client.server is server:
                kind, message = await server.read()
                if kind == b"Z":
                    client.due -= 1
                    if message[5:] == b"I" and not client.due and not client.is_within:
                        client.server = None
                client.wire.write(message)
            await self._give_back(server)
            return
        client.wire.writer.close()

    async def _take(self) -> Wire:
        async with self.freed:
            await self.freed.wait_for(lambda: len(self.idle) > 0)
            return self.idle.popleft()

    async def _give_back(self, server: Wire) -> None:
        query = b"DISCARD ALL\0"
        server.write(b"Q" + (len(query) + 4).to_bytes(4) + query)
        while (await server.read())[0] != b"Z":
            pass
        async with self.freed:
            self.idle.append(server)
            self.freed.notify()
