"""What stands in place of what was taken out."""

import re
from typing import Final

from understudy.core.text import ELLIPSIS

MARKER_PATTERN: Final = r"<redacted:[a-z-]{1,32}>"
MARKER: Final = re.compile(MARKER_PATTERN)


def marker(kind: str) -> str:
    """What stands in place of a secret of this kind."""
    return f"<redacted:{kind}>"


def cut(text: str, limit: int) -> str:
    """The first `limit` characters of a scrubbed text, marked when something was cut."""
    return text if len(text) <= limit else text[: before_marker(text, limit)] + ELLIPSIS


def before_marker(text: str, limit: int) -> int:
    """Where to cut a scrubbed text so that no marker is parted."""
    start = text.rfind("<", 0, limit)
    found = MARKER.match(text, start) if start >= 0 else None
    return start if found and found.end() > limit else limit
