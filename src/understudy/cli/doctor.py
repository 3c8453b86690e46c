"""`understudy doctor`: is everything as it should be, and if not, what to do."""

import shutil
import stat
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import typer

from understudy import __version__
from understudy.cli.checks import Check, Findings, Home, examine, is_ok
from understudy.cli.connection import destination
from understudy.cli.options import shared
from understudy.cli.output import ExitCode, print_json
from understudy.cli.screen import printable

if TYPE_CHECKING:
    from understudy.settings import ClientSettings

LOOPBACK = ("127.0.0.1", "::1", "localhost")
MARKS = {"info": "ok", "warning": "warning", "error": "error"}


def doctor(ctx: typer.Context) -> None:
    """Look at the daemon and its surroundings; every finding says how to mend it."""
    found = look(destination(ctx))
    checks = examine(found)
    if shared(ctx).json:
        print_json({"ok": is_ok(checks), "checks": [check.to_json() for check in checks]})
    else:
        for check in checks:
            _print(check)
    if found.unreachable is not None:
        raise typer.Exit(ExitCode.UNREACHABLE)
    raise typer.Exit(ExitCode.DONE if is_ok(checks) else ExitCode.FAILED)


def look(where: "ClientSettings") -> Findings:
    """Ask the daemon, and look at its home where that is on this machine."""
    from understudy.client import Client, ClientError, Retries, UnreachableError
    from understudy.client.errors import ProblemError

    base = Findings(
        url=where.url,
        client_version=__version__,
        has_token=bool(where.token),
        home=local_home(where.url),
    )
    try:
        with Client(where.url, where.token, retries=Retries(delays_s=())) as client:
            ready = client.daemon.is_ready()
            try:
                return replace(
                    base,
                    ready=ready,
                    status=client.status().model_dump(),
                    routes=[route.model_dump() for route in client.routes.list()],
                )
            except ProblemError as problem:
                return replace(base, ready=ready, refused=(problem.status, problem.detail))
    except UnreachableError as problem:
        reason = problem.reason
    except ClientError as problem:
        reason = str(problem)
    return replace(base, unreachable=reason)


def local_home(url: str) -> Home | None:
    """The home of the daemon at `url`, if that is where one started here would listen."""
    from understudy.settings import Flags, SettingsError, load_settings

    try:
        settings = load_settings(Flags())
        if not _is_here(url, settings.port):
            return None
        path = settings.home
        return Home(
            path=str(path),
            mode=stat.S_IMODE(path.stat().st_mode),
            free_bytes=shutil.disk_usage(path).free,
        )
    except (OSError, SettingsError):
        return None


def _is_here(url: str, port: int) -> bool:
    """Whether a URL leads to this machine, at the port of a daemon that is started here."""
    with suppress(ValueError):
        parts = urlsplit(url)
        return parts.hostname in LOOPBACK and parts.port == port
    return False


def _print(check: Check) -> None:
    print(f"{MARKS[check.severity]:<8} {check.code}: {printable(check.message)}")
    if check.fix is not None:
        print(f"{'':<8} → {printable(check.fix)}")
