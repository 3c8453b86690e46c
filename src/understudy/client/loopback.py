"""Calls to a daemon of this machine with the standard library alone, one connection for each."""

import json
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPMessage
from typing import Any, Self
from urllib.parse import urlencode

from understudy.client.address import (
    ANSWER_TIMEOUT_S,
    CONNECT_TIMEOUT_S,
    HEADER_VALUE,
    authorization,
    on_loopback,
)
from understudy.client.calls import HttpCall
from understudy.client.errors import UnreachableError, unreachable_because


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopbackAnswer:
    """What the daemon answered."""

    status_code: int
    headers: HTTPMessage
    content: bytes

    @property
    def is_success(self) -> bool:
        """Whether the status says so."""
        return 200 <= self.status_code < 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Loopback:
    """A daemon of this machine."""

    url: str
    host: str
    port: int
    path: str
    headers: Mapping[str, str]

    @classmethod
    def at(cls, url: str, token: str | None) -> Self | None:
        """The daemon at an address; None if it takes more than the standard library to reach it."""
        found = on_loopback(url)
        if found is None:
            return None
        return cls(
            url=url,
            host=found["host"].strip("[]"),
            port=int(found["port"]),
            path=found["path"],
            headers=authorization(token),
        )

    def takes(self, call: HttpCall[Any]) -> bool:
        """Whether a call can be sent: no form, and a key that a header can hold."""
        key = call.idempotency_key
        return call.upload is None and (key is None or HEADER_VALUE.fullmatch(key) is not None)

    def send(self, call: HttpCall[Any], *, timeout_s: float = ANSWER_TIMEOUT_S) -> LoopbackAnswer:
        """Send a call once; `UnreachableError` where nobody answers."""
        query = urlencode(call.query, doseq=True)
        target = self.path + call.path + (f"?{query}" if query else "")
        headers = {"Accept": "*/*", "Connection": "close", **self.headers}
        if call.idempotency_key:
            headers["Idempotency-Key"] = call.idempotency_key
        body = None
        if call.body is not None:
            text = json.dumps(call.body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
            body, headers["Content-Type"] = text.encode(), "application/json"
        with closing(HTTPConnection(self.host, self.port, timeout=CONNECT_TIMEOUT_S)) as http:
            try:
                http.connect()
                http.sock.settimeout(timeout_s)
                http.request(call.method, target, body, headers)
                response = http.getresponse()
                return LoopbackAnswer(
                    status_code=response.status, headers=response.headers, content=response.read()
                )
            except (OSError, HTTPException) as problem:
                raise UnreachableError(self.url, unreachable_because(problem)) from problem
