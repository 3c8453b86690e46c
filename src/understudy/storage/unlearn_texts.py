"""Texts within rows: finding them, and cutting parts out of them."""

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

# Text columns that people or models write, to be searched and scrubbed, beside every JSON column.
WRITTEN: Final = frozenset(
    {"reason", "error", "last_error", "name", "display_name", "file_name", "title", "ended_reason"}
    | {"text"}
)
# Texts of a row once more, folded.
FOLDED: Final = frozenset({"search", "sort_name"})
# JSON fields whose values are identifiers, not text that somebody wrote.
_NO_TEXT: Final = frozenset(
    {"type", "kind", "status", "state", "model", "media_type", "tool_name", "finish_reason", "role"}
    | {"source_plugin", "source_kind", "locale", "event", "plugin", "proof"}
)
PATTERNS_TOGETHER: Final = 2_000
# Minimum length of a shortened copy that is recognised.
MIN_BEGINNING: Final = 8
_PATTERN_MEMORY: Final = 64 * 1024 * 1024


class Cutter:
    """Replaces texts in strings, at any depth of JSON, and in packed artifacts."""

    def __init__(self, texts: Collection[str]) -> None:
        spelt = {each for text in texts for each in (text, json.dumps(text)[1:-1]) if each}
        ordered = sorted(spelt, key=len, reverse=True)
        self.only = next(iter(texts)) if len(texts) == 1 else None
        self._texts = frozenset(texts)
        self._beginnings: dict[str, list[str]] = {}
        for it in ordered:
            if len(it) > MIN_BEGINNING:
                self._beginnings.setdefault(it[:MIN_BEGINNING], []).append(it)
        self._patterns = [
            re2.compile("|".join(map(re2.escape, some)), options(_PATTERN_MEMORY))
            for some in batches(ordered, PATTERNS_TOGETHER)
        ]

    def folded(self) -> "Cutter":
        """The cutter for folded search text."""
        return Cutter({folded(text) for text in self._texts})

    def _without_beginning(self, text: str) -> str:
        """A shortened text without the beginning of one of the texts at its end."""
        for beginning, wholes in self._beginnings.items():
            at = text.rfind(beginning)
            cut = text[at : -len(ELLIPSIS)]
            if at >= 0 and any(whole.startswith(cut) for whole in wholes):
                return text[:at] + MARK + ELLIPSIS
        return text

    def holds(self, value: Any) -> bool:
        """Whether any of the texts is in a value."""
        return bool(self.cut(value) != value)

    def cut(self, value: Any) -> Any:
        """The value with a mark in place of each text."""
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
    """The text of a packed artifact; empty where it is damaged."""
    try:
        return zlib.decompress(content).decode(errors="replace")
    except zlib.error:
        return ""


def leaves(value: Any, name: str, *, names: bool = False) -> Iterator[str]:
    """The texts within a JSON value; ids only with `names`."""
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
