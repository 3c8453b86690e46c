"""Documents in a form: form fields from a JSON document and its schema, and the document back.

A form has the document as text beside its fields. A changed field is merged into the text, so
both may be edited before the next submission.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from understudy.console.forms import number_of

NOTHING: Final = object()
WRAPPERS: Final = ("anyOf", "oneOf", "allOf")


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentField:
    """One value of a document, as a form shows it."""

    pointer: str
    name: str
    # choice, flag, number, text, lines, json
    kind: str
    value: str
    is_required: bool = False
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPart:
    """An object of a document: its values, the objects in it, and its lists of objects."""

    pointer: str
    name: str
    fields: tuple[DocumentField, ...] = ()
    parts: tuple["DocumentPart", ...] = ()
    lists: tuple["DocumentList", ...] = ()

    def every_field(self) -> Iterator[DocumentField]:
        """The fields of this part and of its nested parts."""
        yield from self.fields
        for part in (*self.parts, *(item for each in self.lists for item in each.items)):
            yield from part.every_field()


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentList:
    """A list of objects, whose order counts."""

    pointer: str
    name: str
    items: tuple[DocumentPart, ...]


def part_of(
    schema: Mapping[str, Any],
    value: object,
    pointer: str = "",
    choices: Mapping[str, Sequence[str]] | None = None,
) -> DocumentPart:
    """An object of a document; `choices` are values for a JSON pointer that no schema lists."""
    known = value if isinstance(value, Mapping) else {}
    required = schema.get("required", ())
    fields: list[DocumentField] = []
    parts: list[DocumentPart] = []
    lists: list[DocumentList] = []
    for name, each in schema.get("properties", {}).items():
        plain, at = _plain(each), f"{pointer}/{name}"
        found = known.get(name)
        if "properties" in plain:
            parts.append(part_of(plain, found, at, choices))
        elif plain.get("type") == "array" and "properties" in _plain(plain.get("items", {})):
            lists.append(_list(plain, found, at, choices))
        else:
            given = tuple((choices or {}).get(at, ()))
            fields.append(_field(plain, found, at, name in required, given))
    return DocumentPart(
        pointer=pointer,
        name=pointer.rpartition("/")[2],
        fields=tuple(fields),
        parts=tuple(parts),
        lists=tuple(lists),
    )


def merged(
    document: object, base: object, form: Mapping[str, str], schema: Mapping[str, Any]
) -> object:
    """The document with the fields merged in that a form changed against `base`, its original."""
    made = _copy(document)
    for field in part_of(schema, base).every_field():
        text = form.get(field.pointer)
        if text is not None and text != field.value:
            _set(made, field.pointer, _read(field, text))
    return made


def moved(document: object, pointer: str, by: int) -> object:
    """The document with a list item moved by some places."""
    made = _copy(document)
    items, index = _place(made, pointer)
    if isinstance(items, list) and 0 <= index < len(items) and 0 <= index + by < len(items):
        items.insert(index + by, items.pop(index))
    return made


def without(document: object, pointer: str) -> object:
    """The document without one list item."""
    made = _copy(document)
    items, index = _place(made, pointer)
    if isinstance(items, list) and 0 <= index < len(items):
        del items[index]
    return made


def with_item(document: object, pointer: str, schema: Mapping[str, Any]) -> object:
    """The document with a new list item: its required fields, each with its first choice."""
    made = _copy(document)
    items = _plain(_schema_at(schema, pointer).get("items", {}))
    fresh = {
        name: next(iter(_plain(each).get("enum", ())), "")
        for name, each in items.get("properties", {}).items()
        if name in items.get("required", ())
    }
    found = _at(made, pointer)
    _set(made, pointer, [*(found if isinstance(found, list) else []), fresh])
    return made


def toggled(document: object, pointer: str, name: str) -> object:
    """The document with a name toggled in a list of names."""
    made = _copy(document)
    found = _at(made, pointer)
    names = [each for each in found if isinstance(each, str)] if isinstance(found, list) else []
    kept = [each for each in names if each != name]
    _set(made, pointer, kept if len(kept) < len(names) else [*names, name])
    return made


def without_references(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """A schema with every `$ref` inlined; no request body is recursive."""
    if isinstance(schema, list):
        return [without_references(each, definitions) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        named = definitions[schema["$ref"].rpartition("/")[2]]
        schema = {**named, **{name: it for name, it in schema.items() if name != "$ref"}}
    return {
        name: without_references(each, definitions)
        for name, each in schema.items()
        if name != "$defs"
    }


def text_of(document: object) -> str:
    """A document as indented JSON, for display and editing."""
    return json.dumps(document, indent=2, ensure_ascii=False)


def _list(
    schema: Mapping[str, Any],
    value: object,
    pointer: str,
    choices: Mapping[str, Sequence[str]] | None,
) -> DocumentList:
    of_item, found = _plain(schema["items"]), value if isinstance(value, list) else []
    items = (part_of(of_item, it, f"{pointer}/{at}", choices) for at, it in enumerate(found))
    return DocumentList(pointer=pointer, name=pointer.rpartition("/")[2], items=tuple(items))


def _field(
    schema: Mapping[str, Any],
    value: object,
    pointer: str,
    is_required: bool,
    choices: tuple[str, ...],
) -> DocumentField:
    kind = _kind(schema, choices)
    return DocumentField(
        pointer=pointer,
        name=pointer.rpartition("/")[2],
        kind=kind,
        value=_shown(kind, value),
        is_required=is_required or ("default" in schema and schema["default"] is not None),
        choices=choices or tuple(map(str, schema.get("enum", ()))),
        least=schema.get("minimum"),
        most=schema.get("maximum"),
    )


def _kind(schema: Mapping[str, Any], choices: tuple[str, ...]) -> str:
    if choices or "enum" in schema:
        return "choice"
    if schema.get("type") == "array":
        return "lines" if _plain(schema.get("items", {})).get("type") == "string" else "json"
    kinds = {"boolean": "flag", "integer": "number", "number": "number", "string": "text"}
    return kinds.get(str(schema.get("type")), "json")


def _shown(kind: str, value: object) -> str:
    if value is None:
        return "false" if kind == "flag" else ""
    match kind:
        case "flag":
            return "true" if value is True else "false"
        case "lines" if isinstance(value, list):
            return "\n".join(map(str, value))
        case "json":
            return text_of(value)
        case _:
            return str(value)


def _read(field: DocumentField, text: str) -> object:
    """The value of a form field; a value that does not parse stays text, and the API rejects it."""
    if not text.strip() and field.kind != "lines":
        return NOTHING
    match field.kind:
        case "flag":
            return text == "true"
        case "lines":
            return [line.strip() for line in text.splitlines() if line.strip()]
        case "number" | "json":
            try:
                return json.loads(text)
            except (ValueError, RecursionError):
                return text
        case _:
            return text


def _plain(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema without its null alternative."""
    for wrapper in WRAPPERS:
        if wrapper in schema:
            kept = [each for each in schema[wrapper] if each.get("type") != "null"]
            if not kept:
                return schema
            rest = {name: it for name, it in schema.items() if name != wrapper}
            return _plain({**kept[0], **rest})
    return schema


def _schema_at(schema: Mapping[str, Any], pointer: str) -> Mapping[str, Any]:
    for name in pointer.split("/")[1:]:
        schema = _plain(schema)
        inner = schema.get("properties", {})
        schema = schema.get("items", {}) if name.isdecimal() else inner.get(name, {})
    return _plain(schema)


def _copy(document: object) -> Any:
    return json.loads(json.dumps(document))


def _place(document: Any, pointer: str) -> tuple[Any, int]:
    above, _, last = pointer.rpartition("/")
    index = number_of(last)
    return _at(document, above), index if isinstance(index, int) else -1


def _at(document: Any, pointer: str) -> Any:
    for name in pointer.split("/")[1:]:
        if isinstance(document, dict):
            document = document.get(name)
        elif isinstance(document, list):
            index = number_of(name)
            is_there = isinstance(index, int) and index < len(document)
            document = document[int(index)] if is_there else None
        else:
            return None
    return document


def _set(document: Any, pointer: str, value: object) -> None:
    """Set a value, or remove it for `NOTHING`; missing parent objects are created for a value."""
    above, _, last = pointer.rpartition("/")
    holder = _at(document, above)
    if holder is None and above and value is not NOTHING:
        _set(document, above, {})
        holder = _at(document, above)
    if not isinstance(holder, dict):
        return
    if value is NOTHING:
        holder.pop(last, None)
    else:
        holder[last] = value
