"""The API reference: operations and records of the OpenAPI document as a page shows them."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from understudy.console.documentation.content import DocsSection

PREFIX: Final = "#/components/schemas/"
METHODS: Final = ("get", "post", "put", "patch", "delete")
FOLDER: Final = "openapi"
ACRONYMS: Final = {"mcp": "MCP"}
# FastAPI's default description of an answer, for a route that has none.
UNSAID: Final = "Successful Response"
# The maximum nesting of records in an example.
MAX_DEPTH: Final = 3
LIMITS: Final = {
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "maxItems": "at most {} items",
    "maxProperties": "at most {} entries",
}
# Example values by the suffix of a field's name and by its type.
EXAMPLE_MS: Final = 1_767_225_600_000
EXAMPLES: Final[Mapping[str, Any]] = {
    "string": "…",
    "integer": 1,
    "number": 0.5,
    "boolean": True,
    "null": None,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiField:
    """A parameter or a field of a record; `kind` is its type, in words and names of records."""

    name: str
    kind: str
    where: str
    is_required: bool
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiContent:
    """The body of a request or an answer."""

    status: str
    words: str
    media_type: str
    kind: str
    fields: tuple[ApiField, ...]
    example: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiOperation:
    """One operation of the API."""

    name: str
    method: str
    path: str
    tag: str
    description: str
    role: str
    parameters: tuple[ApiField, ...]
    body: ApiContent | None
    answers: tuple[ApiContent, ...]
    curl: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRecord:
    """A record that operations take or answer, or an enum."""

    name: str
    description: str
    fields: tuple[ApiField, ...]
    values: tuple[str, ...]
    example: str


class ApiReference:
    """An OpenAPI document, operation by operation and record by record."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._schemas: Mapping[str, Any] = document["components"]["schemas"]
        self._operations = [
            (path, method, operation)
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
            if method in METHODS
        ]

    @cached_property
    def tags(self) -> dict[str, list[ApiOperation]]:
        """Every operation under its tag."""
        found: dict[str, list[ApiOperation]] = {}
        for path, method, operation in self._operations:
            made = self._operation(path, method, operation)
            found.setdefault(made.tag, []).append(made)
        return dict(sorted(found.items()))

    def record_names(self) -> list[str]:
        """The names of all records."""
        return sorted(self._schemas)

    def record(self, name: str) -> ApiRecord | None:
        """A record by its name."""
        schema = self._schemas.get(name)
        if schema is None:
            return None
        return ApiRecord(
            name=name,
            description=schema.get("description", ""),
            fields=self._fields(schema),
            values=tuple(str(each) for each in schema.get("enum", ())),
            example=_json(self._example(schema, "", 0)) if "properties" in schema else "",
        )

    def sections(self) -> Iterator[DocsSection]:
        """Each operation as a section of the search index."""
        for tag, operations in self.tags.items():
            for each in operations:
                taken = (*each.parameters, *(each.body.fields if each.body else ()))
                names = [field.name for field in taken]
                yield DocsSection(
                    page=f"{FOLDER}/{slug(tag)}",
                    title=f"{each.method} {each.path}",
                    anchor=each.name,
                    heading=each.name,
                    text=" ".join([each.description, *names]),
                )

    def _operation(self, path: str, method: str, operation: Mapping[str, Any]) -> ApiOperation:
        body = self._content("", operation.get("requestBody", {}))
        parameters = tuple(
            self._field(
                each["name"],
                {**each["schema"], "description": each.get("description", "")},
                where=each["in"],
                is_required=each.get("required", False),
            )
            for each in operation.get("parameters", ())
        )
        return ApiOperation(
            name=operation["operationId"],
            method=method.upper(),
            path=path,
            tag=operation["tags"][0],
            description=operation.get("description") or operation["summary"],
            role=operation.get("x-role", ""),
            parameters=parameters,
            body=body,
            answers=tuple(
                content
                for status, answer in operation["responses"].items()
                if status != "default"
                and (content := self._content(status, answer, is_always=True))
            ),
            curl=_curl(method.upper(), path, body, has_role="x-role" in operation),
        )

    def _content(
        self, status: str, part: Mapping[str, Any], *, is_always: bool = False
    ) -> ApiContent | None:
        """The body of a request or an answer; None for a request that has none."""
        contents: Mapping[str, Any] = part.get("content", {})
        media_type = next(iter(contents), "")
        if not media_type and not is_always:
            return None
        schema = contents[media_type].get("schema", {}) if media_type else {}
        is_json = media_type.endswith("json") and bool(schema)
        return ApiContent(
            status=status,
            words=part.get("description", "").removeprefix(UNSAID),
            media_type=media_type,
            kind=_kind(schema) if schema else "",
            fields=self._fields(self._resolved(schema)),
            example=_json(self._example(schema, "", 0)) if is_json else "",
        )

    def _fields(self, schema: Mapping[str, Any]) -> tuple[ApiField, ...]:
        required = schema.get("required", ())
        return tuple(
            self._field(name, field, where="", is_required=name in required)
            for name, field in schema.get("properties", {}).items()
        )

    def _field(
        self, name: str, schema: Mapping[str, Any], *, where: str, is_required: bool
    ) -> ApiField:
        kind = _kind(schema)
        described = schema.get("description", "")
        limits = [words.format(schema[each]) for each, words in LIMITS.items() if each in schema]
        default = schema.get("default")
        notes = [described, *limits]
        if default is not None:
            notes.append(f"default {json.dumps(default, ensure_ascii=False)}")
        return ApiField(
            name=name,
            # An optional field may always be null.
            kind=kind if is_required else kind.removesuffix(" or null"),
            where=where,
            is_required=is_required,
            notes=tuple(note for note in notes if note),
        )

    def _resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        found: Mapping[str, Any] = schema
        if "$ref" in schema:
            found = self._schemas[schema["$ref"].removeprefix(PREFIX)]
        return found

    def _example(self, schema: Mapping[str, Any], name: str, depth: int) -> Any:
        schema = self._resolved(schema)
        for given in ("const", "default"):
            # An empty default makes no useful example.
            if schema.get(given):
                return schema[given]
        if "enum" in schema:
            return schema["enum"][0]
        for either in ("anyOf", "oneOf"):
            if either in schema:
                return self._example(schema[either][0], name, depth)
        if "properties" in schema:
            return self._example_record(schema, depth)
        if schema.get("type") == "array":
            if depth > MAX_DEPTH:
                return []
            return [self._example(schema.get("items", {}), name, depth + 1)]
        if schema.get("type") == "object":
            return {}
        return EXAMPLE_MS if name.endswith("_at_ms") else EXAMPLES.get(schema.get("type", ""))

    def _example_record(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        if depth > MAX_DEPTH:
            return {}
        required = schema.get("required", ())
        fields: Mapping[str, Any] = schema["properties"]
        # Examples have the required fields only, or the first field of a record that requires none.
        open_fields = [name for name, field in fields.items() if not field.get("readOnly")]
        shown = [name for name in fields if name in required] or open_fields[:1]
        return {name: self._example(fields[name], name, depth + 1) for name in shown}


def _kind(schema: Mapping[str, Any]) -> str:
    """The type of a value, in words and names of records."""
    if "$ref" in schema:
        return str(schema["$ref"].removeprefix(PREFIX))
    for either in ("anyOf", "oneOf"):
        if either in schema:
            return " or ".join(_kind(each) for each in schema[either])
    if "enum" in schema or "const" in schema:
        words = schema.get("enum") or [schema["const"]]
        return " or ".join(json.dumps(each) for each in words)
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    if isinstance(schema.get("additionalProperties"), Mapping):
        return f"map of {_kind(schema['additionalProperties'])}"
    return str(schema.get("type", "any value"))


def slug(tag: str) -> str:
    """A tag as a part of a URL."""
    return re.sub(r"\W+", "-", tag)


def title_of(tag: str) -> str:
    """A tag as a heading."""
    return ACRONYMS.get(tag) or tag[:1].upper() + tag[1:]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _curl(method: str, path: str, body: ApiContent | None, *, has_role: bool) -> str:
    named = re.sub(r"\{(\w+)(?::\w+)?\}", lambda found: f"${found[1].upper()}", path)
    command = "curl" if method == "GET" else f"curl -X {method}"
    parts = [f'{command} "$UNDERSTUDY_URL{named}"']
    if has_role:
        parts.append('-H "Authorization: Bearer $UNDERSTUDY_TOKEN"')
    if body is not None and body.example:
        sent = json.dumps(json.loads(body.example), ensure_ascii=False).replace("'", "'\\''")
        parts += ['-H "Content-Type: application/json"', f"-d '{sent}'"]
    elif body is not None:
        parts += [f'-H "Content-Type: {body.media_type}"', "--data-binary @FILE"]
    return " \\\n  ".join(parts)
