"""Rules about text that several packages share."""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias

# Takes secrets out of a text.
Scrub: TypeAlias = Callable[[str], str]
ELLIPSIS: Final = "…"
REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"
# Some editors put it before the first character of a file.
BYTE_ORDER_MARK: Final = "\ufeff"
PREVIEW_CHARS: Final = 160
DIGEST_CHARS: Final = 12
# To bring marks into order takes the square of their number, so no more than this are looked at.
PIECE_CHARS: Final = 256
NAME_CHARS: Final = 120
# Scripts without blanks between words: Chinese, Japanese, Korean, Thai, Lao, Burmese, Khmer; to stand
# in a class of characters.
UNSPACED: Final = (
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\uac00-\ud7af\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\U00020000-\U0003ffff"
)
# Latin letters, in lower case, that do not come apart into a letter and a mark.
LATIN: Final = str.maketrans(
    {"æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "ł": "l", "ħ": "h", "ŋ": "ng"}
)
TOKENS_PER_BYTE: Final = 0.285


def preview(text: str, limit: int = PREVIEW_CHARS) -> str:
    """The first `limit` characters of the trimmed text, marked when something was cut."""
    trimmed = text.strip()
    return trimmed if len(trimmed) <= limit else trimmed[:limit] + ELLIPSIS


def one_line(text: str) -> str:
    """The text with a blank wherever it has blanks or line breaks."""
    return " ".join(text.split())


def short_digest(digest: str) -> str:
    """As much of a digest as people need to recognise it, marked when something was cut."""
    return digest if len(digest) <= DIGEST_CHARS else digest[:DIGEST_CHARS] + ELLIPSIS


def short_pieces(text: str) -> Iterator[str]:
    """A text in pieces that can be brought into a normal form without effort."""
    return (text[at : at + PIECE_CHARS] for at in range(0, len(text), PIECE_CHARS))


def printable(text: str) -> str:
    """The text with a mark in place of each character that cannot be shown."""
    return "".join(char if char.isprintable() else REPLACEMENT for char in text)


def quoted(name: str) -> str:
    """A name from outside, in quotes, short and without what cannot be shown."""
    return repr(preview(name, NAME_CHARS))


def and_more(told: Iterable[str], more: int) -> list[str]:
    """The first items, and at the end how many more there are."""
    return [*told, f"and {more} more"] if more > 0 else [*told]


def estimate_tokens(text: str) -> int:
    """A quick upper guess of the tokens in a text."""
    return tokens_in_bytes(size_of(text))


def size_of(text: str) -> int:
    """The bytes that a text takes."""
    return len(text.encode(errors="replace"))


def tokens_in_bytes(size: int) -> int:
    """The estimate for a text of so many bytes."""
    return math.ceil(size * TOKENS_PER_BYTE)
