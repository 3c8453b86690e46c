"""Texts of a run: its request and outcome, scrubbed and bounded."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from understudy.mailboxes.letters import letter_words
from understudy.redaction.marker import before_marker
from understudy.redaction.scrub import scrub_counted
from understudy.runs.model import InputItem, Run, RunKind
from understudy.runs.sidechain_links import clarification_words

# What lies further back reaches neither the preview nor the evidence.
SCRUBBED_CHARS: Final = 64 * 1024
# No card, phone or passphrase with blanks in it is longer.
LONGEST_ITEM: Final = 256
# Kinds of runs whose input stands in a frame that is the same every time, and the way out of it.
FRAMED: Final[Mapping[RunKind, Callable[[str], str]]] = {
    RunKind.MAILBOX_DELIVERY: letter_words,
    RunKind.PARENT_CLARIFICATION: clarification_words,
}


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


def request_text(run: Run) -> str:
    """The parts of an input in order, each file in the form in which it was given."""
    items = run.input.items
    parts = [_item_text(item) for item in items if item.given_as != "attachment"]
    attached = len(items) - len(parts)
    note = [f"[{attached} attachment(s)]"] if attached else []
    return _own_words(run, " ".join([*parts, *note]))


def query_text(run: Run) -> str:
    """The texts of an input, for finding what has to do with them."""
    return _own_words(run, run.input.text)


def _own_words(run: Run, text: str) -> str:
    way_out = FRAMED.get(run.kind)
    return text if way_out is None else way_out(text)


def _item_text(item: InputItem) -> str:
    if item.text is not None:
        return item.text
    if item.given_as == "inline":
        return f"[inline_asset:{item.file_name} {item.media_type}]"
    return f"[asset:{item.asset_id}]"
