"""The sentences of a text, and the one among them that carries a statement."""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

# With the Chinese full stop, exclamation mark, question mark and semicolon.
SENTENCE_END: Final = re.compile(r"[.!?;](?=\s|$)|[\n\u3002\uff01\uff1f\uff1b]")
_WORD: Final = re.compile(r"\w+")


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Where the sentences of a text stand, each with its end; a line is at least one."""
    start = 0
    for end in (*(found.end() for found in SENTENCE_END.finditer(text)), len(text)):
        if text[start:end].strip():
            yield start, end
        start = end


def carrying(statement: str, text: str) -> tuple[str, float]:
    """The words of the first sentence that has most of a statement's, and what share that is."""
    wanted = set(plain_words(statement))
    best, share = "", 0.0
    for start, end in sentences(text):
        words = plain_words(text[start:end])
        found = len(wanted.intersection(words)) / len(wanted) if wanted else 0.0
        if found > share:
            best, share = " ".join(words), found
    return best, share


def plain_words(text: str) -> list[str]:
    """The words of a text in order, whatever their case and width."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
