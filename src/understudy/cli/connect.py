"""`understudy connect`, `disconnect` and `connect status`: coding agents under review."""

import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn, TypeAlias

import typer

from understudy.cli.connection import (
    DaemonConnection,
    command,
    destination,
    settings_or_exit,
)
from understudy.cli.connection import connect as connected
from understudy.cli.options import shared
from understudy.cli.output import ExitCode, note, print_json, report
from understudy.cli.screen import ago, count, document, printable
from understudy.core.errors import UnderstudyError
from understudy.foreign.client_files import ClientFile, ClientPlace, client_files
from understudy.foreign.connections import (
    ConnectedFile,
    Connection,
    connections,
    keep_connections,
    put,
    put_back,
    restored,
    text_of,
    with_files,
    without,
    write_text,
)
from understudy.foreign.hook_events import HookTool

if TYPE_CHECKING:
    from understudy.settings import ClientSettings

# In the home of the daemon: the person's token, and the headers of the clients.
ADMIN_TOKEN: Final = "admin-token"  # noqa: S105 - the name of a file
HEADERS: Final = "clients"
# Stands for the token in a dry run.
NO_TOKEN_YET: Final = "und_…"  # noqa: S105 - no token
_TOKEN: Final = re.compile(r"und_[A-Za-z0-9_-]{20,}")
PERSON: Final = "local"
# A file, what it holds, and what it will hold; None where there is none.
Change: TypeAlias = tuple[str, str | None, str | None]
DRY: Final = "this is a dry run: nothing is written. Add --write to do it"
FIRST_STEPS: Final[Mapping[HookTool, str]] = {
    HookTool.CLAUDE_CODE: "start `claude` anew; a project has to be trusted there once. `claude --debug hooks`"
    " shows what its hooks do",
    HookTool.CODEX: "start `codex`, open `/hooks` and trust the hooks once: untrusted ones are skipped without a"
    " word. A project has to be trusted, too",
}


class ConnectTarget(StrEnum):
    """What `connect` is about: a client, or all of them."""

    CLAUDE_CODE = "claude-code"
    CODEX = "codex"
    STATUS = "status"


Project = Annotated[
    Path | None,
    typer.Option(
        "--project", metavar="DIR", help="Only in this folder; without it, wherever the tool works."
    ),
]
Write = Annotated[bool, typer.Option("--write", help="Do it; without it, show what would change.")]


@command()
def connect(
    ctx: typer.Context,
    target: Annotated[
        ConnectTarget,
        typer.Argument(metavar="claude-code|codex|status", help="The tool, or `status`."),
    ],
    project: Project = None,
    write: Write = False,
    user: Annotated[
        str | None,
        typer.Option(help="Who the tool's token stands for; by default the tool's name."),
    ] = None,
) -> None:
    """Put Claude Code or Codex under review; `connect status` says whether its events arrive."""
    if target is ConnectTarget.STATUS:
        _status(ctx)
        return
    home, where = _home(), destination(ctx)
    with _told_errors(ctx):
        place = _place(HookTool(target), project, home, where)
        known = connections(home)
        _refuse_twice(ctx, place, known)
        old = _same(place, known)
        if not write:
            _show(ctx, place, _planned(place, old), is_written=False)
            note(DRY)
            return
        with connected(ctx) as daemon:
            _connect(ctx, daemon, place, home, where, old, user or str(target))


@command()
def disconnect(
    ctx: typer.Context,
    tool: Annotated[
        HookTool, typer.Argument(metavar="claude-code|codex", help="The tool to leave alone.")
    ],
    project: Project = None,
    write: Write = False,
) -> None:
    """Take a tool out of review: its files are as they were before, and its token ends."""
    home, where = _home(), destination(ctx)
    with _told_errors(ctx):
        place = _place(tool, project, home, where)
        known = connections(home)
        old = _same(place, known)
        if old is None:
            _refuse(
                ctx, f"{_name(place)} is not connected", "`understudy connect status` lists what is"
            )
        changes = [(each, text_of(Path(each.path)), _rest(old, place, each)) for each in old.files]
        if write:
            _undo(old, place)
            keep_connections(home, without(known, old))
            with suppress(OSError):
                place.header.parent.rmdir()
        _show(ctx, place, [(each.path, now, then) for each, now, then in changes], is_written=write)
        if not write:
            note(DRY)
        else:
            _end_token(ctx, old)
            _tell_others(without(known, old), old)


def _connect(
    ctx: typer.Context,
    daemon: DaemonConnection,
    place: ClientPlace,
    home: Path,
    where: "ClientSettings",
    old: Connection | None,
    user: str,
) -> None:
    """Make the tokens, write the files, and tell what comes next."""
    from understudy.client import ClientError
    from understudy.settings import ClientSettings

    if where.token or daemon.client.tokens.page(limit=1).items:
        admin = where.token
    else:
        admin = _first_token(daemon, home)
    now = DaemonConnection(ClientSettings(url=where.url, token=admin), as_json=daemon.as_json)
    with now.client:
        made = now.client.tokens.create(user, "client")
        written: list[ConnectedFile] = []
        try:
            if old is not None:
                _undo(old, place)
                keep_connections(home, without(connections(home), old))
            header = f"Authorization: Bearer {made.token}\n"
            written.append(put(place.header, header, 0o600))
            place.header.parent.chmod(0o700)
            for file, text in _texts(place, str(made.token)):
                if text != text_of(file.path):
                    written.append(put(file.path, text, file.mode, file.mark))
            connection = Connection(
                tool=str(place.tool),
                folders=place.folders,
                project=None if place.project is None else str(place.project),
                url=place.url,
                token_id=made.token_id,
                connected_at_ms=time.time_ns() // 1_000_000,
            )
            keep_connections(home, (*connections(home), with_files(connection, written)))
        except BaseException:
            for each in reversed(written):
                put_back(each, each.before)
            now.client.tokens.delete(made.token_id)
            raise
        if old is not None and old.token_id:
            try:
                now.client.tokens.delete(old.token_id)
            except ClientError:
                note(f"the token {old.token_id} of the former connection is still there")
        link = now.client.console.link().path
    changes = [(each.path, each.before, each.after) for each in written[1:]]
    _show(ctx, place, changes, is_written=True)
    if admin != where.token:
        note("from now on every call needs a token: an agent cannot approve what it has learned")
        note(f"  yours is in {home / ADMIN_TOKEN}: keep it out of the shell that starts the agent")
    note(f"the console, signed in once: {where.url.rstrip('/')}{link}")
    note(f"next: {FIRST_STEPS[place.tool]}")
    note("then: `understudy connect status` says whether events arrived")


def _first_token(daemon: DaemonConnection, home: Path) -> str | None:
    """An admin token for the person, in the home; it ends the mode without tokens."""
    path = home / ADMIN_TOKEN
    # Written before it counts, so that nobody is locked out by a full disk.
    write_text(path, "", 0o600)
    made = daemon.client.tokens.create(PERSON, "admin")
    write_text(path, f"{made.token}\n", 0o600)
    return made.token


def _texts(place: ClientPlace, token: str) -> list[tuple[ClientFile, str]]:
    """The files of a connection with the text that each gets; nothing is written."""
    files = client_files(place, token)
    for file in files:
        place.refuse_link(file.path)
    return [(file, file.add(text_of(file.path))) for file in files]


def _planned(place: ClientPlace, old: Connection | None) -> list[Change]:
    """What a dry run shows: each file, as it is and as it would be."""
    ours = {each.path: _rest(old, place, each) for each in old.files} if old else {}
    planned: list[Change] = []
    for file in client_files(place, NO_TOKEN_YET):
        place.refuse_link(file.path)
        now = text_of(file.path)
        then = file.add(ours.get(str(file.path), now))
        planned.append((str(file.path), now, then))
    return planned


def _undo(old: Connection, place: ClientPlace) -> None:
    """Give every file of a connection back what it held before."""
    for each in reversed(old.files):
        put_back(each, _rest(old, place, each))


def _rest(old: Connection, place: ClientPlace, file: ConnectedFile) -> str | None:
    """What a file of a connection holds without it."""
    known = {str(each.path): each.strip for each in client_files(place, NO_TOKEN_YET)}
    return restored(file, known.get(file.path, lambda _: None))


def _tell_others(kept: Sequence[Connection], gone: Connection) -> None:
    """Say which other projects have lost the MCP server that stood in a file of the person's."""
    inside = Path(gone.project or "/")
    is_shared = any(it.mark and not Path(it.path).is_relative_to(inside) for it in gone.files)
    for each in kept if is_shared else ():
        if each.tool == gone.tool:
            again = f"understudy connect {each.tool} --project {each.project} --write"
            note(f"{each.tool} in {each.project} had the same MCP server: `{again}` brings it back")


def _end_token(ctx: typer.Context, old: Connection) -> None:
    """Delete the token of a tool; where that fails, say which one is left."""
    from understudy.client import Client, ClientError

    where = destination(ctx)
    try:
        with Client(where.url, where.token) as client:
            client.tokens.delete(old.token_id)
    except ClientError as problem:
        note(f"the token {old.token_id} is still valid ({problem})")
        note(f"  an admin ends it with `understudy tokens delete {old.token_id}`")


def _show(
    ctx: typer.Context,
    place: ClientPlace,
    changes: Sequence[Change],
    *,
    is_written: bool,
) -> None:
    """Print the files and their diffs."""
    files = [
        {"path": path, "action": _action(now, then), "diff": _shown(now, then, path)}
        for path, now, then in changes
        if now != then
    ]
    if shared(ctx).json:
        print_json(
            {
                "tool": str(place.tool),
                "project": None if place.project is None else str(place.project),
                "written": is_written,
                "folders": list(place.folders),
                "files": files,
            }
        )
        return
    for each in files:
        print(printable(f"{'' if is_written else 'would '}{each['action']} {each['path']}"))
        if not is_written:
            document(f"{each['diff']}\n")
    if not files:
        note("nothing changes")


def _shown(now: str | None, then: str | None, path: str) -> str:
    """The diff of a file, without the token in it."""
    from understudy.evolution.text_diff import text_diff

    return _TOKEN.sub(NO_TOKEN_YET, text_diff(now, then or "", path.lstrip("/")))


def _action(now: str | None, then: str | None) -> str:
    if then is None:
        return "remove"
    return "create" if now is None else "change"


def _home() -> Path:
    from understudy.settings import Flags

    return settings_or_exit(Flags()).home


def _place(
    tool: HookTool, project: Path | None, home: Path, where: "ClientSettings"
) -> ClientPlace:
    from understudy.settings import client_folders

    folders = client_folders()
    if project is not None and not project.is_dir():
        raise typer.BadParameter(f"{str(project)!r} is no folder", param_hint="--project")
    is_claude = tool is HookTool.CLAUDE_CODE
    inside = None if project is None else project.resolve()
    name = str(tool) if inside is None else f"{tool}-{_suffix(inside)}"
    return ClientPlace(
        tool=tool,
        project=inside,
        person=folders.person.resolve(),
        client=(folders.claude_code if is_claude else folders.codex).resolve(),
        url=where.url.rstrip("/"),
        header=home.resolve() / HEADERS / name,
    )


def _suffix(project: Path) -> str:
    import hashlib

    return hashlib.sha256(str(project).encode()).hexdigest()[:12]


def _same(place: ClientPlace, known: Sequence[Connection]) -> Connection | None:
    project = None if place.project is None else str(place.project)
    return next((it for it in known if (it.tool, it.project) == (place.tool, project)), None)


def _refuse_twice(ctx: typer.Context, place: ClientPlace, known: Sequence[Connection]) -> None:
    """Refuse a connection inside of another one: every event would come twice."""
    others = [each for each in known if each.tool == place.tool]
    if place.project is not None and any(each.project is None for each in others):
        _refuse(
            ctx,
            f"{place.tool} is connected for every project already",
            f"`understudy disconnect {place.tool} --write` ends that",
        )
    inner = next((each for each in others if each.project is not None), None)
    if place.project is None and inner is not None:
        _refuse(
            ctx,
            f"{place.tool} is connected in {inner.project}, whose events would come twice",
            f"`understudy disconnect {place.tool} --project {inner.project} --write` ends that",
        )


def _refuse(ctx: typer.Context, problem: str, hint: str) -> NoReturn:
    from understudy.cli.output import client_problem

    if shared(ctx).json:
        print_json(client_problem("connection_refused", "Refused", problem, status=409))
    note(f"error: {problem}")
    note(f"  {hint}")
    raise typer.Exit(ExitCode.REFUSED)


def _name(place: ClientPlace) -> str:
    return str(place.tool) if place.project is None else f"{place.tool} in {place.project}"


@contextmanager
def _told_errors(ctx: typer.Context) -> Iterator[None]:
    """Say which file is in the way; nothing is half written."""
    try:
        yield
    except UnderstudyError as problem:
        _refuse(ctx, problem.detail, "nothing was changed")
    except OSError as problem:
        _refuse(ctx, f"{problem.filename}: {problem.strerror}", "nothing was changed")


def findings(
    known: Sequence[Connection], seen: Mapping[str, Any] | None
) -> Iterator[tuple[Connection, str, str | None]]:
    """Each connection with what is known of it, and what to do where something is missing."""
    for each in known:
        name = each.tool if each.project is None else f"{each.tool} in {each.project}"
        step = FIRST_STEPS[HookTool(each.tool)]
        where = "" if each.project is None else f" --project {each.project}"
        again = f"`understudy connect {each.tool}{where} --write` writes them again"
        of_tool = None if seen is None else seen.get(each.tool)
        if not each.is_intact():
            yield each, f"{name}: files of the connection have changed", again
        elif seen is None:
            yield each, f"{name}: connected", None
        elif of_tool is None or of_tool["newest_at_ms"] < each.connected_at_ms:
            yield each, f"{name}: no event has come since it was connected", _no_event(step)
        else:
            yield each, f"{name}: {count(of_tool['sessions'], 'conversation')} so far", None


def _no_event(step: str) -> str:
    missing = "" if shutil.which("curl") else "install curl, which the hooks call; "
    return missing + step


def _status(ctx: typer.Context) -> None:
    """The connections, and whether events came."""
    from understudy.client import Client, ClientError

    known, where = connections(_home()), destination(ctx)
    seen: Mapping[str, Any] | None = None
    failed: ExitCode | None = None
    as_json = shared(ctx).json
    try:
        with Client(where.url, where.token) as client:
            seen = client.status().model_dump().get("clients") or {}
    except ClientError as problem:
        failed = report(problem, as_json=False, has_token=bool(where.token))
    found = list(findings(known, seen))
    if as_json:
        print_json({"connections": [_as_json(each, told, fix, seen) for each, told, fix in found]})
    else:
        for each, told, fix in found:
            print(printable(f"{told}; connected {ago(each.connected_at_ms)}"))
            if fix is not None:
                print(printable(f"  → {fix}"))
        if not found:
            note("nothing is connected; `understudy connect claude-code` shows what it would write")
    if failed is not None:
        raise typer.Exit(failed)


def _as_json(
    each: Connection, told: str, fix: str | None, seen: Mapping[str, Any] | None
) -> dict[str, Any]:
    of_tool = (seen or {}).get(each.tool) or {}
    return {
        "tool": each.tool,
        "project": each.project,
        "url": each.url,
        "folders": list(each.folders),
        "files": [file.path for file in each.files],
        "connected_at_ms": each.connected_at_ms,
        "sessions": of_tool.get("sessions", 0),
        "newest_at_ms": of_tool.get("newest_at_ms"),
        "message": told,
        **({"fix": fix} if fix else {}),
    }
