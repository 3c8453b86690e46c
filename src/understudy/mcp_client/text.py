"""What a server says, as text that shows itself for what it is."""

from typing import Final

CUT: Final = "…"


def tidy(text: str, limit: int) -> str:
    """The text without characters that hide or reorder others, and not longer than `limit`."""
    # More is not looked at than could be kept.
    seen = "".join(
        char if char.isprintable() or char == "\n" else " " for char in text[: limit * 2]
    )
    seen = seen.strip()
    return seen if len(seen) <= limit else seen[: limit - 1] + CUT


def one_line(text: str, limit: int) -> str:
    """The same on one line."""
    return tidy(" ".join(text[: limit * 2].split()), limit)
