"""Forms: the JSON body of an operation from the fields that a browser sends."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from understudy.console.surface import FormField
from understudy.core.errors import coded_error


def body_of(form: Mapping[str, str], fields: Sequence[FormField]) -> dict[str, Any] | None:
    """The body of an operation; what it does not take, and an empty field, is left out.

    A name such as `scope.kind` stands for a field of an object.
    """
    known = {field.name: field for field in fields}
    body: dict[str, Any] = {}
    for name, text in form.items():
        outer, _, inner = name.partition(".")
        if outer not in known or (text == "" and not known[outer].is_required):
            continue
        if inner:
            # A part of a field counts more than the field, where a form has both.
            whole = body.get(outer)
            body[outer] = {**(whole if isinstance(whole, dict) else {}), inner: text}
        else:
            body[outer] = _value(known[outer], text)
    return body if fields else None


def _value(field: FormField, text: str) -> object:
    try:
        match field.kind:
            case "number":
                return int(text)
            case "flag":
                return text in ("true", "on", "yes")
            case "moment":
                return _moment(text)
            case "json":
                return json.loads(text)
            case _:
                return text
    except (ValueError, RecursionError):
        raise coded_error(
            "api/malformed_form", media_type=field.kind, pointer=f"/{field.name}"
        ) from None


def _moment(text: str) -> int:
    """Milliseconds, or a local time as a browser's input has it, taken for UTC."""
    if text.isdecimal():
        return int(text)
    at = datetime.fromisoformat(text)
    return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)
