"""The way from a command to the daemon: who calls, what came back, how failures end."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from understudy.cli import screen
from understudy.cli.options import shared
from understudy.cli.output import ExitCode, client_problem, for_daemon_at, note, print_json, report

if TYPE_CHECKING:
    from understudy.cli.screen import Layout
    from understudy.client.operation import PageOf
    from understudy.settings import ClientSettings, Flags, Settings


class DaemonConnection:
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

    def show_page(self, page: "PageOf[object]", layout: "Layout", *, empty: str) -> None:
        """Print a page of a list as a table, and that the list goes on."""
        self.show(lambda: screen.records(page.items, layout, empty=empty))
        self.more(page.next_cursor)

    def show_record(self, record: object, layout: "Layout") -> None:
        """Print one record, a field a line."""
        self.show(lambda: screen.record(record, layout))

    def more(self, cursor: str | None) -> None:
        """Tell people that a list goes on; with --json the answer says it."""
        if cursor is not None and not self.as_json:
            note(f"more follow: --cursor {cursor}")

    def _keep(self, answer: Any) -> None:
        self.answer = answer


@contextmanager
def connect(ctx: typer.Context) -> Iterator[DaemonConnection]:
    """A connection; what goes wrong on it is said, and ends the command with its exit code."""
    from pydantic import ValidationError

    from understudy.client import ClientError

    options = shared(ctx)
    as_json = options.json
    where = destination(ctx)
    with for_daemon_at(options.url):
        try:
            connection = DaemonConnection(where, as_json=as_json)
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


def settings_or_exit(flags: "Flags") -> "Settings":
    """What a daemon started here would take; a value that cannot be used is a usage error."""
    from understudy.settings import SettingsError, load_settings

    try:
        return load_settings(flags)
    except SettingsError as problem:
        raise _unusable(problem) from None


def client_settings_or_exit(url: str | None) -> "ClientSettings":
    """Which daemon to talk to: the one at `url`, or the one that the environment names."""
    from understudy.settings import ClientSettings, SettingsError, client_settings

    try:
        found = client_settings()
    except SettingsError as problem:
        if not url:
            raise _unusable(problem) from None
        return ClientSettings(url=url)
    return ClientSettings(url=url or found.url, token=found.token)


def _unusable(problem: Exception) -> typer.Exit:
    note(f"understudy: {problem}")
    return typer.Exit(ExitCode.USAGE)
