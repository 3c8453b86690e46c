"""The table that commands are declared with: the arguments of each call, with their descriptions."""

import inspect
import json
import types
from typing import Annotated, Any, Final, Union, get_args, get_origin

from client_operations import (
    AS_ARGUMENTS,
    BODIES,
    GROUPS,
    MAX_ARGUMENTS,
    NAMES,
    NOT_ARGUMENTS,
    _fields_of,
    _page_name,
    _parameters,
    answer_of,
    routes,
)

PLAIN: Final = {str: "text", int: "number", bool: "switch"}
PAGE: Final = ("limit", "cursor")


def commands_json() -> str:
    """The calls by the names that they have in the client."""
    table = dict(sorted(_entry(route) for route in routes()))
    lines = [f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in table.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _entry(route: Any) -> tuple[str, dict[str, Any]]:
    operation = route.operation_id or ""
    group, _, name = NAMES.get(operation, operation).rpartition(".")
    path, query, body = _parameters(route.dependant)
    method = next(iter(route.methods))
    has_pages = {*PAGE} <= {each.alias for each in query}
    if has_pages and {"items", "next_cursor"} <= _fields_of(answer_of(route)):
        name = _page_name(name)
    arguments = [_argument(each.name, each.field_info, "path") for each in path]
    if method not in ("GET", "DELETE") and body:
        arguments += _body(operation, body[0].field_info)
    asked = [each for each in query if not (has_pages and each.alias in PAGE)]
    arguments += [_argument(each.name, each.field_info, "query") for each in asked]
    words = " ".join((inspect.getdoc(route.endpoint) or "").split("\n\n")[0].split())
    entry: dict[str, Any] = {"help": words, "arguments": arguments}
    if has_pages:
        entry["pages"] = True
    if method == "POST":
        entry["key"] = True
    return f"{GROUPS.get(group, group)}.{name}", entry


def _body(operation: str, info: Any) -> list[dict[str, Any]]:
    kind = (get_args(info.annotation) or (info.annotation,))[0]
    fields = {
        name: each
        for name, each in getattr(kind, "model_fields", {}).items()
        if name not in NOT_ARGUMENTS
    }
    few = kind.__name__ in AS_ARGUMENTS or len(fields) <= MAX_ARGUMENTS
    if operation in BODIES or not few:
        return [{"name": "body", "in": "body", "type": "record"}]
    return [_argument(each.alias or name, each, "body") for name, each in fields.items()]


def _argument(name: str, info: Any, place: str) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name, "in": place, "type": _type(info.annotation)}
    if info.is_required():
        found["required"] = True
    if info.description:
        found["help"] = info.description
    return found


def _type(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type(arguments[0])
    if origin in (Union, types.UnionType):
        kinds = {_type(each) for each in arguments if each is not type(None)}
        return kinds.pop() if len(kinds) == 1 else "text"
    if origin in (list, tuple):
        return "texts"
    if isinstance(annotation, type) and issubclass(annotation, str):
        return "text"
    return PLAIN.get(annotation, "record")
