"""The arguments of a call as patterns see them."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

# Below this, numbers are left as they are.
MAX_DEPTH: Final = 64


def argument_values(arguments: Mapping[str, Any], name: str) -> Iterator[Any]:
    """What a name may stand for: an argument, or with dots something within one."""
    if name in arguments:
        yield arguments[name]
    first, dot, rest = name.partition(".")
    inner = arguments.get(first) if dot else None
    if isinstance(inner, Mapping):
        yield from argument_values(inner, rest)


def spellings(value: Any) -> tuple[str, ...]:
    """A value as text: text as it is, anything else as compact JSON, and whole numbers as such."""
    if isinstance(value, str):
        return (value,)
    return tuple(dict.fromkeys((_compact(value), _compact(_whole(value)))))


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _whole(value: Any, depth: int = 0) -> Any:
    """The same with `3.0` as `3`: to whoever reads JSON the two are one number."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case Mapping() if depth < MAX_DEPTH:
            return {key: _whole(each, depth + 1) for key, each in value.items()}
        case list() | tuple() if depth < MAX_DEPTH:
            return [_whole(each, depth + 1) for each in value]
    return value
