"""Small rules about text that several rooms share."""

from typing import Final

ELLIPSIS: Final = "…"
REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"
PREVIEW_CHARS: Final = 160
# Scripts without blanks between words: Chinese, Japanese, Korean, Thai, Lao, Burmese, Khmer; to stand
# in a class of characters.
UNSPACED: Final = (
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\uac00-\ud7af\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\U00020000-\U0003ffff"
)


def preview(text: str, limit: int = PREVIEW_CHARS) -> str:
    """The first `limit` characters of the trimmed text, marked when something was cut."""
    trimmed = text.strip()
    return trimmed if len(trimmed) <= limit else trimmed[:limit] + ELLIPSIS


def printable(text: str) -> str:
    """The text with a mark in place of each character that cannot be shown."""
    return "".join(char if char.isprintable() else REPLACEMENT for char in text)
