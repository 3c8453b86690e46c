"""The operations of the API for pages: called in process, and described for forms."""

from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import FastAPI
from pydantic import TypeAdapter
from starlette.exceptions import HTTPException

from understudy.api.gate import GatedRoute, query_parameters
from understudy.api.in_process import InProcessCalls
from understudy.api.operations import SAFE_METHODS
from understudy.console.documents import without_references
from understudy.console.forms import FormField, field_of, fields_of
from understudy.core.principal import Role


class Surface(InProcessCalls):
    """The API of a daemon, with the metadata of each operation that pages and forms need."""

    def __init__(self, app: FastAPI) -> None:
        super().__init__(app)
        self._schemas: dict[str, Mapping[str, Any]] = {}

    def changing(self, operation: str) -> str:
        """The name of an operation that writes; 404 for one that reads, which may never end."""
        if SAFE_METHODS.issuperset(self._route(operation).methods or ()):
            raise HTTPException(404)
        return operation

    def role_of(self, operation: str) -> Role:
        """The role that an operation requires."""
        return self._route(operation).operation.role or Role.VIEWER

    def secrets_of(self, operation: str) -> tuple[str, ...]:
        """The fields of an operation's answer that are shown only once."""
        return self._route(operation).operation.secret

    def ids_of(self, operation: str) -> frozenset[str]:
        """The path parameters of an operation."""
        return frozenset(self._route(operation).param_convertors)

    def twin_of(self, operation: str, values: Mapping[str, Any]) -> str:
        """The URL of an operation with these values."""
        path, rest = self.path_of(operation, values)
        return f"{path}?{urlencode(rest, doseq=True)}" if rest else path

    def filters(self, operation: str) -> tuple[FormField, ...]:
        """The query parameters of a list operation, without `limit` and `cursor`."""
        return tuple(
            field_of(name, kind)
            for name, kind in query_parameters(self._route(operation).dependant)
            if name not in ("limit", "cursor")
        )

    def fields(self, operation: str) -> tuple[FormField, ...]:
        """The fields of an operation's request body."""
        body = self._route(operation).body_field
        return () if body is None else fields_of(body.field_info.annotation)

    def schema(self, operation: str) -> Mapping[str, Any]:
        """The JSON schema of the body that an operation takes, without references."""
        if operation not in self._schemas:
            self._schemas[operation] = _schema_of(self._route(operation))
        return self._schemas[operation]

    def description(self, operation: str) -> str:
        """The description of an operation in the API document."""
        return self._route(operation).description

    def actions(self, item: str) -> tuple[str, ...]:
        """The operations that change the resource which `item` reads."""
        under = self._route(item).path
        return tuple(
            name
            for name, route in self._routes.items()
            if (route.path == under or route.path.rpartition("/")[0] == under)
            and "GET" not in (route.methods or ())
        )


def _schema_of(route: GatedRoute) -> Mapping[str, Any]:
    body = route.body_field
    if body is None:
        return {}
    info = body.field_info
    # The schema of a body that is read by hand stands beside its type.
    kind: Any = Annotated[(info.annotation, None, *info.metadata)]
    made = TypeAdapter(kind).json_schema()
    found: Mapping[str, Any] = without_references(made, made.get("$defs", {}))
    return found
