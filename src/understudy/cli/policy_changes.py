"""What is different between two policies, field by field."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from understudy.cli.screen import one_line, visible

# What is shown of a long value.
MAX_CHARS: Final = 120
NOTHING: Final = object()


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Every field that is different, on one line; nothing when both say the same."""
    return "; ".join(_differences(before, after))


def _differences(before: object, after: object, path: str = "") -> Iterator[str]:
    """Down to the leaves where both have something; what only one has is told as a whole."""
    if before == after:
        return
    old, new = _parts(before), _parts(after)
    if old is None or new is None:
        yield f"{path}: {_word(before)} → {_word(after)}"
        return
    for name in dict.fromkeys((*new, *old)):
        way = f"[{name}]" if isinstance(name, int) else f".{name}" if path else name
        yield from _differences(old.get(name, NOTHING), new.get(name, NOTHING), f"{path}{way}")


def _parts(value: object) -> dict[Any, object] | None:
    if isinstance(value, list):
        return dict(enumerate(value))
    return dict(value) if isinstance(value, Mapping) else None


def _word(value: object) -> str:
    if value is NOTHING:
        return "–"
    return one_line(visible(json.dumps(value, ensure_ascii=False)), MAX_CHARS)
