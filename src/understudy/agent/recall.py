"""What a run begins from: the newest checkpoint of its session, and what was said after it."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from understudy.agent.budget import list_tokens
from understudy.agent.compaction import checkpoint_of, newest_checkpoint
from understudy.agent.conversation import Checkpoint, Conversation, Piece
from understudy.agent.history import find_start, read_history
from understudy.agent.inputs import InputReader, input_tokens, items_of
from understudy.core.tokens import estimate_tokens
from understudy.runs.execute import RunExecution
from understudy.runs.model import Run

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# How many times what a prompt may have is read back at most, to be summarised if need be.
READ_AHEAD: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """Where the history of a run begins, and about how many tokens it takes with the input."""

    # The offset of the checkpoint that stands for what is older.
    checkpoint: int | None
    history_from: int
    tokens: int


def mark_start(unit: "Unit", run: Run, *, input_offset: int, limit: int) -> Beginning:
    """Where the history of a run begins, to be kept in its snapshot."""
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
    said = summary + start.tokens + input_tokens(items_of(run))
    return Beginning(
        checkpoint=known.offset if known else None,
        history_from=start.offset,
        tokens=list_tokens(said),
    )


def recall(unit: "Unit", execution: RunExecution, *, accepts: frozenset[str]) -> Conversation:
    """The turns before a run, as its snapshot marks them, and its own input."""
    snapshot, own = execution.snapshot, items_of(execution.run)
    reader = InputReader(unit=unit, accepts=accepts)
    history = read_history(
        unit.journal,
        execution.run.session_id,
        from_offset=snapshot.history_from,
        before_offset=snapshot.input_offset,
        show=partial(reader.earlier, own=own),
    )
    asked = Piece.of(snapshot.input_offset, (reader.own(own),))
    return Conversation(
        own_offset=asked.offset,
        pieces=(*history, asked),
        checkpoint=_checkpoint(unit, execution),
    )


def _checkpoint(unit: "Unit", execution: RunExecution) -> Checkpoint | None:
    offset = execution.snapshot.checkpoint
    if offset is None:
        return None
    found = unit.journal.read(session_id=execution.run.session_id, after_offset=offset - 1, limit=1)
    return checkpoint_of(found[0]) if found else None
