"""Transcripts of coding agents: lines that become turns, one at a time, whatever the file's size."""

import errno
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import IO, Any, Final, NamedTuple

from understudy.core.errors import Invalid
from understudy.core.strict_json import parse_mended
from understudy.foreign.hooks import MAX_RESULT_CHARS, MAX_TEXT_CHARS, MAX_UNKNOWN_CHARS, bounded
from understudy.foreign.record import MAX_CALLS
from understudy.foreign.turn import ForeignCall, ForeignConversation, ForeignTurn, turn_key
from understudy.foreign.typed import words_of

# A longer line is skipped: nobody typed it.
MAX_LINE_BYTES: Final = 8 * 1024 * 1024
# Unpacked; what is longer is a trap.
MAX_FILE_BYTES: Final = 4 * 1024**3
MAX_UNKNOWN: Final = 50
MAX_INJECTED: Final = 50
TOO_LONG: Final = "it is too long"
UNREAD: Final = "(a line that could not be read)"


class Prompt(NamedTuple):
    """What stood in the place of the user, and began a turn."""

    text: str
    # Whether a person typed it, apart from blocks that the client put among the words.
    is_typed: bool = True


class InjectedText(NamedTuple):
    """What the client put into a turn that goes on."""

    text: str


class ReportedCall(NamedTuple):
    """A tool call."""

    id: str
    name: str
    arguments: Mapping[str, Any]


class ReportedResult(NamedTuple):
    """What came back from a tool call."""

    id: str
    text: str
    failed: bool = False


class AgentText(NamedTuple):
    """An answer of the agent; the last one counts."""

    text: str
    model: str | None = None


class UnknownLine(NamedTuple):
    """A line that nobody here knows the meaning of."""

    line: Mapping[str, Any]


LinePart = Prompt | InjectedText | ReportedCall | ReportedResult | AgentText | UnknownLine


class TranscriptLine(NamedTuple):
    """A line of a transcript: what it says, in which conversation, and when."""

    parts: tuple[LinePart, ...]
    conversation: str | None = None
    at_ms: int | None = None


LineReader = Callable[[Mapping[str, Any]], TranscriptLine]


@dataclass(slots=True)
class LineTally:
    """How many lines were read behind a place, and what was not understood."""

    since: int = 0
    lines: int = 0
    unknown: int = 0
    broken: int = 0

    def count(self, line: TranscriptLine | None) -> None:
        """Count a line; None for one that could not be read."""
        self.lines += 1
        self.broken += line is None
        parts = line.parts if line else ()
        self.unknown += sum(isinstance(part, UnknownLine) for part in parts)


@dataclass(slots=True)
class _Draft:
    """A turn whose lines are still coming."""

    conversation: str
    typed: str = ""
    injected: list[str] = field(default_factory=list)
    calls: dict[str, ForeignCall] = field(default_factory=dict)
    unknown: list[Mapping[str, Any]] = field(default_factory=list)
    said: str = ""
    model: str | None = None
    began_at_ms: int | None = None
    ended_at_ms: int | None = None

    def take(self, part: LinePart) -> None:
        """Add a part that does not begin a turn."""
        match part:
            case InjectedText(text) if len(self.injected) < MAX_INJECTED:
                self.injected.append(text[:MAX_UNKNOWN_CHARS])
            case ReportedCall(id_, name, arguments) if len(self.calls) < MAX_CALLS:
                arguments = bounded(arguments)
                self.calls[id_] = ForeignCall(name=name[:200] or "tool", arguments=arguments)
            case ReportedResult(id_, text, failed):
                # A result without its call was read all the same.
                call = self.calls.get(id_) or ForeignCall(name="tool", arguments={})
                if id_ in self.calls or len(self.calls) < MAX_CALLS:
                    cut = text[:MAX_RESULT_CHARS]
                    self.calls[id_] = ForeignCall(
                        name=call.name, arguments=call.arguments, result=cut, failed=failed
                    )
            case AgentText(text, model):
                self.said = text[:MAX_TEXT_CHARS] or self.said
                self.model = model or self.model
            case UnknownLine(line) if len(self.unknown) < MAX_UNKNOWN:
                self.unknown.append(bounded(line, MAX_UNKNOWN_CHARS))
            case _:
                pass


class TranscriptTurns:
    """Makes turns of lines. A conversation that two files have is taken for the same one."""

    def __init__(self, source: str, conversation: str) -> None:
        self._source = source
        self._draft = _Draft(conversation)
        # How often the same words were typed in each conversation.
        self._said: Counter[tuple[str, str]] = Counter()

    def take(self, line: TranscriptLine) -> Iterator[ForeignTurn]:
        """Add a line; the turn that it ends, if it begins another."""
        if not line.parts and line.conversation:
            self._draft.conversation = line.conversation
        for part in line.parts:
            if isinstance(part, Prompt):
                yield from self.end()
                words = words_of(part.text[:MAX_TEXT_CHARS])
                self._draft.typed = words.typed if part.is_typed else ""
                injected = words.injected if part.is_typed else (part.text,)
                self._draft.injected += [text[:MAX_TEXT_CHARS] for text in injected]
                self._draft.began_at_ms = line.at_ms
                self._draft.conversation = line.conversation or self._draft.conversation
            else:
                self._draft.take(part)
            self._draft.ended_at_ms = line.at_ms or self._draft.ended_at_ms

    def skip(self) -> None:
        """Pass over a line that cannot be read; what a turn has read there may be anything."""
        if self._draft.typed or self._draft.calls:
            self._draft.take(ReportedResult("", UNREAD))

    def end(self) -> Iterator[ForeignTurn]:
        """The turn that the last line belongs to, unless nothing was typed, done or said in it."""
        draft, self._draft = self._draft, _Draft(self._draft.conversation)
        turn = ForeignTurn(
            of=ForeignConversation(source=self._source, conversation=draft.conversation),
            turn="",
            typed=draft.typed,
            injected=tuple(draft.injected),
            calls=tuple(draft.calls.values()),
            unknown=tuple(draft.unknown),
            said=draft.said,
            model=draft.model,
            began_at_ms=draft.began_at_ms,
            ended_at_ms=draft.ended_at_ms,
        )
        if not turn.is_empty:
            yield self._numbered(turn)

    def _numbered(self, turn: ForeignTurn) -> ForeignTurn:
        first = turn_key(turn.typed, 1)
        self._said[turn.of.conversation, first] += 1
        nth = self._said[turn.of.conversation, first]
        return replace(turn, turn=turn_key(turn.typed, nth))


def turns_of(
    file: IO[bytes], read: LineReader, turns: TranscriptTurns, tally: LineTally
) -> Iterator[tuple[int, ForeignTurn | None]]:
    """The turns of a transcript, each with the bytes that were read until then; None for the end."""
    at = 0
    for size, raw in _lines(file):
        at += size
        if at > MAX_FILE_BYTES:
            raise OSError(errno.EFBIG, TOO_LONG)
        if raw is not None and not raw.strip():
            continue
        line = _parsed(raw, read)
        if line is None:
            turns.skip()
        else:
            for turn in turns.take(line):
                # This line is of the next turn, so it is read again by who goes on from here.
                yield at - size, turn
        if at > tally.since:
            tally.count(line)
    for turn in turns.end():
        yield at, turn
    yield at, None


def _lines(file: IO[bytes]) -> Iterator[tuple[int, bytes | None]]:
    """The lines of a file with their sizes; None for one that is too long."""
    while line := file.readline(MAX_LINE_BYTES):
        size, is_long = len(line), False
        # Packed, such a line may go on for ever.
        while len(line) == MAX_LINE_BYTES and not line.endswith(b"\n") and size <= MAX_FILE_BYTES:
            is_long, line = True, file.readline(MAX_LINE_BYTES)
            size += len(line)
        yield size, None if is_long else line


def _parsed(raw: bytes | None, read: LineReader) -> TranscriptLine | None:
    with suppress(Invalid):
        found = None if raw is None else parse_mended(raw)
        return read(found) if isinstance(found, dict) else None
    return None


def texts(content: Any, *kinds: str) -> str:
    """The text of a message: a string, or the blocks of these kinds."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    found = (each for each in content if isinstance(each, dict) and each.get("type") in kinds)
    return "\n".join(text for each in found if isinstance(text := each.get("text"), str))


def plain(value: Any) -> str:
    """What a tool answered, as text."""
    if isinstance(value, list) and (text := texts(value, "text", "input_text", "output_text")):
        return text
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def text_of(line: Any, name: str) -> str:
    """A field that is a text; empty for anything else."""
    value = line.get(name) if isinstance(line, dict) else None
    return value if isinstance(value, str) else ""


def moment(text: Any) -> int | None:
    """An ISO time in milliseconds; None for anything else."""
    try:
        return max(0, round(datetime.fromisoformat(text).timestamp() * 1000))
    except (TypeError, ValueError, OverflowError):
        return None
