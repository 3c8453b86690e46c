"""Markers that replace redacted text."""

import re
from typing import Final

from understudy.core.text import ELLIPSIS

MARKER_PATTERN: Final = r"<redacted:[a-z-]{1,32}>"
MARKER: Final = re.compile(MARKER_PATTERN)


def marker(kind: str) -> str:
    """The marker for a kind of secret."""
    return f"<redacted:{kind}>"


def cut(text: str, limit: int) -> str:
    """The first `limit` characters of a scrubbed text, with an ellipsis if it was cut."""
    return text if len(text) <= limit else text[: before_marker(text, limit)] + ELLIPSIS


def before_marker(text: str, limit: int) -> int:
    """The offset at which to cut a scrubbed text without splitting a marker."""
    start = text.rfind("<", 0, limit)
    found = MARKER.match(text, start) if start >= 0 else None
    return start if found and found.end() > limit else limit
