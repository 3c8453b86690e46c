"""Journal events, run events, and stream events."""

from typing import Final, Literal, TypeAlias

from pydantic import ConfigDict

from understudy.runs.remembered import Remembered
from understudy.wire.base import JsonObject, View

StreamEventName: TypeAlias = Literal[
    "run_updated",
    "delta",
    "delta_reset",
    "tool_call",
    "tool_result",
    "output",
    "session_state_changed",
    "learning_updated",
    "candidates_added",
    "hint",
    "remembered",
]
RUN_UPDATED: Final = "run_updated"
DELTA: Final = "delta"
DELTA_RESET: Final = "delta_reset"
TOOL_CALL: Final = "tool_call"
TOOL_RESULT: Final = "tool_result"
OUTPUT: Final = "output"
SESSION_STATE_CHANGED: Final = "session_state_changed"
LEARNING_UPDATED: Final = "learning_updated"
CANDIDATES_ADDED: Final = "candidates_added"
HINT: Final = "hint"
REMEMBERED: Final = "remembered"


class RunEventView(View):
    """One event in the life of a run; `event.type` says what happened."""

    timestamp_ms: int
    run_id: str
    session_id: str
    agent_id: str
    event: JsonObject


class RunUpdated(RunEventView):
    """Stream event `run_updated`: the status of a run changed; the last one is terminal."""

    status: str


class Delta(View):
    """Stream event `delta`: more text of the reply; joined, the deltas equal the stored reply."""

    text: str
    step: int


class DeltaReset(View):
    """Stream event `delta_reset`: the text sent for this step is void, and is sent again."""

    step: int


class StepEvent(View):
    """Stream events `tool_call`, `tool_result` and `output`: the journal's data, located."""

    model_config = ConfigDict(frozen=True, extra="allow")

    run_id: str
    session_id: str
    timestamp_ms: int


class SessionStateChanged(View):
    """Stream event `session_state_changed`: created, bound, narrowed, ended."""

    session_id: str
    timestamp_ms: int
    event: JsonObject


class LearningUpdated(View):
    """Stream event `learning_updated`: a candidate or a learning of this session changed."""

    session_id: str
    timestamp_ms: int
    event: JsonObject


class CandidatesAdded(StepEvent):
    """Stream event `candidates_added`: a run left candidates for review."""

    candidate_ids: list[str]


class Hint(StepEvent):
    """Stream event `hint`: a setting prevents what the user asked for.

    `text` says what to switch on and how, in the language of the run.
    """

    code: str
    text: str


class RememberedEvent(StepEvent):
    """Stream event `remembered`: the learnings and run memories in the prompt of a run."""

    remembered: list[Remembered]
