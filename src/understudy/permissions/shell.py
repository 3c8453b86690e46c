"""Matches patterns against command lines: an allow strictly, an ask and a deny broadly."""

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from understudy.permissions.globs import WILDCARDS, matches
from understudy.permissions.shell_words import Command, Word, commands

# Characters that start another command, a substitution, a redirection or a new line.
_CONTROL: Final = re.compile(r"[;&|`$()<>{}\x00-\x08\x0a-\x1f\x7f]")
_QUOTES: Final = re.compile(r"[\"'\\]")
_CONTINUED: Final = re.compile(r"\\\r?\n")
_BLANK_OR_CONTROL: Final = re.compile(rf"{_CONTROL.pattern}|\s")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=")

# Shell keywords before a command that are no part of it.
_BEFORE: Final = "! { } if then elif else fi do done while until in esac"
_RESERVED: Final = frozenset(_BEFORE.split())
# Keywords followed by words that are no command, up to `do`.
_LOOPS: Final = frozenset({"for", "select"})
# Programs that run another, right after their options, or after one more word.
_WRAPPERS: Final = (
    "ash bash builtin busybox chronic command coproc csh dash doas env eval exec fakeroot fish "
    "ionice ksh ltrace nice nohup nsenter parallel script setarch setsid sh stdbuf strace sudo tcsh "
    "time toybox trap unbuffer unshare watch xargs zsh"
)
_WRAPPERS_OF_SECOND: Final = "chroot chrt flock function runuser ssh su taskset timeout"
_RUNS_OTHERS: Final = {
    **dict.fromkeys(_WRAPPERS.split(), 0),
    **dict.fromkeys(_WRAPPERS_OF_SECOND.split(), 1),
}
# Options of any program that are followed by a command.
_THEN_RUNS: Final = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
# Effort limit as a multiple of the text: deeply nested shells count as open.
_EFFORT: Final = 16
_MAX_DEPTH: Final = 16


@dataclass(frozen=True, slots=True)
class CommandLine:
    """The possible readings of a command line."""

    readings: tuple[str, ...]
    # The commands among them, as the shell splits the line.
    run: tuple[str, ...]
    # Whether the executed command depends on an expansion at run time.
    is_open: bool


def shell_objection(pattern: str, text: str) -> str | None:
    """Why an allow rule does not match: a wildcard never covers control characters."""
    if not matches(pattern, text):
        return "does not match"
    # Both have the same control characters in the same order, so the parts between them pair up.
    is_spelled = _CONTROL.findall(pattern) == _CONTROL.findall(text)
    parts, said = _CONTROL.split(pattern), _CONTROL.split(text)
    if is_spelled and all(map(matches, parts, said)):
        return None
    return "has shell control characters, which a wildcard of an allow rule does not cover"


def shell_touches(pattern: str, text: str) -> bool:
    """Whether an ask or deny rule matches a command line, or any command in it."""
    line = read_command_line(text)
    if line.is_open and pattern[:1] not in WILDCARDS:
        return True
    return any(matches(pattern, reading) for reading in line.readings)


# A cache: the same command is matched against every rule.
@lru_cache(maxsize=4)
def read_command_line(text: str) -> CommandLine:
    """Every possible reading of a command line."""
    reader = _Reader(left=_EFFORT * (len(text) + 64))
    reader.read(text)
    return CommandLine(
        readings=tuple(dict.fromkeys((*_pieces(text), *reader.readings))),
        run=tuple(dict.fromkeys(reading.strip() for reading in reader.readings)),
        is_open=reader.is_open,
    )


def _pieces(text: str) -> Iterator[str]:
    """The text, and the parts between control characters, whether quoted or not."""
    yield text
    for version in dict.fromkeys((text, _CONTINUED.sub("", text))):
        for part in (version, *_CONTROL.split(version)):
            yield " ".join(part.split())
            yield " ".join(_QUOTES.sub("", part).split())


@dataclass(slots=True)
class _Reader:
    """Reads commands, nested ones included; gives up at the effort limit."""

    left: int
    readings: list[str] = field(default_factory=list)
    is_open: bool = False
    seen: set[str] = field(default_factory=set)

    def read(self, text: str, depth: int = 0) -> None:
        if text in self.seen:
            return
        self.seen.add(text)
        self.left -= len(text)
        if self.left < 0 or depth > _MAX_DEPTH:
            self.is_open = True
            return
        for command in commands(text):
            self._command(command, depth)

    def _command(self, command: Command, depth: int) -> None:
        for place in _programs(command):
            program = command[place]
            said = " ".join(word.text for word in command[place:])
            self.left -= len(said)
            if self.left < 0 or program.is_open or program.text == "case":
                self.is_open = True
                return
            self._said(said, program, depth)

    def _said(self, said: str, program: Word, depth: int) -> None:
        bare = said[program.text.rfind("/") + 1 :]
        # A wrapper program may pass on words that are not visible here.
        self.readings += (said, f"{said} ", bare, f"{bare} ")
        if _BLANK_OR_CONTROL.search(program.text):
            # No program has such a name: it is a command line for a shell.
            self.read(said, depth + 1)


def _programs(command: Command) -> Iterator[int]:
    """The positions in a command where a program may be named, first ones first."""
    todo = deque([0])
    todo.extend(place + 1 for place, word in enumerate(command) if word.text in _THEN_RUNS)
    seen: set[int] = set()
    while todo:
        place = todo.popleft()
        if place >= len(command) or place in seen:
            continue
        seen.add(place)
        text = command[place].text
        if text in _RESERVED or _ASSIGNMENT.match(text):
            todo.append(place + 1)
        elif text in _LOOPS:
            todo.append(_after_do(command, place))
        else:
            yield place
            taken = _RUNS_OTHERS.get(text.rpartition("/")[2])
            if taken is not None:
                todo.extend(_after(command, place + 1, taken))


def _after_do(command: Command, place: int) -> int:
    while place < len(command) and command[place].text != "do":
        place += 1
    return place + 1


def _after(command: Command, place: int, taken: int) -> Iterator[int]:
    """The positions of the program that a wrapper runs, after `taken` words of its own."""
    follows_option = False
    for at in range(place, len(command)):
        text = command[at].text
        if text.startswith("-") or _ASSIGNMENT.match(text):
            follows_option = "=" not in text
            continue
        if follows_option or not taken:
            yield at
        # The word after an option may be its value; the program then comes later.
        if not follows_option and not taken:
            return
        taken -= not follows_option
        follows_option = False
