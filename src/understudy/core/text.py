"""Text rules that several packages share."""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias

# Removes secrets from a text.
Scrub: TypeAlias = Callable[[str], str]
ELLIPSIS: Final = "…"
REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"
# Some editors write it at the start of a file.
BYTE_ORDER_MARK: Final = "\ufeff"
PREVIEW_CHARS: Final = 160
DIGEST_CHARS: Final = 12
# Normalising combining marks is quadratic in their number, so text is normalised in pieces.
PIECE_CHARS: Final = 256
NAME_CHARS: Final = 120
# Scripts without spaces between words, as a regex character class: Chinese, Japanese, Korean, Thai,
# Lao, Burmese, Khmer.
UNSPACED: Final = (
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\uac00-\ud7af\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\U00020000-\U0003ffff"
)
# Lower-case Latin letters that do not decompose into a letter and a mark.
LATIN: Final = str.maketrans(
    {"æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "ł": "l", "ħ": "h", "ŋ": "ng"}
)
TOKENS_PER_BYTE: Final = 0.285


def preview(text: str, limit: int = PREVIEW_CHARS) -> str:
    """The first `limit` characters of the trimmed text, with an ellipsis if it was cut."""
    trimmed = text.strip()
    return trimmed if len(trimmed) <= limit else trimmed[:limit] + ELLIPSIS


def one_line(text: str) -> str:
    """The text on one line, with single spaces."""
    return " ".join(text.split())


def short_digest(digest: str) -> str:
    """The first characters of a digest, with an ellipsis if it was cut."""
    return digest if len(digest) <= DIGEST_CHARS else digest[:DIGEST_CHARS] + ELLIPSIS


def short_pieces(text: str) -> Iterator[str]:
    """A text in pieces short enough to be normalised quickly."""
    return (text[at : at + PIECE_CHARS] for at in range(0, len(text), PIECE_CHARS))


def printable(text: str) -> str:
    """The text with U+FFFD for each unprintable character."""
    return "".join(char if char.isprintable() else REPLACEMENT for char in text)


def quoted(name: str) -> str:
    """An untrusted name in quotes: shortened, with unprintable characters escaped."""
    return repr(preview(name, NAME_CHARS))


def and_more(told: Iterable[str], more: int) -> list[str]:
    """The items, and at the end how many more there are."""
    return [*told, f"and {more} more"] if more > 0 else [*told]


def estimate_tokens(text: str) -> int:
    """A quick estimate of the tokens in a text, rather too high."""
    return tokens_in_bytes(size_of(text))


def size_of(text: str) -> int:
    """The size of a text in UTF-8 bytes."""
    return len(text.encode(errors="replace"))


def tokens_in_bytes(size: int) -> int:
    """The token estimate for a text of `size` bytes."""
    return math.ceil(size * TOKENS_PER_BYTE)
