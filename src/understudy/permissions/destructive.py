"""Destructive commands that are never run, by the table in `destructive.toml`.

One layer, like the guard: a command that builds its words at run time is not detected here, and
asks a person as any other.
"""

import posixpath
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

import re2

from understudy.permissions.shell import read_command_line

SOURCE: Final = "destructive.toml"
MAX_CHARS: Final = 256 * 1024
_WORD: Final = re.compile(r"[^\s\"'<>=]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class DestructiveRule:
    """A destructive command: the reason to refuse it, and examples for tests."""

    id: str
    reason: str
    # All of these match one command, or one of these matches the line.
    all: Sequence[Any]
    line: Sequence[Any]
    matches: Sequence[str]
    rejects: Sequence[str]

    def covers(self, lines: Sequence[str], run: Sequence[str]) -> bool:
        """Whether a reading of the line, or one of the commands in it, matches this rule."""
        if any(pattern.search(line) for pattern in self.line for line in lines):
            return True
        return bool(self.all) and any(
            all(pattern.search(command) for pattern in self.all) for command in run
        )


@cache
def destructive_rules() -> tuple[DestructiveRule, ...]:
    """The rules of the table, cached."""
    book = tomllib.loads((files("understudy.permissions") / SOURCE).read_text("utf-8"))
    return tuple(_rules(book["words"], book["rules"]))


def destruction(command: str) -> DestructiveRule | None:
    """The destructive rule that a command line matches; None without a match."""
    line = command[:MAX_CHARS]
    lines, run = (
        tuple(dict.fromkeys((*texts, *map(_normal_paths, texts))))
        for texts in ((line,), read_command_line(line).run)
    )
    return next((rule for rule in destructive_rules() if rule.covers(lines, run)), None)


def _normal_paths(text: str) -> str:
    """The text with each path in its shortest form: `/tmp/../etc` is `/etc`, `./` is `.`."""
    return _WORD.sub(lambda word: posixpath.normpath(word[0]) if "/" in word[0] else word[0], text)


def _rules(
    words: Mapping[str, str], rows: Sequence[Mapping[str, Any]]
) -> Iterator[DestructiveRule]:
    def compiled(pattern: str) -> Any:
        for name, part in words.items():
            pattern = pattern.replace(f"@{{{name}}}", f"(?:{part})")
        return re2.compile(pattern)

    for row in rows:
        patterns = {
            kind: tuple(compiled(each) for each in row.get(kind, ())) for kind in ("all", "line")
        }
        yield DestructiveRule(**{**row, **patterns})
