"""A daemon on a real port that answers each path with a fixed document."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedRequest:
    """One request as it came."""

    method: str
    target: str
    headers: Message
    body: bytes


@contextmanager
def tiny_daemon(
    answers: Mapping[str, Any], *, status: int = 200
) -> Iterator[tuple[str, list[AskedRequest]]]:
    """Its address, and the requests that it got; a path without an answer is a 404."""
    asked: list[AskedRequest] = []

    class Answer(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            asked.append(
                AskedRequest(
                    method=self.command,
                    target=self.path,
                    headers=self.headers,
                    body=self.rfile.read(length),
                )
            )
            path = self.path.partition("?")[0]
            content = json.dumps(answers.get(path, {"code": "gone", "status": 404})).encode()
            self.send_response(status if path in answers else 404)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
