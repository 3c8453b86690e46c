"""Reading JSON objects that were stored: every field is of its type, or the record is damaged."""

from collections.abc import Mapping, Sequence
from typing import Any


def fields_of(stored: Any, types: Mapping[str, type[Any]], *, optional: bool) -> dict[str, Any]:
    """The fields of these names, each of its type; only optional ones may be absent or null."""
    if not isinstance(stored, dict):
        raise TypeError("not a JSON object")
    found = {name: stored.get(name) for name in types}
    for name, value in found.items():
        # A truth value is no number, although Python says that it is.
        if type(value) is not types[name] and not (optional and value is None):
            raise TypeError("a field is not of its type")
    return found


def list_of(stored: Any) -> Sequence[Any]:
    """A JSON list."""
    if not isinstance(stored, list):
        raise TypeError("not a JSON list")
    return stored
