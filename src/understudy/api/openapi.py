"""The OpenAPI document: the routes as they are, plus what they have in common."""

from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from understudy.api.operations import OPERATIONS, canonical
from understudy.wire.problem import MEDIA_TYPE, Problem

TITLE: Final = "Understudy"
# The version of the API, not of the daemon.
VERSION: Final = "1"
METHODS: Final = frozenset({"get", "put", "post", "delete", "patch"})
PROBLEM_REF: Final = {"$ref": "#/components/schemas/Problem"}
IDEMPOTENCY_KEY: Final = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "a repeat under the same key gets the first answer again",
    "schema": {"type": "string", "maxLength": 256},
}


def document_of(app: FastAPI) -> dict[str, Any]:
    """The document of an app, made once."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, routes=app.routes)
        _add_components(document["components"])
        for path in document["paths"].values():
            for method, operation in path.items():
                if method in METHODS:
                    _complete(method, operation)
        app.openapi_schema = document
    return app.openapi_schema


def _add_components(components: dict[str, Any]) -> None:
    schemas = components["schemas"]
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas.update(problem.pop("$defs", {}))
    schemas["Problem"] = problem
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}


def _complete(method: str, operation: dict[str, Any]) -> None:
    needs = OPERATIONS[canonical(operation["operationId"])]
    operation["responses"].pop("422", None)
    operation["responses"]["default"] = {
        "description": "Why it was not done",
        "content": {MEDIA_TYPE: {"schema": PROBLEM_REF}},
    }
    operation["security"] = [] if needs.role is None else [{"token": []}]
    if needs.role is not None:
        operation["x-role"] = needs.role.value
    if method == "post" and not needs.own_receipts:
        operation.setdefault("parameters", []).append(IDEMPOTENCY_KEY)
