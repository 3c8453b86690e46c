"""Readers of the fields in a skill's files: text, words, tools, pairs."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from understudy.core.invisible_characters import hidden_in
from understudy.core.text import preview
from understudy.skills.bundles.document import Value
from understudy.skills.dependencies.names import dependency_refused

MAX_TEXT_CHARS: Final = 8_192
MAX_ITEMS: Final = 200
# A tool may have a pattern in parentheses, with spaces: Bash(git add:*).
_TOOL: Final = re.compile(r"[^\s,()]+(?:\([^()\n]*\))?|\([^()\n]*\)")
MAX_TOOL_CHARS: Final = 128
_TOOL_NAME: Final = re.compile(rf"[A-Za-z0-9_.:/*-]{{1,{MAX_TOOL_CHARS}}}")
_COMMA: Final = re.compile(r"\s*,\s*")


class WrongValue(Exception):
    """The value of a field has the wrong type; the message says what is required."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldKind:
    """A field: its attribute, and the reader of its value."""

    attribute: str
    read: Callable[[Value], object]


def text(value: Value) -> str:
    """Text of one or more lines."""
    if not isinstance(value, str):
        raise WrongValue("has to be text")
    if len(value) > MAX_TEXT_CHARS:
        raise WrongValue(f"is longer than {MAX_TEXT_CHARS} characters")
    if hidden_in(value) is not None:
        raise WrongValue("holds a hidden character")
    return value.strip()


def line(limit: int) -> Callable[[Value], str]:
    """A reader of text on one line, with a maximum length."""

    def read(value: Value) -> str:
        found = " ".join(text(value).split())
        if len(found) > limit:
            raise WrongValue(f"is longer than {limit} characters")
        return found

    return read


def words(value: Value) -> tuple[str, ...]:
    """A list of words, or comma-separated words; without duplicates."""
    given = _COMMA.split(text(value)) if isinstance(value, str) else _texts(value)
    return _unique(given)


def tools(value: Value) -> tuple[str, ...]:
    """Tools on one line separated by spaces or commas, or as a list."""
    given = _TOOL.findall(text(value)) if isinstance(value, str) else _texts(value)
    if any(len(item.splitlines()) > 1 for item in given):
        raise WrongValue("names a tool over several lines")
    return _unique(given)


def tool_names(value: Value) -> tuple[str, ...]:
    """Tools by name only: a run is told them, so nothing else is allowed."""
    found = tools(value)
    for name in found:
        if not _TOOL_NAME.fullmatch(name):
            raise WrongValue(
                f"{preview(name, 80)!r} is no name of a tool: up to {MAX_TOOL_CHARS} letters, digits"
                " and any of _ - . : / * are"
            )
    return found


def dependencies(value: Value) -> tuple[str, ...]:
    """Packages and programs: `pip:x`, `npm:y`, or the bare name of a program."""
    found = words(value)
    for label in found:
        cause = dependency_refused(label)
        if cause is not None:
            raise WrongValue(f"{label[:80]!r} {cause}")
    return found


def pairs(value: Value) -> Mapping[str, str]:
    """A mapping of words to text; nested values are stored as JSON."""
    if value == "":
        return {}
    if not isinstance(value, Mapping):
        raise WrongValue("has to be a mapping of words to text")
    return {
        key: text(inner if isinstance(inner, str) else json.dumps(inner, ensure_ascii=False))
        for key, inner in value.items()
        if text(key)
    }


def as_text(value: Value) -> str:
    """Any value as one text."""
    if isinstance(value, str):
        return value
    if isinstance(value, tuple) and all(isinstance(item, str) for item in value):
        return ", ".join(map(str, value))
    return json.dumps(value, ensure_ascii=False)


def _texts(value: Value) -> list[str]:
    if isinstance(value, Mapping):
        raise WrongValue("has to be a list")
    return [text(item) for item in value]


def _unique(given: list[str]) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(item for item in given if item))
    if len(found) > MAX_ITEMS:
        raise WrongValue(f"has more than {MAX_ITEMS} entries")
    return found
