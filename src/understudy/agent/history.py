"""Earlier turns of a session as messages: finding the start of the history, and reading it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from understudy.agent.budget import list_tokens
from understudy.agent.compaction import Room, checkpoint_of, message_tokens_sent
from understudy.agent.conversation import Checkpoint, Conversation, Piece
from understudy.agent.inputs import InputReader, input_tokens, items_of
from understudy.core.text import estimate_tokens
from understudy.providers.base import (
    AssistantMessage,
    Message,
    ModelReply,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)
from understudy.retrieval.recovered import VerbatimPart
from understudy.runs.model import Run, RunSnapshot
from understudy.sessions.journal import (
    EventKind,
    JournalEvent,
    newest_checkpoint,
    own_text,
)

if TYPE_CHECKING:
    from understudy.storage.journal import JournalStore
    from understudy.storage.unit import Unit

TRANSCRIPT_KINDS: Final = (EventKind.INPUT, EventKind.MESSAGE, EventKind.TOOL_RESULT)
BATCH: Final = 256
# Kinds of events that begin a piece.
OPENING_KINDS: Final = frozenset({EventKind.INPUT, EventKind.MESSAGE})
NO_RESULT: Final = "(no result: the run ended before this call was finished)"
# Renders earlier inputs, by the offset of the event.
ShowInputs = Callable[[Sequence[JournalEvent]], Mapping[int, UserMessage]]
# Multiple of the prompt limit that is read back at most, to be summarised if need be.
READ_AHEAD: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """The start of a run's history, and its estimated tokens with the input."""

    # The offset of the checkpoint that replaces older events.
    checkpoint: int | None
    history_from: int
    tokens: int
    # Of the input alone.
    input_tokens: int
    input_offset: int
    # The events of the history that were read for this, oldest first.
    events: tuple[JournalEvent, ...]

    def sent_tokens(self, room: Room) -> int:
        """An estimate of the message tokens of the run's first call."""
        return message_tokens_sent(room, said=self.tokens, asked=self.input_tokens)

    def verbatim(self, unit: "Unit", session_id: str, room: Room) -> VerbatimPart:
        """The part that the first call has verbatim; a compaction that is due is anticipated."""
        from_offset, is_compacted = self.history_from, self.sent_tokens(room) < self.tokens
        if is_compacted:
            kept = find_start(
                unit.journal,
                session_id,
                before_offset=self.input_offset,
                budget_tokens=room.kept - self.input_tokens,
            )
            from_offset = max(from_offset, kept.offset)
        return VerbatimPart(
            from_offset=from_offset,
            before_offset=self.input_offset,
            is_whole=self.checkpoint is None and not is_compacted,
        )


def mark_start(unit: "Unit", run: Run, *, input_offset: int, limit: int) -> Beginning:
    """The start of a run's history, to be stored in its snapshot."""
    known = newest_checkpoint(unit.journal, run.session_id, before_offset=input_offset)
    checkpoint = checkpoint_of(known) if known else None
    start = find_start(
        unit.journal,
        run.session_id,
        after_offset=checkpoint.upto_offset if checkpoint else 0,
        before_offset=input_offset,
        budget_tokens=READ_AHEAD * limit,
    )
    summary = estimate_tokens(checkpoint.message().text) if checkpoint else 0
    asked = input_tokens(items_of(run))
    return Beginning(
        checkpoint=known.offset if known else None,
        history_from=start.offset,
        tokens=list_tokens(summary + start.tokens + asked),
        input_tokens=list_tokens(asked),
        input_offset=input_offset,
        events=start.events,
    )


def recall(
    unit: "Unit",
    run: Run,
    snapshot: RunSnapshot,
    *,
    accepts: frozenset[str],
    history: tuple[JournalEvent, ...] | None = None,
) -> Conversation:
    """The turns before a run, as its snapshot marks them, and its own input.

    Unless `history` is given, it is read from the journal.
    """
    own = items_of(run)
    reader = InputReader(unit=unit, accepts=accepts)
    if history is None:
        history = read_history(
            unit.journal,
            run.session_id,
            from_offset=snapshot.history_from,
            before_offset=snapshot.input_offset,
        )
    turns = pieces_of(history, show=partial(reader.earlier, own=own))
    asked = Piece.of(snapshot.input_offset, (reader.own(own, user_id=run.user_id),))
    return Conversation(
        own_offset=asked.offset,
        pieces=(*turns, asked),
        checkpoint=_checkpoint(unit, run.session_id, snapshot.checkpoint),
    )


def _checkpoint(unit: "Unit", session_id: str, offset: int | None) -> Checkpoint | None:
    if offset is None:
        return None
    found = unit.journal.read(session_id=session_id, after_offset=offset - 1, limit=1)
    return checkpoint_of(found[0]) if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """The start of a history, and an upper estimate of its tokens."""

    offset: int
    tokens: int = 0
    # From the start on, oldest first.
    events: tuple[JournalEvent, ...] = ()


def find_start(
    journal: "JournalStore",
    session_id: str,
    *,
    after_offset: int = 0,
    before_offset: int,
    budget_tokens: int,
) -> Start:
    """The oldest message that fits the budget together with all after it.

    The newest message always fits; `before_offset` when there is none after `after_offset`.
    """
    start, tokens = Start(offset=before_offset), 0
    read: list[JournalEvent] = []
    for event in _backwards(journal, session_id, before_offset):
        if event.offset <= after_offset:
            break
        tokens += _cost(event)
        if tokens > budget_tokens and start.offset < before_offset:
            break
        read.append(event)
        if event.kind in OPENING_KINDS:
            start = Start(offset=event.offset, tokens=tokens)
    return replace(
        start, events=tuple(event for event in reversed(read) if event.offset >= start.offset)
    )


def read_history(
    journal: "JournalStore",
    session_id: str,
    *,
    from_offset: int,
    before_offset: int,
) -> tuple[JournalEvent, ...]:
    """The turns from one offset up to another."""
    events: list[JournalEvent] = []
    after = from_offset - 1
    while True:
        batch = journal.read(
            session_id=session_id, after_offset=after, kinds=TRANSCRIPT_KINDS, limit=BATCH
        )
        events += [
            event for event in batch if event.offset < before_offset and event.withdrawn_by is None
        ]
        if len(batch) < BATCH or batch[-1].offset >= before_offset:
            return tuple(events)
        after = batch[-1].offset


def pieces_of(
    events: Sequence[JournalEvent], *, show: ShowInputs | None = None
) -> tuple[Piece, ...]:
    """Events as pieces; a call whose run ended without a result gets a placeholder."""
    # Some servers reuse call ids in every reply, so the step is part of the key.
    results = {
        (event.run_id, event.data.get("step"), event.data.get("call_id")): event
        for event in events
        if event.kind is EventKind.TOOL_RESULT
    }
    inputs = (show or _in_words)([event for event in events if event.kind is EventKind.INPUT])
    pieces: list[Piece] = []
    for event in events:
        if event.kind is EventKind.INPUT:
            pieces.append(Piece.of(event.offset, (inputs[event.offset],)))
        elif event.kind is EventKind.MESSAGE:
            reply = reply_of(event.data)
            messages: list[Message] = [
                AssistantMessage(text=reply.text, tool_calls=reply.tool_calls)
            ]
            for call in reply.tool_calls:
                found = results.get((event.run_id, event.data.get("step"), call.call_id))
                content = str(found.data.get("content", "")) if found else NO_RESULT
                messages.append(ToolMessage(call_id=call.call_id, name=call.name, content=content))
            pieces.append(Piece.of(event.offset, messages, own_text=own_text(event)))
    return tuple(pieces)


def _in_words(inputs: Sequence[JournalEvent]) -> Mapping[int, UserMessage]:
    return {event.offset: UserMessage(text=input_text(event.data)) for event in inputs}


def input_text(data: Mapping[str, Any]) -> str:
    """The text of an input event, its parts in order."""
    return "\n".join(_item_text(item) for item in data.get("items", ()))


def _item_text(item: Mapping[str, Any]) -> str:
    if item.get("type") == "text":
        return str(item.get("text", ""))
    return f"[asset:{item.get('asset_id', 'unknown')}]"


def message_data(step: int, reply: ModelReply) -> dict[str, Any]:
    """A reply as journal data."""
    usage = reply.usage
    return {
        "step": step,
        "text": reply.text,
        "tool_calls": [
            {"call_id": call.call_id, "name": call.name, "arguments": call.arguments}
            for call in reply.tool_calls
        ],
        "model": reply.model,
        "finish_reason": reply.finish_reason,
        "usage": {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cache_read_tokens": usage.cache_read_tokens,
        },
    }


def reply_of(data: Mapping[str, Any]) -> ModelReply:
    """A reply from journal data."""
    return ModelReply(
        text=str(data.get("text", "")),
        tool_calls=tuple(ToolCall(**call) for call in data.get("tool_calls", ())),
        usage=Usage(**data.get("usage", {})),
        model=str(data.get("model", "")),
        finish_reason=str(data.get("finish_reason", "")),
    )


def _backwards(
    journal: "JournalStore", session_id: str, before_offset: int
) -> Iterator[JournalEvent]:
    while True:
        batch = journal.read_back(
            session_id, before_offset=before_offset, kinds=TRANSCRIPT_KINDS, limit=BATCH
        )
        yield from (event for event in batch if event.withdrawn_by is None)
        if len(batch) < BATCH:
            return
        before_offset = batch[-1].offset


def _cost(event: JournalEvent) -> int:
    match event.kind:
        case EventKind.INPUT:
            return input_tokens(event.data.get("items", ()))
        case EventKind.MESSAGE:
            calls = "".join(call["arguments"] for call in event.data.get("tool_calls", ()))
            return estimate_tokens(str(event.data.get("text", "")) + calls)
        case _:
            return estimate_tokens(str(event.data.get("content", "")))
