"""Small rules about text that several rooms share."""

from typing import Final

ELLIPSIS: Final = "…"
REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"
PREVIEW_CHARS: Final = 160


def preview(text: str, limit: int = PREVIEW_CHARS) -> str:
    """The first `limit` characters of the trimmed text, marked when something was cut."""
    trimmed = text.strip()
    return trimmed if len(trimmed) <= limit else trimmed[:limit] + ELLIPSIS


def printable(text: str) -> str:
    """The text with a mark in place of each character that cannot be shown."""
    return "".join(char if char.isprintable() else REPLACEMENT for char in text)
