"""The command decorator: connects to the daemon, shows the answer, reports errors."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import typer

from understudy.cli import ids, screen
from understudy.cli.options import ConnectedCommand, Cursor, Limit, PageOptions, shared
from understudy.cli.output import (
    ExitCode,
    client_problem,
    for_daemon_at,
    note,
    print_json,
    report,
    understudy,
)
from understudy.cli.screen import Layout, Pairs
from understudy.core.text import NAME_CHARS, preview

if TYPE_CHECKING:
    from understudy.client import Client
    from understudy.settings import ClientSettings, Flags, Settings

F = TypeVar("F", bound=Callable[..., Any])
# The layout of a command's answer: see `Commands`.
Show: TypeAlias = Layout | str | Callable[[Any], Pairs | None]
NOTHING: Final[Mapping[str, Any]] = {}
NAMED: Final = inspect.Parameter.KEYWORD_ONLY
CONTEXT: Final = inspect.Parameter("ctx", NAMED, annotation=typer.Context)
PAGE: Final = (
    inspect.Parameter("limit", NAMED, annotation=Limit, default=50),
    inspect.Parameter("cursor", NAMED, annotation=Cursor, default=None),
)


class DaemonConnection:
    """The client of one command, and the JSON of the last answer."""

    def __init__(self, where: "ClientSettings", *, as_json: bool) -> None:
        from understudy.client import Client

        self.as_json = as_json
        self.has_token = bool(where.token)
        self.answer: Any = None
        self.client: Client = Client(where.url, where.token, on_answer=self._keep, is_light=True)

    def show(self, render: Callable[[], None]) -> None:
        """Print the last answer: as JSON with --json, else as text."""
        if self.as_json:
            print_json(self.answer)
        else:
            render()

    def show_answer(
        self, view: Any, show: Show, empty: str | None = None, typed: Mapping[str, Any] = NOTHING
    ) -> None:
        """Print the last answer by its layout; note if the list has more pages."""
        words = {"view": view, "understudy": understudy(), **typed}
        if isinstance(show, str):
            self.show(lambda: note(show.format(**words)))
        elif not isinstance(show, Mapping):
            self.show(lambda: screen.fields(show(view) or ()))
        elif empty is None:
            self.show(lambda: screen.record(view, show))
        else:
            self.show(lambda: screen.records(view.items, show, empty=empty.format(**words)))
        self.more(getattr(view, "next_cursor", None))

    def more(self, cursor: str | None) -> None:
        """Note that the list has more pages; with --json the cursor shows it."""
        if cursor is not None and not self.as_json:
            note(f"more follow: --cursor {cursor}")

    def _keep(self, answer: Any) -> None:
        self.answer = answer


class Commands:
    """A group of commands under one noun."""

    def __init__(self, help: str) -> None:  # noqa: A002 - the word that Typer uses
        self.help = help
        self.app = typer.Typer(help=help, no_args_is_help=True)

    def __call__(
        self, name: str, *aliases: str, show: Show | None = None, empty: str | None = None
    ) -> Callable[[F], F]:
        """Register a function as a command; aliases work and are not listed.

        The function takes a `daemon`, which is a connection, and returns an answer that is printed
        as `show` says:

        - a layout: as a record or, where `empty` is the text for an empty list, as a table;
        - a text: as a note in which `{view}` (the answer) and arguments are filled in;
        - a function: as that prints it, or as the pairs that it returns.

        A parameter `page` stands for --limit and --cursor, and one whose type is a dataclass for
        the options that are its fields. A function that returns None has printed its answer.
        """

        def register(function: F) -> F:
            made = command(show=show, empty=empty)(function)
            self.app.command(name, cls=ConnectedCommand)(made)
            for alias in aliases:
                self.app.command(alias, cls=ConnectedCommand, hidden=True)(made)
            return function

        return register


def command(
    *, show: Show | None = None, empty: str | None = None
) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """Turn a function into a Typer command; see `Commands`."""

    def wrap(function: Callable[..., Any]) -> Callable[..., None]:
        taken = dict(inspect.signature(function).parameters)
        by_us = {name for name in ("ctx", "daemon", "page") if taken.pop(name, None) is not None}
        groups: dict[str, Any] = {
            name: each.annotation for name, each in taken.items() if is_dataclass(each.annotation)
        }

        def given(ctx: typer.Context, typed: Mapping[str, Any]) -> dict[str, Any]:
            arguments = {**typed}
            for name, group in groups.items():
                arguments[name] = group(
                    **{each.name: arguments.pop(each.name) for each in fields(group)}
                )
            if "page" in by_us:
                limit, cursor = arguments.pop("limit"), arguments.pop("cursor")
                arguments["page"] = PageOptions(limit=limit, cursor=cursor)
            return {**arguments, "ctx": ctx} if "ctx" in by_us else arguments

        def run(ctx: typer.Context, **typed: Any) -> None:
            if "daemon" not in by_us:
                function(**given(ctx, typed))
                return
            with connect(ctx) as daemon:
                ids.resolve(daemon.client, typed, kinds, as_json=daemon.as_json)
                with _hinting(daemon, typed, kinds):
                    view = function(daemon, **given(ctx, typed))
                if isinstance(show, str) or (show is not None and view is not None):
                    filters = _filters(ctx, typed)
                    none = f"Nothing matches {filters}." if empty is not None and filters else empty
                    daemon.show_answer(view, show, none, given(ctx, typed))

        parameters = [CONTEXT]
        for name, each in taken.items():
            parameters += _options(groups[name]) if name in groups else [each.replace(kind=NAMED)]
        kinds = ids.kinds_of({each.name: each.annotation for each in parameters})
        as_typer_sees_it: Any = run
        as_typer_sees_it.__signature__ = inspect.Signature(
            [*parameters, *(PAGE if "page" in by_us else ())]
        )
        run.__doc__ = function.__doc__
        return run

    return wrap


@contextmanager
def _hinting(
    daemon: DaemonConnection, typed: Mapping[str, Any], kinds: Mapping[str, str]
) -> Iterator[None]:
    """Add to an error about an unknown name which one was meant, or what there is."""
    from understudy.client import ClientError

    try:
        yield
    except ClientError as problem:
        if not daemon.as_json:
            ids.add_hint(daemon.client, problem, typed, kinds)
        raise


def _filters(ctx: typer.Context, typed: Mapping[str, Any]) -> str:
    """The options that narrow a list, as they were typed; braces would be filled in."""
    options = (each for each in ctx.command.params if each.param_type_name == "option")
    given = (
        (each.opts[0], typed[each.name])
        for each in options
        if each.name in typed.keys() - {"limit", "cursor"} and typed[each.name] != each.default
    )
    shown = " ".join(opt if value is True else f"{opt} {value}" for opt, value in given)
    return preview(shown, NAME_CHARS).replace("{", "").replace("}", "")


def _options(group: Any) -> list[inspect.Parameter]:
    return [
        inspect.Parameter(each.name, NAMED, annotation=each.type, default=each.default)
        for each in fields(group)
    ]


@contextmanager
def connect(ctx: typer.Context) -> Iterator[DaemonConnection]:
    """A connection to the daemon; an error of a call is printed and ends the command."""
    from understudy.client import ClientError
    from understudy.client.errors import SecondNeeded

    options = shared(ctx)
    as_json = options.json
    where = destination(ctx)
    screen.wide.set(options.wide)
    with for_daemon_at(options.url):
        try:
            connection = DaemonConnection(where, as_json=as_json)
            with connection.client, _model_asked(connection.client):
                yield connection
        except SecondNeeded as waits:
            if as_json:
                print_json(waits.waiting)
            told = f"`{understudy()} second-approvals approve {waits.waiting['approval_id']}`"
            note(f"nothing is changed yet: {waits}; they approve it with {told}")
            raise typer.Exit from None
        except ClientError as problem:
            code = report(problem, as_json=as_json, has_token=bool(where.token))
            raise typer.Exit(code) from None
        except ValueError as problem:
            # Imported late, as most commands do without it.
            from pydantic import ValidationError

            if not isinstance(problem, ValidationError):
                raise
            raise typer.Exit(_report_invalid(problem.errors()[0], as_json=as_json)) from None


@contextmanager
def _model_asked(client: "Client") -> Iterator[None]:
    """Where a value of the wrong type ends a command, say which; any other error is a bug of ours."""
    try:
        yield
    except (TypeError, ValueError, AttributeError, LookupError):
        client.transport.check_last()
        raise


def destination(ctx: typer.Context) -> "ClientSettings":
    """The URL and token of the daemon: options override the environment."""
    from understudy.settings import ClientSettings

    options = shared(ctx)
    found = client_settings_or_exit(options.url)
    return ClientSettings(url=found.url, token=options.token or found.token)


def _report_invalid(error: Any, *, as_json: bool) -> ExitCode:
    """A value that the client's own models refuse is a mistake on the command line."""
    from understudy.core.mistakes import words_of

    name = ".".join(str(part) for part in error["loc"])
    detail = f"{name}: {words_of(error)}" if name else words_of(error)
    if as_json:
        print_json(client_problem("invalid_call", "Invalid call", detail))
    note(f"error: {detail}")
    return ExitCode.USAGE


def settings_or_exit(flags: "Flags") -> "Settings":
    """The settings of a daemon that is started here; an invalid value is a usage error."""
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
