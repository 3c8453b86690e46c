"""A small, safe reading of YAML and JSON: mappings, lists and strings, each with its line.

YAML is taken as its events. No tag, no alias and no type is ever looked at, so `1.10` and `no` stay
what was written, and nothing in a file can make an object or a bomb.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import yaml

MAX_CHARS: Final = 32_768
MAX_LEVELS: Final = 8
MAX_NODES: Final = 4_000

Value: TypeAlias = "str | tuple[Value, ...] | Mapping[str, Value]"


class Unreadable(Exception):
    """The text is no document that we read; `line` counts from 1 within it."""

    def __init__(self, cause: str, *, line: int, syntax: bool = False) -> None:
        super().__init__(cause)
        self.cause = cause
        self.line = line
        # Somebody wrote it down wrong, as opposed to something that we do not want.
        self.syntax = syntax


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The top mapping of a document, and the line on which each of its keys stands."""

    values: Mapping[str, Value]
    lines: Mapping[str, int]


@dataclass(slots=True)
class _Open:
    """A mapping or list that has not ended yet."""

    is_mapping: bool
    items: list[Value] = field(default_factory=list)
    pairs: dict[str, Value] = field(default_factory=dict)
    key: str | None = None

    def closed(self) -> Value:
        return self.pairs if self.is_mapping else tuple(self.items)


def read_document(text: str) -> Document:
    """The document in a text: JSON when it is that, else YAML; `Unreadable` when neither."""
    if len(text) > MAX_CHARS:
        raise Unreadable(f"longer than {MAX_CHARS} characters", line=1)
    found = _json(text) if text.lstrip().startswith("{") else None
    return found if found is not None else _yaml(text)


def _json(text: str) -> Document | None:
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return None
    values = {key: _plain(inner, level=2) for key, inner in value.items()}
    _check_characters(values, line=1)
    return Document(values=values, lines=dict.fromkeys(values, 1))


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Unreadable("a key is there twice", line=1)
    return found


_WORDS: Final = {None: "", True: "true", False: "false"}


def _plain(value: object, *, level: int) -> Value:
    if level > MAX_LEVELS:
        raise Unreadable(f"nested deeper than {MAX_LEVELS} levels", line=1)
    if isinstance(value, dict):
        return {str(key): _plain(inner, level=level + 1) for key, inner in value.items()}
    if isinstance(value, list):
        return tuple(_plain(inner, level=level + 1) for inner in value)
    if value is None or isinstance(value, bool):
        return _WORDS[value]
    return str(value)


def _yaml(text: str) -> Document:
    reader = _Reader()
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            reader.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise Unreadable(error.problem or "not YAML", line=line, syntax=True) from None
    except yaml.YAMLError:
        raise Unreadable("holds a character that YAML does not allow", line=1) from None
    except (ValueError, OverflowError):
        # An escape of a character that there is not.
        raise Unreadable("not YAML", line=1, syntax=True) from None
    return reader.document()


class _Reader:
    """Puts events together, without recursion."""

    def __init__(self) -> None:
        self._open: list[_Open] = []
        self._lines: dict[str, int] = {}
        self._top: Value | None = None
        self._nodes = 0
        self._documents = 0

    def document(self) -> Document:
        """What was put together."""
        if self._top is None or self._top == "":
            return Document(values={}, lines={})
        if not isinstance(self._top, Mapping):
            raise Unreadable("has to be a list of `key: value` lines", line=1)
        return Document(values=self._top, lines=self._lines)

    def take(self, event: yaml.Event) -> None:
        """Go on by one event."""
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1 or event.tags or event.version:
                raise Unreadable("holds more than one plain document", line=line)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._put(self._open.pop().closed(), line)
        elif isinstance(event, yaml.NodeEvent):
            self._node(event, line)

    def _node(self, event: yaml.NodeEvent, line: int) -> None:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise Unreadable(f"has more than {MAX_NODES} values", line=line)
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise Unreadable("anchors and aliases are not allowed", line=line)
        if getattr(event, "tag", None) is not None:
            raise Unreadable("tags are not allowed", line=line)
        if isinstance(event, yaml.ScalarEvent):
            _check_text(event.value, line)
            self._put(event.value, line)
            return
        if len(self._open) >= MAX_LEVELS:
            raise Unreadable(f"nested deeper than {MAX_LEVELS} levels", line=line)
        self._open.append(_Open(is_mapping=isinstance(event, yaml.MappingStartEvent)))

    def _put(self, value: Value, line: int) -> None:
        if not self._open:
            self._top = value
            return
        parent = self._open[-1]
        if not parent.is_mapping:
            parent.items.append(value)
        elif parent.key is None:
            self._key(parent, value, line)
        else:
            parent.pairs[parent.key] = value
            parent.key = None

    def _key(self, parent: _Open, key: Value, line: int) -> None:
        if not isinstance(key, str):
            raise Unreadable("a key has to be a word", line=line)
        if key in parent.pairs:
            raise Unreadable(f"the key {key[:60]!r} is there twice", line=line)
        parent.key = key
        if len(self._open) == 1:
            self._lines[key] = line


def _check_characters(value: Value, *, line: int) -> None:
    if isinstance(value, str):
        _check_text(value, line)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            _check_text(key, line)
            _check_characters(inner, line=line)
    else:
        for inner in value:
            _check_characters(inner, line=line)


def _check_text(text: str, line: int) -> None:
    """An escape can write what no file can hold: half a character, or a NUL."""
    if not text.isprintable() and any(c == "\0" or "\ud800" <= c <= "\udfff" for c in text):
        raise Unreadable("holds a character that no text can hold", line=line)
