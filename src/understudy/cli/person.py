"""The person at the terminal: prompts, notes, an editor, confirmations."""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

import typer

from understudy.cli.inputs import why
from understudy.cli.output import note

# The most that is taken at once from a terminal that hands over keys.
KEY_BYTES: Final = 1024
# What an arrow or a function key sends, which is no key of ours.
_SEQUENCE: Final = re.compile(r"\x1b(?:\[[0-9;]*[@-~]|O.|.)?", re.DOTALL)


class Left(Exception):
    """The person left the question open."""


class Person(Protocol):
    """A person who can be prompted."""

    def ask(self, prompt: str) -> str:
        """One line; raises `Left` when there will be none."""
        ...

    def key(self, prompt: str) -> str:
        """One key, or a line where keys cannot be read one by one; raises `Left` like `ask`."""
        ...

    def say(self, lines: Iterable[str]) -> None:
        """Tell something."""
        ...

    def edit(self, text: str, *, name: str = "arguments.json") -> str | None:
        """The text as the person wants it; None when it cannot be edited here.

        An editor sees it as a file of that name.
        """
        ...

    def forget_typed(self) -> None:
        """Drop what was typed before there was a question: it was meant for something else."""
        ...


class Somebody:
    """The person at this terminal."""

    def ask(self, prompt: str) -> str:
        """One line; Ctrl-C and Ctrl-D leave the question open."""
        try:
            return read_line(prompt)
        except (EOFError, KeyboardInterrupt):
            print(file=sys.stderr)
            raise Left from None

    def key(self, prompt: str) -> str:
        """One key without Enter; what is pasted or typed ahead is taken as a whole."""
        try:
            import termios
            import tty
        except ImportError:  # not every system has terminals of this kind
            return self.ask(prompt)
        terminal = sys.stdin.fileno()
        before = termios.tcgetattr(terminal)
        try:
            # Draining keeps what was typed ahead. The mode changes before the prompt is shown: a
            # Ctrl-D that meets a terminal in line mode would be dropped by the change.
            tty.setcbreak(terminal, termios.TCSADRAIN)
            sys.stderr.write(prompt)
            sys.stderr.flush()
            typed = _read_key(terminal)
        except KeyboardInterrupt:
            typed = ""
        finally:
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)
        note(typed)
        if not typed:
            raise Left
        return typed

    def say(self, lines: Iterable[str]) -> None:
        """Lines beside the reply."""
        for line in lines:
            note(line)

    def edit(self, text: str, *, name: str = "arguments.json") -> str | None:
        """Open the editor that the environment names; None when there is none or it fails."""
        from understudy.settings import editor_command

        command = editor_command()
        if command is None:
            return None
        with tempfile.TemporaryDirectory(prefix="understudy-") as directory:
            file = Path(directory) / name
            file.write_text(text, encoding="utf-8")
            try:
                subprocess.run([*shlex.split(command), str(file)], check=True)  # noqa: S603
                return file.read_text(encoding="utf-8")
            except (OSError, ValueError, subprocess.CalledProcessError) as problem:
                note(f"the editor did not work: {command}: {why(problem)}")
                return None

    def forget_typed(self) -> None:
        """Empty what the terminal holds."""
        try:
            import termios
        except ImportError:  # not every system has terminals of this kind
            return
        # Nor is every stdin a terminal.
        with suppress(termios.error, OSError, ValueError):
            termios.tcflush(sys.stdin, termios.TCIFLUSH)


class Piped(Somebody):
    """Answers from a pipe; each is echoed where it would have been typed."""

    def ask(self, prompt: str) -> str:
        """The next line; the end of the input leaves the question open."""
        typed = super().ask(prompt)
        note(typed)
        return typed

    def key(self, prompt: str) -> str:
        """The next line."""
        return self.ask(prompt)


def _read_key(terminal: int) -> str:
    """What was typed, without the Enter that some add; empty at the end of the input."""
    while True:
        read = os.read(terminal, KEY_BYTES)
        # Ctrl-D is a character where keys are read one by one.
        if not read or read.startswith(b"\x04"):
            return ""
        typed = _SEQUENCE.sub("", read.decode(errors="ignore")).strip()
        if typed.isprintable() and typed:
            return typed


def somebody() -> Person | None:
    """The person at the terminal; None when stdin is a pipe or a file."""
    return Somebody() if sys.stdin.isatty() else None


def anybody() -> Person:
    """The person who answers, at the terminal or from a pipe."""
    return somebody() or Piped()


def read_line(prompt: str) -> str:
    """A line from the terminal, with editing where the terminal has it."""
    with suppress(ImportError):
        import readline  # noqa: F401 - gives `input` editing and history
    if sys.stdout.isatty():
        return input(prompt).strip()
    # The prompt goes to stderr: a pipe on stdout gets the reply alone.
    sys.stderr.write(prompt)
    sys.stderr.flush()
    return input().strip()


def require_somebody(*, as_json: bool) -> None:
    """Go on only where a person can be asked."""
    if as_json or not sys.stdin.isatty():
        raise typer.BadParameter("nobody can be asked here: say --yes, or look with --dry-run")


def confirm(question: str) -> None:
    """Go on only if a person says so."""
    typer.confirm(question, abort=True, err=True)
