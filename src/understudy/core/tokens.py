"""Estimates how many tokens a text takes, without asking a model."""

import math
from typing import Final

TOKENS_PER_BYTE: Final = 0.285


def estimate_tokens(text: str) -> int:
    """A quick upper guess of the tokens in a text."""
    return tokens_in_bytes(size_of(text))


def size_of(text: str) -> int:
    """The bytes that a text takes."""
    return len(text.encode(errors="replace"))


def tokens_in_bytes(size: int) -> int:
    """The estimate for a text of so many bytes."""
    return math.ceil(size * TOKENS_PER_BYTE)
