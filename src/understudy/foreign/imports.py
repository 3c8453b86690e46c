"""Imports: transcripts become conversations, and memory files proposals; a second time adds nothing."""

import errno
import hashlib
import io
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import islice
from pathlib import Path, PurePath
from typing import IO, TYPE_CHECKING, Annotated, Final

import zstandard

from understudy.core.errors import Conflict, Invalid, coded_error
from understudy.core.principal import Principal
from understudy.core.records import OMIT
from understudy.foreign.hermes import hermes_lines
from understudy.foreign.memory_text import entries_of
from understudy.foreign.record import ForeignTurns
from understudy.foreign.statements import Proposed, Statements
from understudy.foreign.transcript_lines import CodexLines, claude_line
from understudy.foreign.transcripts import (
    TOO_LONG,
    LineReader,
    LineTally,
    TranscriptTurns,
    turns_of,
)
from understudy.foreign.turn import ForeignCall, ForeignConversation, ForeignTurn
from understudy.learnings.model import LearningSource
from understudy.learnings.proposal import NewCandidate
from understudy.sessions.learning_scopes import WORKSPACE

if TYPE_CHECKING:
    from understudy.storage.unit import Units

MAX_FILES: Final = 20_000
MAX_MEMORY_BYTES: Final = 256 * 1024
MAX_NOTES: Final = 20
# Folders with transcripts of agents that agents started, and with copies of what is elsewhere.
LEFT_OUT: Final = frozenset({"rollout_summaries", "skills", "subagents", "tool-results"})
MEMORY_FOLDERS: Final = frozenset({"memory", "memories"})
READ_MEMORY: Final = "read_memory_file"
ZSTD: Final = ".zst"
_CURSOR: Final = re.compile(r"(\d{1,9}):(\d{1,15})")


class ImportSource(StrEnum):
    """A program whose conversations can be imported."""

    CLAUDE_CODE = "claude-code"
    CODEX = "codex"
    HERMES = "hermes"


# What the names of transcripts end with, and how the lines of a file are read.
_NAMES: Final = {
    ImportSource.CLAUDE_CODE: (".jsonl",),
    ImportSource.CODEX: (".jsonl", ".jsonl.zst"),
    ImportSource.HERMES: ("state.db",),
}
_READERS: Final[Mapping[ImportSource, Callable[[], LineReader]]] = {
    ImportSource.CLAUDE_CODE: lambda: claude_line,
    ImportSource.CODEX: CodexLines,
}


@dataclass(slots=True, kw_only=True)
class ImportReport:
    """What an import has added, and what it could not use."""

    source: ImportSource
    files: int = 0
    # Turns that were added, and those that were there already.
    turns: int = 0
    known_turns: int = 0
    candidate_ids: list[str] = field(default_factory=list)
    # Entries of memory files that are known, and those that cannot be proposed.
    known_entries: int = 0
    refused_entries: int = 0
    lines: int = 0
    # Lines of a kind that is not known, which are kept with their turn, and lines that are no JSON.
    unknown_lines: int = 0
    broken_lines: int = 0
    bytes_read: int = 0
    bytes_total: int = 0
    # Files that could not be used, each with its reason.
    notes: list[str] = field(default_factory=list)
    # Where to go on; absent at the end.
    next_cursor: Annotated[str | None, OMIT] = None

    def note(self, name: str, why: str) -> None:
        """Say why a file could not be used, of the first ones."""
        if len(self.notes) < MAX_NOTES:
            self.notes.append(f"{name}: {why}")

    def plus(self, part: "ImportReport") -> "ImportReport":
        """The report of this part of an import and the next one."""
        sums = {name: getattr(self, name) + getattr(part, name) for name in _SUMS}
        return replace(part, **sums)


_SUMS: Final = (
    *("files", "turns", "known_turns", "candidate_ids", "known_entries", "refused_entries"),
    *("lines", "unknown_lines", "broken_lines", "notes"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest:
    """What to import: files on this machine, or a text."""

    source: ImportSource
    path: str | None = None
    upload: str | None = None
    # The name of the file that the text is from.
    name: str = "upload.jsonl"
    cursor: str | None = None
    # How many bytes are enough for this time; none reads everything.
    max_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class _Source:
    """A file that can be read from a place."""

    name: str
    size: int
    path: Path | None = None
    text: str = field(default="", repr=False)

    @property
    def is_memory(self) -> bool:
        return self.name.endswith(".md")

    @property
    def is_database(self) -> bool:
        return self.name.endswith(".db")

    def open(self) -> IO[bytes]:
        """The content, unpacked."""
        if self.path is None:
            return io.BytesIO(self.text.encode(errors="replace"))
        descriptor = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        file = os.fdopen(descriptor, "rb")
        if not self.name.endswith(ZSTD):
            return file
        return io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(file, closefd=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportService:
    """Imports what other programs have kept."""

    units: "Units"
    turns: ForeignTurns
    statements: Statements

    def run(self, principal: Principal, wanted: ImportRequest) -> ImportReport:
        """Import from a place, or as many bytes of it as were asked for."""
        sources = _sources(wanted)
        report = ImportReport(source=wanted.source, bytes_total=sum(it.size for it in sources))
        number, offset = _place(wanted.cursor)
        report.bytes_read = sum(it.size for it in sources[:number])
        started = report.bytes_read + offset
        for at, source in enumerate(sources[number:], number):
            enough = None if wanted.max_bytes is None else started + wanted.max_bytes
            left = None if enough is None else enough - report.bytes_read
            stopped = self._take(principal, source, report, offset, left)
            if stopped is not None:
                report.bytes_read += stopped
                report.next_cursor = f"{at}:{stopped}"
                return report
            report.bytes_read += source.size
            offset = 0
            if enough is not None and report.bytes_read >= enough and at + 1 < len(sources):
                report.next_cursor = f"{at + 1}:0"
                return report
        if wanted.cursor is None and not (report.turns or report.known_turns or report.files):
            raise coded_error("foreign/no_transcript", pointer="/path")
        return report

    def _take(
        self,
        principal: Principal,
        source: _Source,
        report: ImportReport,
        offset: int,
        left: int | None,
    ) -> int | None:
        """Import a file from a place on; where to go on if that was enough of it."""
        try:
            if source.is_memory:
                self._remember(principal, source, report)
            else:
                return self._record(principal, source, report, offset, left)
        except (Conflict, Invalid) as problem:
            report.note(source.name, problem.detail)
        except (OSError, zstandard.ZstdError) as problem:
            report.note(source.name, getattr(problem, "strerror", None) or "it cannot be read")
        return None

    def _record(
        self,
        principal: Principal,
        source: _Source,
        report: ImportReport,
        offset: int,
        left: int | None,
    ) -> int | None:
        tally, before = LineTally(since=offset), report.turns + report.known_turns
        try:
            for at, turn in _turns(report.source, source, tally):
                # What was imported the last time is read again, to count what was said how often.
                if turn is None or at <= offset:
                    continue
                try:
                    recorded = self.turns.record(principal, turn)
                except Invalid:
                    tally.broken += 1
                    continue
                if recorded is not None:
                    report.turns += recorded.is_new
                    report.known_turns += not recorded.is_new
                if left is not None and left <= at < source.size and not source.is_database:
                    return at
        finally:
            report.lines += tally.lines
            report.unknown_lines += tally.unknown
            report.broken_lines += tally.broken
        is_used = (
            tally.lines > tally.broken + tally.unknown or report.turns + report.known_turns > before
        )
        report.files += is_used
        if not is_used and tally.lines:
            report.note(source.name, "it is no transcript")
        return None

    def _remember(self, principal: Principal, source: _Source, report: ImportReport) -> None:
        """Propose the entries of a memory file; the run that read it is their source."""
        with source.open() as file:
            content = file.read(MAX_MEMORY_BYTES + 1)
        if len(content) > MAX_MEMORY_BYTES:
            raise OSError(errno.EFBIG, TOO_LONG)
        text = content.decode(errors="replace").replace("\0", "")
        digest = hashlib.sha256(content).hexdigest()
        call = ForeignCall(name=READ_MEMORY, arguments={"path": source.name}, result=text[:32_000])
        turn = ForeignTurn(
            of=ForeignConversation(source=report.source, conversation="memory"),
            turn=f"{source.name}\0{digest}",
            typed="",
            calls=(call,),
        )
        proposed = Proposed(candidate_ids=[])
        with self.units.write() as unit:
            recorded = self.turns.record_in(unit, principal, turn)
            of = LearningSource(
                run_id=recorded.run_id,
                session_id=recorded.session_id,
                agent_id=str(report.source),
                client=str(report.source),
            )
            for kind, content_ in entries_of(text):
                wanted = NewCandidate(scope=WORKSPACE, kind=kind, content=content_, source=of)
                self.statements.propose(unit, principal, wanted, proposed)
        report.files += 1
        report.candidate_ids += proposed.candidate_ids
        report.known_entries += proposed.known
        report.refused_entries += proposed.refused


def _turns(
    kind: ImportSource, source: _Source, tally: LineTally
) -> Iterator[tuple[int, ForeignTurn | None]]:
    turns = TranscriptTurns(kind, PurePath(source.name).name.split(".")[0])
    if kind is not ImportSource.HERMES:
        with source.open() as file:
            yield from turns_of(file, _READERS[kind](), turns, tally)
        return
    if source.path is None:
        raise coded_error("foreign/no_transcript", pointer="/upload")
    for line in hermes_lines(source.path):
        yield from ((source.size, turn) for turn in turns.take(line))
        tally.count(line)
    yield from ((source.size, turn) for turn in turns.end())


def _sources(wanted: ImportRequest) -> list[_Source]:
    """The files of a place, in a fixed order."""
    if (wanted.path is None) == (wanted.upload is None):
        raise coded_error("foreign/path_or_upload", pointer="/path")
    if wanted.upload is not None:
        text = wanted.upload
        return [_Source(wanted.name, len(text.encode(errors="replace")), None, text)]
    place = Path(wanted.path or "")
    try:
        if place.is_absolute() and place.is_file():
            return [_Source(place.name, place.stat().st_size, place.resolve())]
        if place.is_absolute() and place.is_dir():
            found = list(islice(_found(place.resolve(), _NAMES[wanted.source]), MAX_FILES))
            return sorted(found, key=lambda it: (not it.is_memory, it.name))
    except OSError:
        pass
    raise coded_error("foreign/no_file", pointer="/path", path=str(place))


def _found(place: Path, names: tuple[str, ...]) -> Iterator[_Source]:
    """The transcripts and memory files below a folder; links are left out."""
    for folder, below, files in os.walk(place):
        below[:] = [name for name in below if name not in LEFT_OUT]
        parts = Path(folder).relative_to(place.parent).parts
        for name in files:
            path = Path(folder) / name
            is_memory = name.endswith(".md") and not MEMORY_FOLDERS.isdisjoint(parts)
            if (is_memory or name.endswith(names)) and not path.is_symlink() and path.is_file():
                yield _Source(str(path.relative_to(place)), path.stat().st_size, path)


def _place(cursor: str | None) -> tuple[int, int]:
    """The number of a file, and how many of its bytes were read."""
    if cursor is None:
        return 0, 0
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        raise coded_error("pagination/invalid_cursor", pointer="/cursor")
    return int(found[1]), int(found[2])
