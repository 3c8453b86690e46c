"""A tool call as a person reads it before deciding: nothing hidden, and what an edit changes."""

import difflib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from understudy.cli.screen import one_line, visible

# What is shown of a long call; the rest is counted, and shown when asked for.
MAX_LINES: Final = 40
MAX_CHARS: Final = 4_000
MAX_INLINE: Final = 100
# The lines of a diff that name its two files.
DIFF_HEADING: Final = 2

Arguments = Mapping[str, Any]


def call_lines(arguments: Arguments) -> list[str]:
    """Every argument by name; a long text keeps its lines."""
    shown = {visible(name): _text(arguments[name]) for name in arguments}
    shown = {name: text for name, text in shown.items() if text is not None}
    width = max((len(name) for name in shown), default=0)
    lines: list[str] = []
    for name, text in shown.items():
        first, *rest = str(text).split("\n")
        lines.append(f"{name:<{width}}  {first}")
        lines += [f"{'':<{width}}  {line}" for line in rest]
    return lines or ["(no arguments)"]


def shortened(lines: Sequence[str], *, more: str) -> list[str]:
    """The beginning of a long call, and how much of it is not shown; `more` says how to see it."""
    kept: list[str] = []
    room = MAX_CHARS
    for line in lines[:MAX_LINES]:
        if len(line) > room:
            kept.append(line[:room])
            break
        kept.append(line)
        room -= len(line)
    hidden = sum(map(len, lines)) - sum(map(len, kept))
    if len(kept) == len(lines) and not hidden:
        return kept
    return [*kept, f"[NOT SHOWN: {hidden} more characters; {more}]"]


def diff_lines(before: Arguments, after: Arguments) -> list[str]:
    """What an edit of the arguments changes, line by line."""
    changes = difflib.unified_diff(call_lines(before), call_lines(after), n=1, lineterm="")
    return [line for line in [*changes][DIFF_HEADING:] if not line.startswith("@@")]


def inline(arguments: Arguments, limit: int = MAX_INLINE) -> str:
    """A call on one line, cut where it is long."""
    given = {name: value for name, value in arguments.items() if value is not None}
    return one_line(visible(json.dumps(given, ensure_ascii=False)), limit)


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return None if value is None else visible(value)
    short = json.dumps(value, ensure_ascii=False)
    long = json.dumps(value, ensure_ascii=False, indent=2)
    return visible(short if len(short) <= MAX_INLINE else long)
