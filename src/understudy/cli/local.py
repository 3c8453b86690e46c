"""`understudy serve`, `redact`, `openapi` and `version`: commands that ask no daemon."""

import sys
from collections.abc import Iterator
from typing import Annotated, BinaryIO, Final

import typer

from understudy import __version__
from understudy.cli.connection import settings_or_exit
from understudy.cli.options import Bind, ConfigFile, DatabaseUrl, Home, Workspace, shared
from understudy.cli.output import print_json


def serve(
    home: Home = None,
    bind: Bind = None,
    database_url: DatabaseUrl = None,
    config: ConfigFile = None,
    workspace: Workspace = None,
) -> None:
    """Run the daemon until a signal stops it: the first one drains, a second one ends it."""
    from understudy.settings import Flags

    flags = Flags(
        home=home, bind=bind, database_url=database_url, config=config, workspace=workspace
    )
    settings = settings_or_exit(flags)
    # Everything the daemon is made of; only after the settings are known to be good.
    from understudy.daemon.serve import serve as run

    raise typer.Exit(run(settings))


# Input is scrubbed in parts of about this size, each ending where nothing goes on.
PART_BYTES: Final = 1 << 20
# A key block that never ends is not waited for any longer than this.
MOST_BYTES: Final = 16 << 20

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
    """Where to end a part; 0 when it must go on."""
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
