"""The OpenAPI document: the routes, plus their shared parts."""

from collections.abc import Mapping
from threading import Lock
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import iter_route_contexts
from pydantic import TypeAdapter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from understudy.api.gate import GatedRoute
from understudy.api.idempotency import keeps_answers
from understudy.api.operations import Operation
from understudy.core.records import OMITTED_MARK
from understudy.runtime.two_people import WaitingForSecond
from understudy.wire.problem import MEDIA_TYPE, Problem

TITLE: Final = "Understudy"
# The version of the API, not of the daemon.
VERSION: Final = "1"
METHODS: Final = frozenset({"get", "put", "post", "delete", "patch"})
SCHEMA_PREFIX: Final = "#/components/schemas/"
WAITING_REF: Final = {"$ref": f"{SCHEMA_PREFIX}WaitingForSecond"}
PROBLEM_REF: Final = {"$ref": f"{SCHEMA_PREFIX}Problem"}
IDEMPOTENCY_KEY: Final = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "a repeat under the same key gets the first answer again",
    "schema": {"type": "string", "maxLength": 256},
}


class ServedDocument:
    """The OpenAPI document of an app, built on first use. Only its text is cached: the tree takes
    many times the memory.
    """

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._lock = Lock()
        self._text: bytes | None = None

    # Not a coroutine, so it runs in a thread: building takes a second or two.
    def answer(self, _: Request) -> Response:
        """Answer a request for the document."""
        return Response(self.text(), media_type="application/json")

    def text(self) -> bytes:
        """The document as JSON."""
        with self._lock:
            if self._text is None:
                self._text = bytes(JSONResponse(document_of(self._app)).body)
            return self._text


def document_of(app: FastAPI) -> dict[str, Any]:
    """The document of an app."""
    document = get_openapi(title=app.title, version=app.version, routes=app.routes)
    _add_components(document["components"])
    _require_what_is_sent(document)
    routes = (context.original_route for context in iter_route_contexts(app.routes))
    declared = {
        each.operation_id: each.operation for each in routes if isinstance(each, GatedRoute)
    }
    for path in document["paths"].values():
        for method, operation in path.items():
            if method in METHODS:
                _complete(method, operation, declared[operation["operationId"]])
    return document


def _require_what_is_sent(document: dict[str, Any]) -> None:
    """Mark every field of an answer as required, even with a default, unless it may be omitted."""
    schemas = document["components"]["schemas"]
    operations = [each for path in document["paths"].values() for each in path.values()]
    asked = _named_in([each.get("requestBody") for each in operations], schemas)
    for name, schema in schemas.items():
        fields: dict[str, Any] = schema.get("properties", {})
        optional = {field for field, each in fields.items() if each.pop(OMITTED_MARK, False)}
        if fields and name not in asked:
            schema["required"] = [field for field in fields if field not in optional]
            for field in fields.values():
                field.pop("default", None)


def _named_in(tree: Any, schemas: Mapping[str, Any]) -> set[str]:
    """The names of the schemas that a part of the document refers to, transitively."""
    names: set[str] = set()
    parts = [tree]
    while parts:
        part = parts.pop()
        if isinstance(part, list):
            parts += part
        elif isinstance(part, dict):
            parts += part.values()
            name = str(part.get("$ref", "")).removeprefix(SCHEMA_PREFIX)
            if name in schemas and name not in names:
                names.add(name)
                parts.append(schemas[name])
    return names


def _add_components(components: dict[str, Any]) -> None:
    schemas = components["schemas"]
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    problem = Problem.model_json_schema(ref_template=SCHEMA_PREFIX + "{model}")
    schemas.update(problem.pop("$defs", {}))
    schemas["Problem"] = problem
    waiting = TypeAdapter(WaitingForSecond).json_schema(ref_template=SCHEMA_PREFIX + "{model}")
    schemas.update(waiting.pop("$defs", {}))
    schemas["WaitingForSecond"] = waiting
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}


def _complete(method: str, operation: dict[str, Any], needs: Operation) -> None:
    operation["responses"].pop("422", None)
    operation["responses"]["default"] = {
        "description": "Why it was not done",
        "content": {MEDIA_TYPE: {"schema": PROBLEM_REF}},
    }
    operation["security"] = [] if needs.role is None else [{"token": []}]
    if needs.role is not None:
        operation["x-role"] = needs.role.value
        if needs.by_client:
            operation["x-clients"] = True
    if needs.two is not None:
        operation["responses"]["202"] = {
            "description": "It waits for a second person",
            "content": {"application/json": {"schema": WAITING_REF}},
        }
    if method == "post" and keeps_answers(needs):
        operation.setdefault("parameters", []).append(IDEMPOTENCY_KEY)
