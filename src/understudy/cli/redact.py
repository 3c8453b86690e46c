"""`understudy redact`: stdin without secrets, on stdout."""

import sys
from collections.abc import Iterator
from typing import Annotated, BinaryIO, Final

import typer

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
