"""In-process calls of operations, through the same gate as HTTP calls."""

import asyncio
import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Final
from urllib.parse import quote, unquote, urlencode

from fastapi import FastAPI
from fastapi.middleware.asyncexitstack import AsyncExitStackMiddleware
from starlette.exceptions import HTTPException
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import Request
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from understudy.api.gate import PRINCIPAL, GatedRoute
from understudy.api.middleware import Envelope
from understudy.core.principal import Principal

JSON: Final = b"application/json"
# In the scope of a call: the route of its operation.
ROUTE: Final = "understudy.route"
# What is told of a form that is passed on.
FORM_HEADERS: Final = (b"content-type", b"content-length")


class OperationRefused(Exception):
    """An operation answered with a problem document."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        super().__init__(problem.get("detail"))
        self.status = status
        self.problem = problem


class InProcessCalls:
    """The operations of an app by name. Every call passes the gate: role, limits, audit."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._routes: dict[str, GatedRoute] = {}
        for route in app.router.routes:
            if isinstance(route, GatedRoute):
                self._routes.setdefault(route.name_of_operation, route)

    @cached_property
    def _stack(self) -> ASGIApp:
        """What stands around every route, without the search for a route: a call knows its own."""
        app = self._app
        handled = ExceptionMiddleware(
            AsyncExitStackMiddleware(_handle), handlers=app.exception_handlers
        )
        return Envelope(handled, metrics=app.state.services.metrics)

    def path_of(self, operation: str, values: Mapping[str, str]) -> tuple[str, dict[str, str]]:
        """The path of an operation with its ids filled in, and the remaining values."""
        path, rest = self._route(operation).path, dict(values)
        for name in self._route(operation).param_convertors:
            path = path.replace("{" + name + "}", quote(rest.pop(name, ""), safe=""))
            path = path.replace("{" + name + ":path}", quote(values.get(name, "")))
        return path, rest

    async def call(
        self,
        caller: Principal,
        operation: str,
        values: Mapping[str, str],
        *,
        body: object = None,
        language: str,
        key: str | None = None,
    ) -> Any:
        """Call an operation and return its answer; raises `OperationRefused` for a problem.

        `values` are path parameters; the rest becomes the query. `key` is its idempotency key.
        """
        sent = b"" if body is None else json.dumps(body).encode()
        headers = [(b"content-type", JSON), (b"content-length", str(len(sent)).encode())]
        if key is not None:
            headers.append((b"idempotency-key", key.encode()))
        scope = self._scope(caller, operation, values, headers, language)
        return await self._answer(scope, _receive_of(sent))

    async def forward(
        self, caller: Principal, operation: str, request: Request, language: str
    ) -> Any:
        """Call an operation that takes a form with the unparsed body of a request.

        The operation limits the size of the body, and refuses one that is no form.
        """
        headers = [each for each in request.headers.raw if each[0] in FORM_HEADERS]
        scope = self._scope(caller, operation, {}, headers, language)
        return await self._answer(scope, request.receive)

    def takes_form(self, operation: str) -> bool:
        """Whether the body of an operation is a multipart form."""
        return bool(self._route(operation).operation.form)

    def _scope(
        self,
        caller: Principal,
        operation: str,
        values: Mapping[str, str],
        headers: Iterable[tuple[bytes, bytes]],
        language: str,
    ) -> Scope:
        path, query = self.path_of(operation, values)
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": next(iter(self._route(operation).methods or {"GET"})),
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": urlencode(query, doseq=True).encode(),
            "root_path": "",
            "headers": [*headers, (b"accept-language", language.encode())],
            "client": None,
            "server": None,
            "state": {},
            "app": self._app,
            PRINCIPAL: caller,
            ROUTE: self._route(operation),
        }

    async def _answer(self, scope: Scope, receive: Receive) -> Any:
        status, answer = await _exchange(self._stack, scope, receive)
        parsed = json.loads(answer) if answer else None
        if status >= 400:
            raise OperationRefused(status, parsed or {})
        return parsed

    def _route(self, operation: str) -> GatedRoute:
        route = self._routes.get(operation)
        if route is None:
            raise HTTPException(404)
        return route


def _receive_of(sent: bytes) -> Receive:
    is_sent = False

    async def receive() -> Message:
        nonlocal is_sent
        if is_sent:
            # An in-process caller never disconnects.
            await asyncio.Event().wait()
        is_sent = True
        return {"type": "http.request", "body": sent, "more_body": False}

    return receive


async def _handle(scope: Scope, receive: Receive, send: Send) -> None:
    route: GatedRoute = scope[ROUTE]
    match, of_route = route.matches(scope)
    if match is not Match.FULL:
        raise HTTPException(404)
    scope.update(of_route)
    await route.handle(scope, receive, send)


async def _exchange(app: ASGIApp, scope: Scope, receive: Receive) -> tuple[int, bytes]:
    status, parts = 500, list[bytes]()

    async def send(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        elif message["type"] == "http.response.body":
            parts.append(message.get("body", b""))

    await app(scope, receive, send)
    return status, b"".join(parts)
