"""Commands in this process: the command line is built once, which takes longer than most commands."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from typer.main import get_command
from typer.testing import CliRunner

from understudy.cli.main import build_app


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """What a command did; `output` is both streams as a terminal would show them."""

    exit_code: int
    stdout_bytes: bytes
    stderr_bytes: bytes
    output_bytes: bytes

    @property
    def stdout(self) -> str:
        return self.stdout_bytes.decode(errors="replace")

    @property
    def stderr(self) -> str:
        return self.stderr_bytes.decode(errors="replace")

    @property
    def output(self) -> str:
        return self.output_bytes.decode(errors="replace")


def typed(
    *words: str, stdin: str | bytes | None = None, env: Mapping[str, str] | None = None
) -> Typed:
    """Run a command; an error that nobody foresaw is raised."""
    with CliRunner().isolation(input=stdin, env=env) as (stdout, stderr, output):
        code = _exit_code(words)
        sys.stdout.flush()
        sys.stderr.flush()
        return Typed(
            exit_code=code,
            stdout_bytes=stdout.getvalue(),
            stderr_bytes=stderr.getvalue(),
            output_bytes=output.getvalue(),
        )


def _exit_code(words: tuple[str, ...]) -> int:
    try:
        _command().main(args=list(words), prog_name="understudy")
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else int(left.code is not None)
    return 0


@cache
def _command() -> Any:
    return get_command(build_app())
