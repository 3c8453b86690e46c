"""Texts of a run: its request and outcome, scrubbed and bounded."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from understudy.channels.briefing import turn_words
from understudy.mailboxes.letters import letter_words
from understudy.redaction.marker import before_marker
from understudy.redaction.scrub import scrub_counted
from understudy.runs.model import BRIEFING, InputItem, Run, RunKind
from understudy.runs.sidechain_links import clarification_words

# Text beyond this reaches neither the preview nor the evidence.
SCRUBBED_CHARS: Final = 16 * 1024
# The most of a text that is kept as evidence.
EVIDENCE_BYTES: Final = 8 * 1024
# No card number, phone number or passphrase is longer.
LONGEST_ITEM: Final = 256
# Kinds of runs whose input is wrapped in a fixed template, and how to unwrap it.
FRAMED: Final[Mapping[RunKind, Callable[[str], str]]] = {
    RunKind.MAILBOX_DELIVERY: letter_words,
    RunKind.CHANNEL_DELIVERY: turn_words,
    RunKind.PARENT_CLARIFICATION: clarification_words,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Clean:
    """A scrubbed text, and the number of its redactions."""

    text: str
    # One for any secrets, and one for each piece of personal data.
    redacted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaner:
    """Scrubs secrets, literal secrets of the operator and, if the policy says so, personal data."""

    literals: tuple[str, ...] = ()
    pii: bool = True

    def clean(self, text: str) -> Clean:
        """The scrubbed text."""
        return _scrubbed(_beginning(_storable(text)), self.literals, self.pii)


# A cache: a text scrubbed before a lock was taken is not scrubbed again under it.
@lru_cache(maxsize=16)
def _scrubbed(text: str, literals: tuple[str, ...], pii: bool) -> Clean:
    scrubbed = scrub_counted(text, literals, pii=pii)
    redacted = (1 if scrubbed.secrets else 0) + scrubbed.pii
    return Clean(text=scrubbed.text.strip(), redacted=redacted)


def cut_bytes(text: str, limit: int) -> str:
    """A scrubbed text, cut to a number of bytes."""
    raw = text.encode()
    if len(raw) <= limit:
        return text
    kept = len(raw[:limit].decode(errors="ignore"))
    return text[: before_marker(text, kept)]


def _storable(text: str) -> str:
    """The text without NUL and lone surrogates, which cannot be stored."""
    return text.replace("\0", "").encode(errors="replace").decode()


def _beginning(text: str) -> str:
    """The beginning of a long text, cut before an item that may be incomplete."""
    if len(text) <= SCRUBBED_CHARS:
        return text
    edge = SCRUBBED_CHARS - LONGEST_ITEM
    blank = max(text.rfind(each, 0, edge) for each in " \n")
    return text[:blank] if blank > 0 else text[:SCRUBBED_CHARS]


def request_text(run: Run) -> str:
    """The input of a run as text; files are named, attachments only counted."""
    items = run.input.items
    parts = [_item_text(item) for item in items if item.given_as not in ("attachment", BRIEFING)]
    attached = sum(item.given_as == "attachment" for item in items)
    note = [f"[{attached} attachment(s)]"] if attached else []
    return _own_words(run, " ".join([*parts, *note]))


def query_text(run: Run) -> str:
    """The texts of an input, to search memories with."""
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
