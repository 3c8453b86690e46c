"""One tool of one server, as an agent calls it."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticCustomError

from understudy.core.records import JsonObject
from understudy.mcp_client.connection import MAX_WAIT_S, McpConnection
from understudy.mcp_client.errors import CallFailed, ServerDown, one_line, shown_characters, tidy
from understudy.mcp_client.model import ListedTool, McpServer
from understudy.tools.base import Approval, Effect, ToolContext, ToolError

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ContentBlock


MIN_SECRET_CHARS: Final = 4
HIDDEN: Final = "<redacted:literal>"
MAX_ERROR_CHARS: Final = 8000
MAX_SHOWN: Final = 5
MAX_RESULT_CHARS: Final = 1024 * 1024
MAX_ADDRESS_CHARS: Final = 500
NOTHING: Final = "(the tool answered nothing)"


class McpTool:
    """Forwards calls to the server."""

    def __init__(
        self, connection: McpConnection, listed: ListedTool, secrets: Sequence[str] = ()
    ) -> None:
        server = connection.server
        self.name = f"{server.name}/{listed.name}"
        self.description = listed.description
        self.effect = effect_of(server, listed)
        self.approval = Approval.ALWAYS if server.needs_approval else Approval.NEVER
        self.parameters: type[BaseModel] = arguments_model(listed.schema)
        told = json.dumps([self.name, listed.description, listed.schema], sort_keys=True)
        self.digest = hashlib.sha256(told.encode()).hexdigest()
        # The server's timeout, plus the longest start.
        self.timeout_s = server.timeout_s + MAX_WAIT_S
        self._connection = connection
        self.listed = listed
        # Longest first: one secret may contain another.
        long_enough = (each for each in secrets if len(each) >= MIN_SECRET_CHARS)
        self._secrets = tuple(sorted(long_enough, key=len, reverse=True))

    async def call(self, arguments: Any, context: ToolContext) -> str:
        """Call the server; its failure becomes an error that the model reads."""
        try:
            result = await self._connection.call(self.listed.name, dict(arguments.model_extra))
        except (ServerDown, CallFailed) as problem:
            raise ToolError(self._without_secrets(problem.detail)) from None
        text = self._without_secrets(result_text(result))
        if result.is_error:
            raise ToolError(tidy(text, MAX_ERROR_CHARS))
        return bounded(text)

    def _without_secrets(self, text: str) -> str:
        """Mask the server's credentials, which it may echo, in a text for the model."""
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return text


def effect_of(server: McpServer, listed: ListedTool) -> Effect:
    """The effect of a repeated call; annotations count only if the config trusts the server."""
    if not server.trusts_annotations:
        return Effect.ONCE
    if listed.reads_only:
        return Effect.READ
    return Effect.IDEMPOTENT if listed.is_idempotent else Effect.ONCE


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
    """The validation errors of arguments against the top level of the schema."""
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
    """A pydantic model that validates by the schema and has it as its JSON schema."""

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
            """The server's rebuilt schema."""
            return deepcopy(dict(schema))

    return Arguments


def result_text(result: "CallToolResult") -> str:
    """The text of all parts in order; other content is only mentioned."""
    parts = [_part(block) for block in result.content]
    structured = result.structured_content
    if structured is not None and not _is_said(parts, structured):
        parts.append(json.dumps(structured, ensure_ascii=False))
    return shown_characters(bounded("\n".join(part for part in parts if part))) or NOTHING


def bounded(text: str) -> str:
    """The text, truncated with a note on its length."""
    if len(text) <= MAX_RESULT_CHARS:
        return text
    return f"{text[:MAX_RESULT_CHARS]}\n[cut: {len(text)} characters in all]"


def _is_said(parts: list[str], structured: Any) -> bool:
    """Whether the text repeats the structured content, as many servers do."""
    if len(parts) != 1:
        return False
    # The Python library wraps a result that is not an object.
    if structured == {"result": parts[0]}:
        return True
    try:
        return bool(json.loads(parts[0]) == structured)
    except (ValueError, RecursionError):
        return False


def _part(block: "ContentBlock") -> str:
    match block.type:
        case "text":
            return block.text
        case "image" | "audio":
            size = len(block.data.rstrip("=")) * 3 // 4
            return f"[{block.type}, {one_line(block.mime_type, 100)}, {size} bytes, not shown]"
        case "resource_link":
            return f"[a link: {one_line(str(block.uri), MAX_ADDRESS_CHARS)}]"
        case "resource":
            return _resource(block.resource)


def _resource(resource: Any) -> str:
    address = one_line(str(resource.uri), MAX_ADDRESS_CHARS)
    text = getattr(resource, "text", None)
    return f"[{address}, not shown]" if text is None else f"[{address}]\n{text}"
