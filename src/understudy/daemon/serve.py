"""The daemon as a process: banner, web server, drain on a signal, one line on failure."""

import asyncio
import os
import signal
import socket
import sqlite3
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import psycopg
import sqlalchemy as sa
import structlog
import uvicorn
from fastapi import FastAPI

from understudy import __version__
from understudy.api.app import create_app
from understudy.console.app import mount as mount_console
from understudy.core.errors import UnderstudyError
from understudy.daemon.connections import server_config
from understudy.daemon.homelock import HomeLock, HomeLocked
from understudy.daemon.services import Services
from understudy.daemon.wiring import Daemon, warm_up
from understudy.mcp.endpoint import mount as mount_mcp
from understudy.redaction.scrub import scrub, scrub_json
from understudy.settings import Settings
from understudy.settings.program import path_line, program_name, url_option
from understudy.telemetry.logs import configure_logging
from understudy.tools.process_tree import PR_SET_DUMPABLE, prctl
from understudy.ws.endpoint import mount as mount_websocket

log = structlog.get_logger()

LISTEN_BACKLOG: Final = 2048
SWITCH_S: Final = 0.001
TICK_S: Final = 1.0
OPEN: Final = (
    "no token yet: every program on this machine acts as admin, commands of agents included"
    " (`{program} tokens create me --role admin` ends that)"
)

ROLES: Final = {
    "api": "api: runs are accepted here, and worked on by other daemons",
    "worker": "worker: works, and answers only /healthz, /readyz and /metrics",
}


class CannotServe(Exception):
    """The daemon cannot serve; the message says why in one line."""


class HomeInUse(CannotServe):
    """Another daemon works in the home, or on its SQLite file."""


def serve(settings: Settings) -> int:
    """Run until a stop signal; returns the exit code."""
    scrub_known = partial(scrub_json, literals=settings.secrets)
    configure_logging(settings.log_level, json=None, scrub=scrub_known)
    # Files of agents and of the daemon are for its user only.
    os.umask(0o077)
    # Environment and memory hold keys, and an agent's command runs as the same user.
    prctl(PR_SET_DUMPABLE, 0)
    # Long bodies and guard scans run in threads: a short interval keeps the event loop responsive.
    sys.setswitchinterval(SWITCH_S)
    try:
        _make_home(settings)
        with _home_lock(settings), _listen(settings) as listener:
            asyncio.run(_run(settings, listener))
    except CannotServe as reason:
        _say(f"understudy: {reason}")
        return 1
    return 0


@contextmanager
def stopped_daemon(settings: Settings) -> Iterator[Services]:
    """The services of a stopped daemon, to change its stored data before it starts.

    `HomeInUse` while a daemon works in the same home or on the same SQLite file.
    """
    configure_logging("warning", json=None, scrub=partial(scrub_json, literals=settings.secrets))
    os.umask(0o077)
    _make_home(settings)
    with _home_lock(settings):
        daemon = _open(settings)
        try:
            daemon.services.agents.service.ensure_built_in()
            yield daemon.services
        finally:
            daemon.resources.database.dispose()


async def _run(settings: Settings, listener: socket.socket) -> None:
    daemon = await asyncio.to_thread(_open, settings)
    try:
        daemon.resources.children.adopt()
        await _start(daemon)
        server = _Server(server_config(_build_app(daemon.services), settings.trusted_proxies))
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, _stop_or_quit, stop)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        await asyncio.to_thread(_greet, daemon, listener)
        # Some providers take seconds to load, which must not delay the first run.
        threading.Thread(
            target=warm_up, args=[daemon.resources], name="warm-up", daemon=True
        ).start()
        await _until_stopped(stop, serving)
        await daemon.drain()
        server.leave()
        await serving
    finally:
        await daemon.stop()


def _build_app(services: Services) -> FastAPI:
    """The API, and but for a worker the WebSocket and MCP endpoints and the console."""
    app = create_app(services)
    if services.resources.settings.role != "worker":
        mount_websocket(app, services)
        mount_mcp(app)
        mount_console(app)
    return app


def _greet(daemon: Daemon, listener: socket.socket) -> None:
    route = daemon.resources.routes.find(daemon.services.default_route())
    reason = "there is no such route" if route is None else route.reason
    _say(
        banner(
            daemon.settings,
            listener.getsockname(),
            program_name(sys.argv[0]),
            not_ready=reason,
            is_open=not daemon.services.tokens.tokens_exist(),
            console=_console_path(daemon),
        )
    )


def _console_path(daemon: Daemon) -> str:
    """The path that opens the console; on a terminal with an admin token, a sign-in link.

    Output that is no terminal may be kept in a log, where a sign-in link must not end up.
    """
    admin = daemon.settings.admin_token if sys.stderr.isatty() else None
    return daemon.services.sign_in.link(admin.get_secret_value() if admin else None).path


def _say(text: str) -> None:
    """Print to the terminal, beside the log."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201


async def _until_stopped(stop: asyncio.Event, serving: "asyncio.Task[None]") -> None:
    waiting = asyncio.create_task(stop.wait())
    await asyncio.wait({waiting, serving}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()


def _stop_or_quit(stop: asyncio.Event) -> None:
    """The first signal drains, a second one ends the process at once."""
    if stop.is_set():
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.raise_signal(signal.SIGTERM)
    stop.set()


async def _start(daemon: Daemon) -> None:
    try:
        await daemon.start()
    except UnderstudyError as problem:
        if problem.code == "skill_storage_unavailable":
            raise CannotServe(f"the skills cannot be used: {scrub(str(problem))}") from None
        raise _unusable_database_error(problem) from None
    except (TimeoutError, sa.exc.SQLAlchemyError, sqlite3.Error, psycopg.Error) as problem:
        raise _unusable_database_error(problem) from None


class _Server(uvicorn.Server):
    """uvicorn without its own signal handlers, as ours drain first, and without its ten ticks a second."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._leaving = asyncio.Event()

    def leave(self) -> None:
        """Stop serving."""
        self.should_exit = True
        self._leaving.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def main_loop(self) -> None:
        # Each tick renews the Date header.
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                async with asyncio.timeout(TICK_S):
                    await self._leaving.wait()


def _open(settings: Settings) -> Daemon:
    try:
        daemon = Daemon(settings)
        daemon.migrate()
        if not settings.is_loopback and not daemon.services.tokens.tokens_exist():
            raise CannotServe(
                f"{settings.host} can be reached from outside, so a token is needed: set "
                "UNDERSTUDY_ADMIN_TOKEN, or bind to 127.0.0.1"
            )
    except (UnderstudyError, sa.exc.SQLAlchemyError, sqlite3.Error, psycopg.Error) as problem:
        raise _unusable_database_error(problem) from None
    return daemon


def _unusable_database_error(problem: BaseException) -> CannotServe:
    lines = str(problem.__cause__ or problem).strip().splitlines()
    reason = scrub(lines[0] if lines else type(problem).__name__)
    return CannotServe(f"the database cannot be used: {reason}")


def _make_home(settings: Settings) -> None:
    try:
        settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        settings.workspace.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as problem:
        raise CannotServe(f"cannot make {problem.filename}: {problem.strerror}") from None


@contextmanager
def _listen(settings: Settings) -> Iterator[socket.socket]:
    host = settings.host.strip("[]")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as problem:
        raise CannotServe(f"cannot listen on {settings.host}: {problem.strerror}") from None
    with listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
            # Only now is the port ours: another daemon may have bound it at the same moment.
            listener.listen(LISTEN_BACKLOG)
        except OSError as problem:
            raise CannotServe(
                f"cannot listen on {settings.host}:{settings.port}: {problem.strerror}; "
                "stop what listens there, or use another --bind"
            ) from None
        yield listener


def _home_lock(settings: Settings) -> AbstractContextManager[object]:
    return _locked_home(settings) if settings.is_sqlite else nullcontext()


@contextmanager
def _locked_home(settings: Settings) -> Iterator[None]:
    with ExitStack() as held:
        try:
            held.enter_context(HomeLock(settings.home))
        except HomeLocked:
            raise HomeInUse(
                f"another daemon works in {settings.home}; stop it, or use another --home"
            ) from None
        except OSError as problem:
            raise CannotServe(f"cannot lock {settings.home}: {problem.strerror}") from None
        _lock_database(settings, held)
        yield


def _lock_database(settings: Settings, held: ExitStack) -> None:
    """Lock the SQLite file against daemons of other homes: caches and wake-ups rely on one writer.

    Where the folder of the file is missing, opening the database reports it.
    """
    path = Path(sa.make_url(settings.database_url).database or "").resolve()
    if not path.parent.is_dir():
        return
    try:
        held.enter_context(HomeLock(path.parent, f"{path.name}.lock"))
    except HomeLocked:
        raise HomeInUse(
            f"another daemon uses {path}; stop it, or use another --database-url: "
            "several daemons share a PostgreSQL database, not a SQLite file"
        ) from None
    except OSError as problem:
        raise CannotServe(f"cannot lock {path}: {problem.strerror}") from None


def banner(
    settings: Settings,
    address: Any,
    program: str,
    *,
    not_ready: str | None,
    is_open: bool,
    console: str = "/",
) -> str:
    """The banner for the terminal; `program` is the command name.

    `not_ready` is why the default route cannot answer; `is_open`, that there is no token;
    `console`, the path that opens the console.
    """
    host, port = address[0], address[1]
    url = f"http://[{host}]:{port}" if ":" in str(host) else f"http://{host}:{port}"
    is_for_people = settings.role != "worker"
    lines = [
        f"Understudy {__version__} is ready at {url}",
        *([f"  console   {url}{console}"] if is_for_people else []),
        *([f"  role      {ROLES[settings.role]}"] if settings.role in ROLES else []),
        f"  home      {settings.home}",
        f"  database  {'SQLite, embedded' if settings.is_sqlite else 'PostgreSQL'}",
        f"  model     {_model(settings)}" + (f" (NOT READY: {not_ready})" if not_ready else ""),
        *([f"  access    {OPEN.format(program=program)}"] if is_open else []),
        "",
        *(["Try, in another terminal:", *_commands(url, program), ""] if is_for_people else []),
        "Ctrl-C drains and stops; whatever is under way goes on at the next start.",
    ]
    return "\n".join(lines)


def _commands(url: str, program: str) -> list[str]:
    at = url_option(url)
    shorter = path_line(program)
    return [
        *([f"  {shorter}    # then `understudy` is enough"] if shorter else []),
        f'  {program} chat{at} "write hello to note.txt"',
        f'  {program} chat{at} "run date"    # asks for your approval first',
        f"  {program} chat{at}",
        f"  {program} runs list{at}",
    ]


def _model(settings: Settings) -> str:
    route = settings.routes[settings.default_route]
    if settings.is_offline:
        return (
            "offline script, no key found (set OPENAI_API_KEY or ANTHROPIC_API_KEY for a real one)"
        )
    return f"{route.model} on route {settings.default_route}"
