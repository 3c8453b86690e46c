"""What was asked of a run, in the words of whoever asked."""

from collections.abc import Callable, Mapping
from typing import Final

from understudy.mailboxes.letters import letter_words
from understudy.runs.model import InputItem, Run, RunKind
from understudy.runs.sidechain_links import clarification_words

# Kinds of runs whose input stands in a frame that is the same every time, and the way out of it.
FRAMED: Final[Mapping[RunKind, Callable[[str], str]]] = {
    RunKind.MAILBOX_DELIVERY: letter_words,
    RunKind.PARENT_CLARIFICATION: clarification_words,
}


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
