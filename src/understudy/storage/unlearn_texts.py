"""The texts within rows: finding them, and cutting parts out of them."""

import json
import zlib
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

import re2
import sqlalchemy as sa

from understudy.core.batches import batches
from understudy.core.text import ELLIPSIS
from understudy.patterns.linear import options
from understudy.storage.rows import DAMAGED, Json, folded
from understudy.unlearn.model import MARK

# Texts that people or models write outside JSON; every JSON column is scrubbed as well.
WRITTEN: Final = frozenset(
    {"reason", "error", "last_error", "name", "display_name", "file_name", "title", "ended_reason"}
)
# What a row is found by: its texts once more, in the form in which they are compared.
SEARCHED: Final = "search"
# Values of JSON fields that say what something is, and not what somebody said.
_NO_TEXT: Final = frozenset(
    {"type", "kind", "status", "state", "model", "media_type", "tool_name", "finish_reason", "role"}
    | {"source_plugin", "source_kind", "locale", "event", "plugin", "proof"}
)
PATTERNS_TOGETHER: Final = 2_000
# A shortened copy of a text has at least so many characters of it.
MIN_BEGINNING: Final = 8
_PATTERN_MEMORY: Final = 64 * 1024 * 1024


class Cutter:
    """Replaces texts in strings, at any depth of JSON, and in packed artifacts."""

    def __init__(self, texts: Collection[str]) -> None:
        spelt = {each for text in texts for each in (text, json.dumps(text)[1:-1]) if each}
        ordered = sorted(spelt, key=len, reverse=True)
        self.only = next(iter(texts)) if len(texts) == 1 else None
        self._texts = frozenset(texts)
        self._beginnings = {it[:MIN_BEGINNING]: it for it in ordered if len(it) > MIN_BEGINNING}
        self._patterns = [
            re2.compile("|".join(map(re2.escape, some)), options(_PATTERN_MEMORY))
            for some in batches(ordered, PATTERNS_TOGETHER)
        ]

    def folded(self) -> "Cutter":
        """The same for texts in the form in which they are searched for."""
        return Cutter({folded(text) for text in self._texts})

    def _without_beginning(self, text: str) -> str:
        """A shortened text without the beginning of a text at its end."""
        for beginning, whole in self._beginnings.items():
            at = text.rfind(beginning)
            if at >= 0 and whole.startswith(text[at : -len(ELLIPSIS)]):
                return text[:at] + MARK + ELLIPSIS
        return text

    def holds(self, value: Any) -> bool:
        """Whether any of the texts is in a value."""
        return bool(self.cut(value) != value)

    def cut(self, value: Any) -> Any:
        """The value without the texts; a mark stands where they were."""
        if value is DAMAGED:
            return value
        if isinstance(value, str):
            for pattern in self._patterns:
                value = pattern.sub(MARK, value)
            return self._without_beginning(value) if value.endswith(ELLIPSIS) else value
        if isinstance(value, dict):
            return {name: self.cut(each) for name, each in value.items()}
        if isinstance(value, list):
            return [self.cut(each) for each in value]
        if isinstance(value, bytes):
            text = unpacked(value)
            cut = self.cut(text)
            return value if cut == text else zlib.compress(cut.encode(errors="replace"), level=1)
        return value


def written_columns(table: sa.Table) -> list[sa.Column[Any]]:
    """The columns that people or models write, beside packed ones."""
    return [it for it in table.c if isinstance(it.type, Json) or it.name in WRITTEN]


def unpacked(content: bytes) -> str:
    """The text of a packed artifact; nothing where that is damaged."""
    try:
        return zlib.decompress(content).decode(errors="replace")
    except zlib.error:
        return ""


def leaves(value: Any, name: str, *, names: bool = False) -> Iterator[str]:
    """The texts within a JSON value; ids only where `names` asks for them."""
    if isinstance(value, str):
        if names or not (
            name.endswith(("_id", "_ids", "_key", "key", "digest")) or name in _NO_TEXT
        ):
            yield value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from leaves(each, str(key), names=names)
    elif isinstance(value, list):
        for each in value:
            yield from leaves(each, name, names=names)


def readable_text(data: bytes) -> Iterator[str]:
    try:
        yield data.decode()
    except UnicodeDecodeError:
        return
