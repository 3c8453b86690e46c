"""`understudy serve`, `config`, `redact`, `openapi` and `version`: commands without a daemon."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Final

import typer

from understudy import __version__
from understudy.cli import screen
from understudy.cli.connection import Commands, command, settings_or_exit
from understudy.cli.options import shared
from understudy.cli.output import print_json

if TYPE_CHECKING:
    from understudy.settings import Settings

# Input is scrubbed in parts of about this size, cut at safe line ends.
PART_BYTES: Final = 1 << 20
# The limit for waiting on the end of a key block.
MOST_BYTES: Final = 16 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonOptions:
    """Settings flags of a daemon that is started here."""

    home: Annotated[
        Path | None, typer.Option("--home", help="Where its files live (UNDERSTUDY_HOME).")
    ] = None
    bind: Annotated[
        str | None,
        typer.Option("--bind", metavar="HOST:PORT", help="Where to listen (UNDERSTUDY_BIND)."),
    ] = None
    database_url: Annotated[
        str | None,
        typer.Option(
            "--database-url", metavar="URL", help="SQLite or PostgreSQL (UNDERSTUDY_DATABASE_URL)."
        ),
    ] = None
    config: Annotated[
        Path | None, typer.Option("--config", help="The config file (UNDERSTUDY_CONFIG).")
    ] = None
    workspace: Annotated[
        Path | None,
        typer.Option("--workspace", help="The agents' working directory (UNDERSTUDY_WORKSPACE)."),
    ] = None

    def settings(self) -> "Settings":
        """The settings with these flags; a value that cannot be used is a usage error."""
        from understudy.settings import Flags

        return settings_or_exit(Flags(**asdict(self)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions(DaemonOptions):
    """The flags of `serve`."""

    role: Annotated[
        str | None,
        typer.Option(
            "--role",
            metavar="all|api|worker",
            help="Where several daemons share PostgreSQL: `api` answers people and leaves the work "
            "to others, `worker` works and answers only probes (UNDERSTUDY_ROLE).",
        ),
    ] = None


@command()
def serve(flags: ServeOptions) -> None:
    """Run the daemon until a signal stops it: the first one drains, a second one ends it."""
    settings = flags.settings()
    # Everything the daemon is made of; only after the settings are known to be good.
    from understudy.daemon.serve import serve as run

    raise typer.Exit(run(settings))


NoPii = Annotated[bool, typer.Option("--no-pii", help="Take out secrets only.")]


def redact(no_pii: NoPii = False) -> None:
    """Read text on stdin and print it without secrets and personal data.

    What is no UTF-8 passes unchanged.
    """
    from understudy.redaction.scrub import scrub

    for part in parts(sys.stdin.buffer):
        clean = scrub(part.decode("utf-8", "surrogateescape"), pii=not no_pii)
        sys.stdout.buffer.write(clean.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()


def parts(stream: BinaryIO) -> Iterator[bytes]:
    """The input in parts that end with a line, and not inside a key or an indented block."""
    held = b""
    while block := stream.read(PART_BYTES):
        held += block
        cut = _cut(held) if len(held) < MOST_BYTES else held.rfind(b"\n") + 1
        if cut > 0:
            yield held[:cut]
            held = held[cut:]
    if held:
        yield held


def _cut(held: bytes) -> int:
    """The offset to cut a part at; 0 if no safe one exists yet."""
    cut = held.rfind(b"\n") + 1
    # A value may stand on the indented line after its name.
    while (
        cut > 0 and held[cut : cut + 1] in {b" ", b"\t", b""} and len(held) - cut < PART_BYTES // 2
    ):
        cut = held.rfind(b"\n", 0, cut - 1) + 1
    begin = held.rfind(b"-----BEGIN ", 0, cut)
    if begin >= 0 and held.find(b"-----END ", begin, cut) < 0:
        cut = held.rfind(b"\n", 0, begin) + 1
    return cut


def version(ctx: typer.Context) -> None:
    """Print the version."""
    if shared(ctx).json:
        print_json({"version": __version__})
    else:
        print(__version__)


def openapi() -> None:
    """Print the OpenAPI document of this version; no daemon is needed."""
    import json

    from understudy.api.app import openapi_document

    print(json.dumps(openapi_document(), ensure_ascii=False, indent=2))


commands = Commands("Config: what the daemon would start with here.")


@commands("show")
def show(ctx: typer.Context, flags: DaemonOptions) -> None:
    """Show each setting and where it came from; secrets are never shown."""
    from understudy.settings.effective import route_rows, setting_rows

    settings = flags.settings()
    values, routes = setting_rows(settings), route_rows(settings)
    if shared(ctx).json:
        print_json({"settings": values, "routes": routes})
        return
    columns = ("setting", "source", "value")
    screen.table(columns, _cells(values, ("name", "source", "value")), empty="")
    print()
    parts = ("route_id", "provider", "model", "key", "base_url")
    screen.table(("route", "provider", "model", "key", "base url"), _cells(routes, parts), empty="")


def _cells(rows: list[dict[str, Any]], names: Iterable[str]) -> list[list[object]]:
    return [[row[name] for name in names] for row in rows]
