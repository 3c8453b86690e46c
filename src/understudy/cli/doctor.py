"""`understudy status` and `doctor`: the status of the daemon, its warnings and their remedies."""

import shutil
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import typer

from understudy import __version__
from understudy.cli import screen
from understudy.cli.connection import connect, destination
from understudy.cli.options import shared
from understudy.cli.output import ExitCode, print_json
from understudy.cli.screen import count, printable

if TYPE_CHECKING:
    from understudy.daemon.health import Severity
    from understudy.settings import ClientSettings

SCARCE_BYTES: Final = 256 * 1024 * 1024
OFFLINE: Final = "scripted"
# Warnings of the daemon about run memory maintenance.
MAINTAINED: Final = frozenset({"run_memory_maintenance_failed", "run_memory_repaired"})
# Warnings of the daemon that another check reports already.
SAID_ALREADY: Final = frozenset({"offline_model", "route_not_ready"}) | MAINTAINED
GET_KEY: Final = (
    "set OPENAI_API_KEY or ANTHROPIC_API_KEY, or write [routes.NAME] into the config file,"
    " and start the daemon again"
)
TO_GET_IN: Final = (
    "give a token with --token or UNDERSTUDY_TOKEN; an admin makes one with"
    " `understudy tokens create USER`. With no admin's token left, start the daemon with"
    " UNDERSTUDY_ADMIN_TOKEN set, and with that token `understudy tokens create me --role admin`"
)
OPEN: Final = (
    "there is no token: every program on this machine acts as admin, commands of agents included"
)
TO_KEEP_OTHERS_OUT: Final = (
    "make the first token: `understudy tokens create me --role admin; export UNDERSTUDY_TOKEN=…`"
)


def status(ctx: typer.Context) -> None:
    """Show what the daemon is and does."""
    with connect(ctx) as daemon:
        daemon.client.status()
        daemon.show(lambda: screen.fields(_fields(daemon.client.url, daemon.answer)))


def _fields(url: str, view: Mapping[str, Any]) -> list[tuple[str, object]]:
    runs = {name: count for name, count in (view.get("runs") or {}).items() if count}
    counts = [f"{count} {name.replace('_', ' ')}" for name, count in runs.items()]
    warnings = (view.get("health") or {}).get("warnings") or []
    return [
        ("daemon", f"{view['status']} at {url}"),
        ("version", view.get("version")),
        ("process", view.get("process_id")),
        ("database", (view.get("storage") or {}).get("kind")),
        ("routes", [_route(route) for route in view.get("provider_readiness") or []]),
        ("sessions", (view.get("sessions") or {}).get("total")),
        ("runs", counts or "none yet"),
        ("learning", learning_words(view.get("learning") or {})),
        ("health", [f"{item['severity']}: {item['message']}" for item in warnings] or "good"),
    ]


def _route(route: Mapping[str, Any]) -> str:
    if route.get("ready"):
        return f"{route['route_id']} (ready)"
    return f"{route['route_id']} (not ready: {route.get('reason')})"


def learning_words(learning: Mapping[str, Any]) -> str | None:
    """The learning plane on one line: its mode, what waits, what is known."""
    if not learning:
        return None
    candidates, learnings = learning.get("candidates") or {}, learning.get("learnings") or {}
    escalated = candidates.get("escalated", 0)
    waiting = count(candidates.get("pending", 0) + escalated, "candidate")
    of_them = f" ({escalated} escalated)" if escalated else ""
    known = f"{learnings.get('active', 0)} active and {learnings.get('provisional', 0)} provisional"
    return f"mode {learning.get('mode')}; {waiting} to review{of_them}; {known} learnings"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The result of one check, with a fix if it failed."""

    code: str
    severity: "Severity"
    message: str
    fix: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The check as `doctor --json` prints it."""
        shown = {"code": self.code, "severity": self.severity, "message": self.message}
        return shown if self.fix is None else {**shown, "fix": self.fix}


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """The daemon's home, if it is on this machine."""

    path: str
    mode: int
    free_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """The facts about a daemon that the checks read; None where a fact is not known."""

    url: str
    client_version: str
    has_token: bool = False
    # Why the daemon is unreachable.
    unreachable: str | None = None
    ready: bool | None = None
    # Why the status call was refused: the problem's status and detail.
    refused: tuple[int, str] | None = None
    status: Mapping[str, Any] | None = None
    routes: Sequence[Mapping[str, Any]] | None = None
    home: Home | None = None
    # Each coding agent that is connected here: what is known, and what to do about it.
    clients: Sequence[tuple[str, str | None]] = ()


def check_daemon(found: Findings) -> Iterator[Check]:
    """A daemon answers."""
    if found.unreachable is None:
        yield Check(code="daemon", severity="info", message=f"a daemon answers at {found.url}")
    else:
        yield Check(
            code="daemon",
            severity="error",
            message=f"no daemon answers at {found.url}: {found.unreachable}",
            fix="start one with `understudy serve`, or name another with --url or UNDERSTUDY_URL",
        )


def check_readiness(found: Findings) -> Iterator[Check]:
    """It takes work."""
    if found.ready:
        yield Check(code="readiness", severity="info", message="the daemon takes work")
    elif found.ready is False and (found.refused is None or found.refused[0] == 503):
        yield Check(
            code="readiness",
            severity="error",
            message="the daemon is starting or draining",
            fix="wait a moment and ask again; if it stays so, read the daemon's log",
        )


def check_auth(found: Findings) -> Iterator[Check]:
    """We may ask it things."""
    if found.refused is not None and found.refused[0] in (401, 403):
        yield Check(
            code="auth",
            severity="error",
            message=f"the daemon refuses the caller: {found.refused[1]}",
            fix=TO_GET_IN,
        )
    elif found.refused is not None:
        yield Check(
            code="status",
            severity="error",
            message=f"the daemon does not tell its status: {found.refused[1]}",
            fix="read the daemon's log",
        )
    elif found.status is not None and found.has_token:
        yield Check(code="auth", severity="info", message="the daemon accepts the token")
    elif found.status is not None:
        yield Check(code="auth", severity="info", message="the daemon accepts the caller")


def check_tokens(found: Findings) -> Iterator[Check]:
    """Not everybody is admin."""
    # Without a token a daemon answers only while it has none.
    if found.status is not None and not found.has_token:
        yield Check(code="no_token", severity="warning", message=OPEN, fix=TO_KEEP_OTHERS_OUT)


def check_version(found: Findings) -> Iterator[Check]:
    """Both sides speak of the same things."""
    if found.status is None:
        return
    theirs = found.status.get("version")
    if theirs == found.client_version:
        yield Check(code="version", severity="info", message=f"version {theirs} on both sides")
    else:
        yield Check(
            code="version",
            severity="warning",
            message=f"the daemon has version {theirs}, this command {found.client_version}",
            fix="install the same version on both sides, and start the daemon again",
        )


def check_database(found: Findings) -> Iterator[Check]:
    """Where the daemon keeps its records."""
    kind = ((found.status or {}).get("storage") or {}).get("kind")
    if kind:
        yield Check(code="database", severity="info", message=f"records are kept in {kind}")


def check_connections(found: Findings) -> Iterator[Check]:
    """PostgreSQL has room for the connections of all daemons; the daemon warns if it has not."""
    load = ((found.status or {}).get("storage") or {}).get("connections")
    if load and not any(each.get("code") == "connections_scarce" for each in _warnings(found)):
        most = load["daemons"] * load["of_each"]
        message = (
            f"{count(load['daemons'], 'daemon')} may open {most} of {load['room']} connections"
        )
        yield Check(code="connections", severity="info", message=message)


def check_routes(found: Findings) -> Iterator[Check]:
    """There is a model to ask."""
    if found.routes is None:
        return
    for route in found.routes:
        if not route.get("ready"):
            yield _unready(route)
        elif route.get("context_window_source") == "default":
            yield _assumed_window(route)
    real = [route for route in found.routes if route.get("provider") != OFFLINE]
    ready = [str(route["route_id"]) for route in real if route.get("ready")]
    if ready:
        message = f"ready: {', '.join(ready)}"
        yield Check(code="routes", severity="info", message=message)
    elif not real:
        yield Check(
            code="routes",
            severity="warning",
            message="there is only the offline route, which answers from a script",
            fix=GET_KEY,
        )


def check_home(found: Findings) -> Iterator[Check]:
    """Nobody else reads the daemon's files."""
    if found.home is None:
        return
    if found.home.mode & 0o077:
        yield Check(
            code="home",
            severity="warning",
            message=f"other accounts can enter {found.home.path} (mode {found.home.mode:o})",
            fix=f"chmod 700 {found.home.path}",
        )
    else:
        message = f"only its owner can enter {found.home.path}"
        yield Check(code="home", severity="info", message=message)


def check_disk(found: Findings) -> Iterator[Check]:
    """There is room to write."""
    if found.home is None:
        return
    megabytes = found.home.free_bytes // (1024 * 1024)
    if found.home.free_bytes < SCARCE_BYTES:
        yield Check(
            code="disk",
            severity="warning",
            message=f"only {megabytes} MB are free where {found.home.path} is",
            fix="free some space, or move the home to a larger disk with --home",
        )
    else:
        yield Check(code="disk", severity="info", message=f"{megabytes} MB are free")


def check_clients(found: Findings) -> Iterator[Check]:
    """The events of connected coding agents arrive."""
    for message, fix in found.clients:
        severity: Severity = "info" if fix is None else "warning"
        yield Check(code="client", severity=severity, message=message, fix=fix)


def check_run_memory(found: Findings) -> Iterator[Check]:
    """Run memories are consistent."""
    if found.status is None or "run_memory" not in found.status:
        return
    told = [each for each in _warnings(found) if each.get("code") in MAINTAINED]
    for warning in told:
        yield _as_check(warning, code="run_memory_maintenance")
    if not told:
        message = "run memories are in good order"
        yield Check(code="run_memory_maintenance", severity="info", message=message)


def check_learning(found: Findings) -> Iterator[Check]:
    """The learning plane: its mode, and how many candidates wait for review."""
    words = learning_words((found.status or {}).get("learning") or {})
    if words is not None:
        yield Check(code="learning", severity="info", message=words)


def check_health(found: Findings) -> Iterator[Check]:
    """The health warnings of the daemon itself."""
    for warning in _warnings(found):
        if warning.get("code") not in SAID_ALREADY:
            yield _as_check(warning, code=str(warning.get("code", "health")))


RULES: Final[tuple[Callable[[Findings], Iterator[Check]], ...]] = (
    check_daemon,
    check_readiness,
    check_auth,
    check_tokens,
    check_version,
    check_database,
    check_connections,
    check_routes,
    check_home,
    check_disk,
    check_clients,
    check_run_memory,
    check_learning,
    check_health,
)


def examine(found: Findings) -> list[Check]:
    """Run every check that the findings allow, in order."""
    return [check for rule in RULES for check in rule(found)]


def is_ok(checks: Sequence[Check]) -> bool:
    """Whether no check failed; warnings do not count."""
    return all(check.severity != "error" for check in checks)


def _warnings(found: Findings) -> list[Mapping[str, Any]]:
    return ((found.status or {}).get("health") or {}).get("warnings") or []


def _as_check(warning: Mapping[str, Any], *, code: str) -> Check:
    severity = warning.get("severity", "warning")
    # A check of severity info needs no fix, even where the daemon names an action.
    fix = None if severity == "info" else warning.get("action") or "read the daemon's log"
    message = str(warning.get("message", ""))
    return Check(code=code, severity=severity, message=message, fix=fix)


def _unready(route: Mapping[str, Any]) -> Check:
    is_default = bool(route.get("default"))
    return Check(
        code="routes",
        severity="error" if is_default else "warning",
        message=f"route {route['route_id']} is not ready: {route.get('reason')}",
        fix="set the environment variable that its api_key_env names, and start the daemon again",
    )


def _assumed_window(route: Mapping[str, Any]) -> Check:
    tokens = int(route["context_window"])
    return Check(
        code="context_window",
        severity="info",
        message=f"the context window of model {route['model']!r} on route {route['route_id']!r} is not"
        f" known; {tokens:,} tokens are assumed",
        fix=f"set context_window in [routes.{route['route_id']}] of the config file",
    )


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
    """Query the daemon, and inspect its home if it is on this machine."""
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
                status = client.status().model_dump()
                return replace(
                    base,
                    ready=ready,
                    status=status,
                    clients=_clients(base.home, status.get("clients")),
                    routes=[route.model_dump() for route in client.routes.list()],
                )
            except ProblemError as problem:
                return replace(base, ready=ready, refused=(problem.status, problem.detail))
    except UnreachableError as problem:
        reason = problem.reason
    except ClientError as problem:
        reason = str(problem)
    return replace(base, unreachable=reason)


def _clients(home: Home | None, seen: Mapping[str, Any] | None) -> list[tuple[str, str | None]]:
    """What is known of the coding agents that are connected in the home."""
    if home is None:
        return []
    from understudy.cli.connect import findings
    from understudy.foreign.connections import connections

    return [(told, fix) for _, told, fix in findings(connections(Path(home.path)), seen or {})]


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
