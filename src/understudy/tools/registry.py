"""The registry of tools, and the validation of their arguments."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn

from pydantic import BaseModel, ValidationError

from understudy.core.mistakes import words_of
from understudy.core.strict_json import no_constant
from understudy.core.text import ELLIPSIS, and_more, preview
from understudy.tools.base import Tool, ToolError, schema_of

MAX_ARGUMENT_CHARS: Final = 8 * 1024 * 1024
MAX_SHOWN_ERRORS: Final = 5
NEAR_CHARS: Final = 30
NAME_CHARS: Final = 40
MAX_WIRE_CHARS: Final = 64
SEPARATOR: Final = "__"
HASH_CHARS: Final = 10
MAX_QUOTED_CHARS: Final = 40
_UNFIT: Final = re.compile(r"[^a-zA-Z0-9_-]")


class ToolRegistry:
    """Finds tools by name; their schemas are made when they are first needed."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        if len(self._tools) != len(tools):
            raise ValueError("two tools have the same name")
        self._by_wire_name = {wire_name(name): name for name in self._tools}
        if len(self._by_wire_name) != len(tools):
            raise ValueError("two tools have the same name for models")

    def names(self) -> tuple[str, ...]:
        """Every tool's name, in the order they were given."""
        return tuple(self._tools)

    def all(self) -> tuple[Tool, ...]:
        """Every tool, in the order they were given."""
        return tuple(self._tools.values())

    def extended(self, tools: Sequence[Tool]) -> "ToolRegistry":
        """A registry with these tools as well."""
        return ToolRegistry([*self._tools.values(), *tools]) if tools else self

    def canonical(self, name: str) -> str:
        """The canonical name of a tool, whichever spelling a model used."""
        return name if name in self._tools else self._by_wire_name.get(name, name)

    def wire_name(self, name: str) -> str:
        """The name of a tool as models see it."""
        return wire_name(self.canonical(name))

    def get(self, name: str) -> Tool:
        """The tool of that name, or a `ToolError` that lists the available names."""
        tool = self._tools.get(self.canonical(name))
        if tool is None:
            available = ", ".join(self._tools) or "none"
            raise ToolError(
                f"there is no tool {quoted(name)}; available: {available}", code="unknown_tool"
            )
        return tool

    def schema(self, name: str) -> Mapping[str, object]:
        """The JSON schema of a tool's parameters; shared, so do not modify it."""
        return schema_of(self.get(name).parameters)

    def describe(self) -> list[dict[str, object]]:
        """Name, description, effect and schema of each tool; the schemas are shared."""
        return [
            {
                "name": tool.name,
                "description": tool.description,
                "effect": tool.effect.value,
                "approval": tool.approval.value,
                "parameters": schema_of(tool.parameters),
            }
            for tool in self._tools.values()
        ]

    def validate(self, name: str, raw_json_arguments: str) -> BaseModel:
        """The arguments parsed into the tool's model, or a `ToolError` the model can act on."""
        return self.check(name, _parse(name, raw_json_arguments))

    def check(self, name: str, arguments: Mapping[str, Any]) -> BaseModel:
        """Arguments validated by the tool's model, or a `ToolError` the model can act on."""
        tool = self.get(name)
        try:
            return tool.parameters.model_validate(arguments)
        except ValidationError as problem:
            raise ToolError(
                _feedback(name, problem, known=_fields(schema_of(tool.parameters))),
                code="invalid_arguments",
            ) from None


def _parse(name: str, raw: str) -> dict[str, Any]:
    if len(raw) > MAX_ARGUMENT_CHARS:
        _refuse(name, f"are {len(raw)} characters long; at most {MAX_ARGUMENT_CHARS} are read")
    # Some providers send an empty string for a call without arguments.
    try:
        value = json.loads(raw if raw.strip() else "{}", parse_constant=no_constant)
    except json.JSONDecodeError as problem:
        near = raw[max(0, problem.pos - NEAR_CHARS) : problem.pos + NEAR_CHARS]
        where = f"line {problem.lineno} column {problem.colno}"
        _refuse(name, f"are not valid JSON at {where}: {problem.msg}, near {near!r}")
    except ValueError:
        _refuse(name, "are not valid JSON: a number is too long, NaN or infinite")
    except RecursionError:
        _refuse(name, "are nested too deeply")
    if not isinstance(value, dict):
        _refuse(name, f"must be a JSON object, not {type(value).__name__}")
    if "\\ud" in raw.lower() and not _is_unicode(value):
        _refuse(name, "hold half of a surrogate pair, which is not valid Unicode")
    return value


def _is_unicode(value: object) -> bool:
    """Whether every text in the value can be stored; JSON's `\\ud800` alone cannot."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _refuse(name: str, reason: str) -> NoReturn:
    raise ToolError(f"the arguments of {name} {reason}", code="invalid_arguments") from None


def _fields(schema: Mapping[str, object]) -> tuple[str, ...]:
    properties = schema.get("properties")
    return tuple(properties) if isinstance(properties, Mapping) else ()


def _feedback(name: str, problem: ValidationError, *, known: tuple[str, ...]) -> str:
    errors = problem.errors(include_url=False, include_input=False)
    lines = [
        f"{_field(error['loc'])}: {_expectation(error)}" for error in errors[:MAX_SHOWN_ERRORS]
    ]
    told = "; ".join(and_more(lines, len(errors) - MAX_SHOWN_ERRORS))
    fields = ", ".join(known) or "none"
    return f"the arguments of {name} are wrong: {told}. It takes: {fields}."


def _field(location: tuple[int | str, ...]) -> str:
    # An unknown field's name is the model's own text: cut it and escape invisible characters.
    text = preview(".".join(str(part) for part in location) or "arguments", NAME_CHARS)
    return text if text.isprintable() else repr(text)


def _expectation(error: Mapping[str, Any]) -> str:
    if error["type"] == "extra_forbidden":
        return "is not a parameter of this tool"
    return preview(words_of(error))


def quoted(name: str) -> str:
    """A name as a model gave it, in quotes and cut."""
    return repr(name if len(name) <= MAX_QUOTED_CHARS else name[:MAX_QUOTED_CHARS] + ELLIPSIS)


def wire_name(name: str) -> str:
    """The name in at most 64 letters, digits, `_` and `-`; `server/tool` becomes `server__tool`.

    A name that changes ends in a hash of the original, so that names which differ only in the lost
    characters stay distinct.
    """
    spelled = name.replace("/", SEPARATOR, 1)
    fitting = _UNFIT.sub("_", spelled)
    if fitting == spelled and len(spelled) <= MAX_WIRE_CHARS:
        return spelled
    mark = hashlib.sha256(name.encode()).hexdigest()[:HASH_CHARS]
    return f"{fitting[: MAX_WIRE_CHARS - HASH_CHARS - 1]}_{mark}"
