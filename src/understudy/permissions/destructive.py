"""Commands that are never run, by the table in `destructive.toml`: plain ruin of the machine.

One layer, like the guard: a command that builds its words at run time is not seen here, and asks a
person as any other.
"""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class DestructiveRule:
    """One kind of ruin: why it is refused, and examples that prove the rule."""

    id: str
    reason: str
    # All of these in one command, or one of these in the line.
    all: Sequence[Any]
    line: Sequence[Any]
    matches: Sequence[str]
    rejects: Sequence[str]

    def covers(self, line: str, run: Sequence[str]) -> bool:
        """Whether the line, or one of the commands that it runs, does this."""
        if any(pattern.search(line) for pattern in self.line):
            return True
        return bool(self.all) and any(
            all(pattern.search(command) for pattern in self.all) for command in run
        )


@cache
def destructive_rules() -> tuple[DestructiveRule, ...]:
    """The table, read once."""
    book = tomllib.loads((files("understudy.permissions") / SOURCE).read_text("utf-8"))
    return tuple(_rules(book["words"], book["rules"]))


def destruction(command: str) -> DestructiveRule | None:
    """The rule by which a command line is refused; None for all others."""
    line = command[:MAX_CHARS]
    run = read_command_line(line).run
    return next((rule for rule in destructive_rules() if rule.covers(line, run)), None)


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
