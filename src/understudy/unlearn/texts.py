"""The parts of a text that are searched for in other records."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from understudy.core.ids import MADE_ID

# The minimum length of a whole text, and of a line or sentence, to be distinctive.
MIN_WHOLE: Final = 8
MIN_PART: Final = 16
MAX_PARTS: Final = 20_000
# Identifiers of our own occur in every record.
_A_NAME: Final = re.compile(rf"[a-z_]+|{MADE_ID}")
_SENTENCES: Final = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])\s*(?=\s|[^\x00-\x7f])|[\r\n]+")


def parts_of(texts: Iterable[str]) -> tuple[str, ...]:
    """The texts, their lines and sentences, longest first; indistinct ones are left out."""
    found = {part for text in texts for part in _parts(text)}
    return tuple(sorted(found, key=lambda it: (-len(it), it))[:MAX_PARTS])


def _parts(text: str) -> Iterator[str]:
    whole = text.strip()
    if len(whole) >= MIN_WHOLE and not _A_NAME.fullmatch(whole):
        yield whole
    for part in _SENTENCES.split(whole):
        if len(part.strip()) >= MIN_PART and not _A_NAME.fullmatch(part.strip()):
            yield part.strip()
