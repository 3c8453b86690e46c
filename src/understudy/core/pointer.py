"""JSON pointers to values in a document."""

from collections.abc import Iterable
from typing import Final

MAX_CHARS: Final = 300


def pointer(parts: Iterable[object]) -> str:
    """A JSON pointer (RFC 6901), of a bounded length."""
    escaped = (str(part).replace("~", "~0").replace("/", "~1") for part in parts)
    return "".join(f"/{part}" for part in escaped)[:MAX_CHARS]
