"""The operations of the API as pages use them: called in this process, described for forms."""

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
    """The API of a daemon, with what pages and forms need to know of each operation."""

    def __init__(self, app: FastAPI) -> None:
        super().__init__(app)
        self._schemas: dict[str, Mapping[str, Any]] = {}

    def changing(self, operation: str) -> str:
        """The name of an operation that changes something; one that reads may never end."""
        if SAFE_METHODS.issuperset(self._route(operation).methods or ()):
            raise HTTPException(404)
        return operation

    def role_of(self, operation: str) -> Role:
        """The role that an operation asks for."""
        return self._route(operation).operation.role or Role.VIEWER

    def secrets_of(self, operation: str) -> tuple[str, ...]:
        """The fields of an operation's answer that are shown this once."""
        return self._route(operation).operation.secret

    def ids_of(self, operation: str) -> frozenset[str]:
        """The names of the ids in the path of an operation."""
        return frozenset(self._route(operation).param_convertors)

    def twin_of(self, operation: str, values: Mapping[str, str]) -> str:
        """The address of the JSON that a page shows."""
        path, rest = self.path_of(operation, values)
        return f"{path}?{urlencode(rest)}" if rest else path

    def filters(self, operation: str) -> tuple[FormField, ...]:
        """The parameters of a list's query, but for its pages."""
        return tuple(
            field_of(name, kind)
            for name, kind in query_parameters(self._route(operation).dependant)
            if name not in ("limit", "cursor")
        )

    def fields(self, operation: str) -> tuple[FormField, ...]:
        """The fields of the body that an operation takes."""
        body = self._route(operation).body_field
        return () if body is None else fields_of(body.field_info.annotation)

    def schema(self, operation: str) -> Mapping[str, Any]:
        """The JSON schema of the body that an operation takes, without references."""
        if operation not in self._schemas:
            self._schemas[operation] = _schema_of(self._route(operation))
        return self._schemas[operation]

    def description(self, operation: str) -> str:
        """What an operation does, in the words of the API description."""
        return self._route(operation).description

    def actions(self, item: str) -> tuple[str, ...]:
        """The operations that change the thing which `item` reads."""
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
