"""`understudy import`: conversations and memory that other programs have kept."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from understudy.cli import inputs
from understudy.cli.connection import DaemonConnection, command
from understudy.cli.output import note
from understudy.cli.screen import count

if TYPE_CHECKING:
    from understudy.foreign.imports import ImportReport

# The progress is shown after so many bytes, or after one of so many parts of everything: a file
# that is gone on with is read from its beginning.
PART_BYTES: Final = 4 * 1024 * 1024
PARTS: Final = 8


@command()
def import_transcripts(
    daemon: DaemonConnection,
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="`claude-code`, `codex` or `hermes`.")
    ],
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A transcript, a memory file, or a folder.")
    ],
) -> None:
    """Make conversations of what Claude Code, Codex or Hermes has kept, and proposals of its memory.

    Once imported is not imported again. A daemon on another machine is sent one file.
    """
    from understudy.client.address import on_loopback
    from understudy.wire.doors import ImportTranscripts

    where: dict[str, str] = {"path": str(path.expanduser().absolute())}
    if on_loopback(daemon.client.url) is None:
        where = {"upload": inputs.read_file(path), "name": path.name}
    whole: ImportReport | None = None
    cursor, enough = None, PART_BYTES
    with typer.progressbar(length=1, label="importing", file=sys.stderr) as bar:
        while whole is None or cursor is not None:
            wanted = inputs.request(
                ImportTranscripts, source=source, cursor=cursor, max_bytes=enough, **where
            )
            part = daemon.client.imports.create(wanted)
            bar.length = max(1, part.bytes_total)
            enough = max(PART_BYTES, part.bytes_total // PARTS)
            bar.update(part.bytes_read - bar.pos)
            cursor = part.next_cursor
            whole = part if whole is None else whole.plus(part)
    daemon.answer = asdict(whole)
    daemon.show(lambda: _tell(whole))


def _tell(report: "ImportReport") -> None:
    print(f"{count(report.turns, 'turn')} imported, {report.known_turns} known already")
    proposed = len(report.candidate_ids)
    if proposed or report.known_entries or report.refused_entries:
        waiting = f"{count(proposed, 'statement')} of memory files proposed"
        print(f"{waiting}, {report.known_entries} known already, {report.refused_entries} refused")
    if report.unknown_lines or report.broken_lines:
        unknown = f"{count(report.unknown_lines, 'line')} of unknown kinds"
        note(f"{unknown}, {report.broken_lines} unreadable")
    for each in report.notes:
        note(f"  {each}")
