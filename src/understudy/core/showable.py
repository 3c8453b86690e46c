"""Sanitises stored values for JSON, so that an answer never fails on stored data."""

import math
import re
from collections.abc import Mapping
from typing import Any, Final

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
# Pydantic and many clients refuse values nested much deeper.
MAX_DEPTH: Final = 100
TOO_DEEP: Final = "\N{HORIZONTAL ELLIPSIS}"
_HALF: Final = re.compile("[\ud800-\udfff]")


def showable(value: Any, depth: int = 0) -> Any:
    """The value with valid Unicode, finite numbers and a bounded depth."""
    match value:
        case str():
            return whole(value)
        # Before the mappings: the `Mapping` check is the slowest.
        case int() | None:
            return value
        case float() if not math.isfinite(value):
            return None
        case Mapping() | list() | tuple() if depth >= MAX_DEPTH:
            return TOO_DEEP
        case Mapping():
            return {showable(key): showable(item, depth + 1) for key, item in value.items()}
        case list() | tuple():
            return [showable(item, depth + 1) for item in value]
        case _:
            return value


def whole(text: str) -> str:
    """The text with U+FFFD for each lone surrogate, which no encoding can carry."""
    return text if text.isascii() else _HALF.sub("\N{REPLACEMENT CHARACTER}", text)
