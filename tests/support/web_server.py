"""Small web servers on this machine that remember who came."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Answer:
    """What a server says to a GET."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "text/plain"})


@dataclass
class WebServer:
    """A running server; `seen` has the path and headers of every request."""

    port: int
    seen: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)
    connections: int = 0


@contextmanager
def web_server(
    answer: Callable[[str], Answer], tls: ssl.SSLContext | None = None
) -> Iterator[WebServer]:
    """Serve on a loopback port of its own; `answer` is given the path."""
    state = WebServer(port=0)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.seen.append((self.path, dict(self.headers)))
            said = answer(self.path)
            self.send_response(said.status)
            for name, value in said.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(said.body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        def get_request(self) -> tuple[socket.socket, Any]:
            state.connections += 1
            return super().get_request()

        def handle_error(self, *_: object) -> None:
            """A client that leaves early is no error here."""

    server = Server(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    state.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
