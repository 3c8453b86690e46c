"""Texts on their way into a memory: scrubbed first, then cut, and never inside an item."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from understudy.redaction.marker import before_marker
from understudy.redaction.scrub import scrub_counted

# What lies further back reaches neither the preview nor the evidence.
SCRUBBED_CHARS: Final = 64 * 1024
# No card, phone or passphrase with blanks in it is longer.
LONGEST_ITEM: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Clean:
    """A text that may be kept, and how much was taken out of it."""

    text: str
    # One for a text that held secrets, and one for each piece of personal data.
    redacted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaner:
    """Takes out secrets, those that the operator named and, where the policy says so, personal data."""

    literals: tuple[str, ...] = ()
    pii: bool = True

    def clean(self, text: str) -> Clean:
        """The text as it may be kept."""
        return _scrubbed(_beginning(_storable(text)), self.literals, self.pii)


# What was scrubbed before a lock was taken is not scrubbed again while it is held.
@lru_cache(maxsize=16)
def _scrubbed(text: str, literals: tuple[str, ...], pii: bool) -> Clean:
    scrubbed = scrub_counted(text, literals, pii=pii)
    redacted = (1 if scrubbed.secrets else 0) + scrubbed.pii
    return Clean(text=scrubbed.text.strip(), redacted=redacted)


def cut_bytes(text: str, limit: int) -> str:
    """As much of a scrubbed text as fits so many bytes."""
    raw = text.encode()
    if len(raw) <= limit:
        return text
    kept = len(raw[:limit].decode(errors="ignore"))
    return text[: before_marker(text, kept)]


def _storable(text: str) -> str:
    """The text without what no database takes: NUL, and halves of pairs."""
    return text.replace("\0", "").encode(errors="replace").decode()


def _beginning(text: str) -> str:
    """As much of a long text as is looked at; what may be half of an item at its end is left out."""
    if len(text) <= SCRUBBED_CHARS:
        return text
    edge = SCRUBBED_CHARS - LONGEST_ITEM
    blank = max(text.rfind(each, 0, edge) for each in " \n")
    return text[:blank] if blank > 0 else text[:SCRUBBED_CHARS]
