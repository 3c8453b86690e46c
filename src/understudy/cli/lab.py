"""`understudy lab`: the product's own parts on JSON lines, for those who measure them.

Each subcommand lives in its own module, which names it in a `commands` of its own; `main` puts
them under one group.
"""

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import typer

from understudy.cli.options import Commands
from understudy.cli.output import ExitCode, note

Line = dict[str, Any]

commands = Commands("Measure the product's own parts: JSON lines on stdin, JSON lines on stdout.")


def answer_lines(answer: Callable[[Line], Line]) -> None:
    """Answer each line of stdin with one line on stdout, under the same id."""
    for number, line in read_lines():
        try:
            made = answer(line)
        except (KeyError, TypeError, ValueError) as problem:
            refuse(number, f"{type(problem).__name__}: {problem}")
        # ASCII, so that a lone surrogate survives any encoding of stdout.
        print(json.dumps({"id": line.get("id"), **made}))


def read_lines() -> Iterator[tuple[int, Line]]:
    """The objects on stdin with their line numbers; a bad line ends the command."""
    for number, raw in enumerate(sys.stdin.buffer, 1):
        if not raw.strip():
            continue
        try:
            line = json.loads(raw)
        except ValueError as problem:
            refuse(number, f"not JSON: {problem}")
        if not isinstance(line, dict):
            refuse(number, "not a JSON object")
        yield number, line


def refuse(number: int, why: str) -> NoReturn:
    """Say which line was bad, and leave."""
    note(f"error: line {number}: {why}")
    raise typer.Exit(ExitCode.USAGE)
