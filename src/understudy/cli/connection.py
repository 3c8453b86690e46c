"""The way from a command to the daemon: who calls, what came back, how failures end."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from understudy.cli.hints import for_daemon_at
from understudy.cli.local_settings import client_settings_or_exit
from understudy.cli.options import shared
from understudy.cli.output import ExitCode, client_problem, note, print_json, report

if TYPE_CHECKING:
    from understudy.settings import ClientSettings


class Connection:
    """A client for the time of one command, and the last answer as it came."""

    def __init__(self, where: "ClientSettings", *, as_json: bool) -> None:
        from understudy.client import Client

        self.as_json = as_json
        self.has_token = bool(where.token)
        self.answer: Any = None
        self.client: Client = Client(where.url, where.token, on_answer=self._keep)

    def show(self, render: Callable[[], None]) -> None:
        """Print the last answer: as it came with --json, in words otherwise."""
        if self.as_json:
            print_json(self.answer)
        else:
            render()

    def more(self, cursor: str | None) -> None:
        """Tell people that a list goes on; with --json the answer says it."""
        if cursor is not None and not self.as_json:
            note(f"more follow: --cursor {cursor}")

    def _keep(self, answer: Any) -> None:
        self.answer = answer


@contextmanager
def connect(ctx: typer.Context) -> Iterator[Connection]:
    """A connection; what goes wrong on it is said, and ends the command with its exit code."""
    from pydantic import ValidationError

    from understudy.client import ClientError

    options = shared(ctx)
    as_json = options.json
    where = destination(ctx)
    with for_daemon_at(options.url):
        try:
            connection = Connection(where, as_json=as_json)
            with connection.client:
                yield connection
        except ClientError as problem:
            code = report(problem, as_json=as_json, has_token=bool(where.token))
            raise typer.Exit(code) from None
        except ValidationError as problem:
            raise typer.Exit(_report_invalid(problem.errors()[0], as_json=as_json)) from None


def destination(ctx: typer.Context) -> "ClientSettings":
    """Which daemon to talk to, and as whom: options first, then the environment."""
    from understudy.settings import ClientSettings

    options = shared(ctx)
    found = client_settings_or_exit(options.url)
    return ClientSettings(url=found.url, token=options.token or found.token)


def _report_invalid(error: Any, *, as_json: bool) -> ExitCode:
    """A value that the client's own models refuse is a mistake on the command line."""
    name = ".".join(str(part) for part in error["loc"])
    detail = f"{name}: {error['msg']}" if name else str(error["msg"])
    if as_json:
        print_json(client_problem("invalid_call", "Invalid call", detail))
    note(f"error: {detail}")
    return ExitCode.USAGE
