"""One call of the model in a run: its place in the budget, and what the journal keeps of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from understudy.agent.conversation import Piece
from understudy.agent.history import message_data
from understudy.providers.base import AssistantMessage, Message, ModelReply
from understudy.runs.model import Run
from understudy.runs.steps import Steps
from understudy.sessions.journal import OWN_CHARS, EventKind, NewEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopTurn:
    """Where a run stands just before a model call."""

    run: Run
    step: int
    max_steps: int

    @property
    def is_last(self) -> bool:
        """Whether the budget ends with this call; then it is made without tools."""
        return self.step == self.max_steps

    @property
    def key(self) -> str:
        """Names the call among the steps of the run."""
        return f"{self.run.run_id}:model:{self.step}"


def reply_events(
    turn: LoopTurn, reply: ModelReply, *, own_chars: int | None = None
) -> list[NewEvent]:
    """A reply as the journal keeps it: all of it, and what of it is for the user.

    `own_chars` tells where the model's own words end, if something was put below them.
    """
    run_id = turn.run.run_id
    mark = {} if own_chars is None else {OWN_CHARS: own_chars}
    data: Mapping[str, Any] = message_data(turn.step, reply) | mark
    events = [NewEvent(kind=EventKind.MESSAGE, run_id=run_id, key=turn.key, data=data)]
    if reply.text.strip():
        data = {"step": turn.step, "text": reply.text} | mark
        events.append(NewEvent(kind=EventKind.OUTPUT, run_id=run_id, data=data))
    return events


def piece_of(steps: Steps, turn: LoopTurn, reply: ModelReply, results: Sequence[Message]) -> Piece:
    """A reply with what its tools answered, as a piece of the conversation."""
    said = steps.find(turn.key)
    spoken = AssistantMessage(text=reply.text, tool_calls=reply.tool_calls)
    return Piece.of(said.offset if said else 0, (spoken, *results))
