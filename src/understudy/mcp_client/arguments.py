"""Arguments of a tool whose parameters are a JSON schema.

Only the names and the outermost types are checked here. The schema is the server's, and a schema
can be written so that checking against it takes for ever; the server checks the rest itself.
"""

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticCustomError

from understudy.mcp_client.model import JsonObject

MAX_SHOWN: Final = 5


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


CHECKS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "number": _is_number,
    "integer": lambda value: _is_number(value) and value == value // 1,
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "null": lambda value: value is None,
}


def problems_of(schema: JsonObject, arguments: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the arguments, as far as one look tells."""
    properties: Mapping[str, JsonObject] = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in arguments:
            yield f"{name}: is required"
    if schema.get("additionalProperties") is False:
        for name in arguments.keys() - properties.keys():
            yield f"{name[:40]!r}: is not a parameter of this tool"
    for name, part in properties.items():
        types = part.get("type", ())
        wanted = (types,) if isinstance(types, str) else tuple(types)
        if (
            name in arguments
            and wanted
            and not any(CHECKS[kind](arguments[name]) for kind in wanted)
        ):
            yield f"{name}: must be {' or '.join(wanted)}"


def arguments_model(schema: JsonObject) -> type[BaseModel]:
    """A model that takes what the schema describes, and describes itself by it."""

    class Arguments(BaseModel):
        """The arguments as they were given."""

        model_config = ConfigDict(extra="allow", frozen=True)

        @model_validator(mode="before")
        @classmethod
        def _fits(cls, given: Any) -> Any:
            wrong = [] if not isinstance(given, Mapping) else list(problems_of(schema, given))
            if wrong:
                said = "; ".join(wrong[:MAX_SHOWN])
                raise PydanticCustomError("unfit", "{said}", {"said": said})
            return given

        @classmethod
        def model_json_schema(cls, *_: Any, **__: Any) -> dict[str, Any]:
            """The server's schema, as it was rebuilt."""
            return deepcopy(dict(schema))

    return Arguments
