"""Keeping a long session within the model's window: its older part becomes a checkpoint.

The journal keeps everything. A checkpoint is a step like any other: it is written under a key
before the call it was made for, so a run that is taken up again shows the model the same messages.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import structlog

from understudy.agent.budget import prompt_limit
from understudy.agent.conversation import Checkpoint, Conversation, fitted
from understudy.agent.specs import spec_tokens
from understudy.agent.summary import Ask, Summariser, Summary
from understudy.core.text import Scrub
from understudy.core.tokens import estimate_tokens
from understudy.providers.base import ProviderError, ToolSpec
from understudy.redaction.scrub import scrub
from understudy.runs.execute import RunExecution
from understudy.sessions.journal import EventKind, JournalEvent, NewEvent

if TYPE_CHECKING:
    from understudy.storage.journal import JournalStore

log = structlog.get_logger()

# How much of the room for messages is kept word for word.
KEPT_SHARE: Final = 0.4
# A summary of less than this much of it would not be worth a model call.
WORTH_SHARE: Final = 0.1
# How many checkpoints are looked at for one that can be read.
CHECKPOINTS_TRIED: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """How many tokens a prompt may have, and how many of them messages cannot have."""

    limit: int
    fixed: int

    @property
    def left(self) -> int:
        """Tokens for messages."""
        return max(0, self.limit - self.fixed)


def room_for(*, context_window: int | None, system: str, tools: Sequence[ToolSpec]) -> Room:
    """The room beside the system text and the tools."""
    described = sum(map(spec_tokens, tools))
    return Room(limit=prompt_limit(context_window), fixed=estimate_tokens(system) + described)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compactor:
    """Makes checkpoints where a conversation has outgrown its room."""

    # A summary is stored, so secrets are taken out of it first.
    scrub: Scrub = scrub

    async def tend(
        self, execution: RunExecution, step: int, conversation: Conversation, room: Room, ask: Ask
    ) -> Conversation:
        """The conversation before a model call: as it is, or from a new checkpoint on."""
        upto = self._upto(conversation, room)
        if upto is None:
            return conversation
        run = execution.run
        summariser = Summariser(model=run.route.model, limit=room.limit, run_id=run.run_id)
        earlier = conversation.checkpoint.summary if conversation.checkpoint else None
        try:
            summary = await summariser.summarise(earlier, conversation.past(upto), ask)
        except ProviderError as problem:
            log.warning("compaction.failed", run_id=run.run_id, step=step, reason=problem.detail)
            return replace(conversation, is_tired=True)
        checkpoint = Checkpoint(summary=self.scrub(summary.text), upto_offset=upto)
        compacted = conversation.after(checkpoint)
        data = _data(step, checkpoint, summary) | {
            "tokens_before": room.fixed + conversation.tokens,
            "tokens_after": room.fixed + compacted.tokens,
        }
        key = checkpoint_key(run.run_id, step)
        event = NewEvent(kind=EventKind.CHECKPOINT, run_id=run.run_id, key=key, data=data)
        await execution.steps.write([event])
        log.info("compaction.done", run_id=run.run_id, step=step, tokens=data["tokens_after"])
        return compacted

    def _upto(self, conversation: Conversation, room: Room) -> int | None:
        if conversation.is_tired or conversation.tokens <= room.left:
            return None
        upto = conversation.cut(keep_tokens=int(room.left * KEPT_SHARE * 3 / 4))
        if upto is None:
            return None
        past = sum(piece.tokens for piece in conversation.past(upto))
        return upto if past >= room.left * WORTH_SHARE else None


def within(conversation: Conversation, room: Room) -> Conversation:
    """What one call shows of a conversation: all of it, or what fits."""
    return fitted(conversation, room.left)


def resumed(conversation: Conversation, execution: RunExecution, step: int) -> Conversation:
    """The conversation from the checkpoint that was made before a step, if one was."""
    done = execution.steps.find(checkpoint_key(execution.run.run_id, step))
    checkpoint = checkpoint_of(done) if done is not None else None
    return conversation if checkpoint is None else conversation.after(checkpoint)


def checkpoint_key(run_id: str, step: int) -> str:
    """Names the checkpoint made before a step of a run."""
    return f"{run_id}:checkpoint:{step}"


def newest_checkpoint(
    journal: "JournalStore", session_id: str, *, before_offset: int
) -> JournalEvent | None:
    """The newest checkpoint of a session that can be read."""
    found = journal.checkpoints(session_id, before_offset=before_offset, limit=CHECKPOINTS_TRIED)
    return next((event for event in found if checkpoint_of(event) is not None), None)


def checkpoint_of(event: JournalEvent) -> Checkpoint | None:
    """The checkpoint that an event records; None when it is damaged."""
    summary, upto = event.data.get("summary"), event.data.get("upto_offset")
    if not isinstance(summary, str) or type(upto) is not int or not 0 < upto < event.offset:
        return None
    return Checkpoint(summary=summary, upto_offset=upto)


def _data(step: int, checkpoint: Checkpoint, summary: Summary) -> dict[str, Any]:
    usage = summary.usage
    return {
        "step": step,
        "summary": checkpoint.summary,
        "upto_offset": checkpoint.upto_offset,
        "model_calls": summary.model_calls,
        "usage": {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cache_read_tokens": usage.cache_read_tokens,
        },
    }
