"""Tools that do nothing in a replay: what would do more when done again is answered from a recording."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel

from understudy.core.errors import DamagedRecord
from understudy.rollout.replay.counterparts import recorded_for
from understudy.rollout.replay.recording import (
    Answer,
    Call,
    CallNumbers,
    Recognise,
    Recording,
    place_in,
    read_recording,
)
from understudy.rollout.trials.runs import is_of_trial
from understudy.runs.execute import MAX_RUN_EVENTS, Execution
from understudy.runs.model import Run
from understudy.runs.steps import Steps
from understudy.sessions.journal import EventKind
from understudy.tools.base import Approval, Effect, Tool, ToolContext, ToolError, in_thread
from understudy.tools.registry import ToolRegistry

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

# The words that every call begins with that the recording cannot answer.
UNRECORDED: Final = "not run: this is a replay, which answers such calls from a recording, and "
NO_SIDECHAIN: Final = "it holds no one sidechain that this run would be"
CALLS: Final = (EventKind.TOOL_CALL, EventKind.TOOL_RESULT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """What the stand-ins of one execution share."""

    units: "Units"
    # What this run repeats; None: nobody can tell what it would have been told.
    recording: Recording | None
    numbers: CallNumbers
    steps: Steps

    async def answer(self, call: Call, call_key: str) -> str:
        """What the recorded run was told; a `ToolError` where it was told of one, or nothing."""
        recording = self.recording
        if recording is None:
            raise ToolError(f"{UNRECORDED}{NO_SIDECHAIN}", code="not_recorded")
        number = self.numbers.number(place_in(call_key), self.steps.done.values())
        answer = recording.answer(call, number)
        if answer is None:
            raise ToolError(_why_not(recording, call), code="not_recorded")
        content = await in_thread(self._whole, recording.run_id, answer)
        if not answer.is_ok:
            raise ToolError(content)
        return content

    def _whole(self, run_id: str, answer: Answer) -> str:
        if answer.artifact_id is None:
            return answer.content
        with self.units.read() as unit:
            artifact = unit.artifacts.get(run_id, answer.artifact_id)
        return answer.content if artifact is None else artifact.content


def _why_not(recording: Recording, call: Call) -> str:
    count = recording.count(call)
    if not count:
        return f"{UNRECORDED}it holds no call of {call.tool} with these arguments"
    return f"{UNRECORDED}all {count} calls of {call.tool} with these arguments are answered"


class StandIn:
    """Looks like a tool to the model and to the rules, and only repeats what was recorded."""

    effect = Effect.READ
    # There is nothing to agree to.
    approval = Approval.NEVER

    def __init__(self, tool: Tool, replayed: Replayed) -> None:
        self.name = tool.name
        self.description = tool.description
        self.parameters: type[BaseModel] = tool.parameters
        self._replayed = replayed

    async def call(self, arguments: Any, context: ToolContext) -> str:
        """The recorded answer."""
        return await self._replayed.answer(call_of(self.name, arguments), context.call_key)


@dataclass(frozen=True, slots=True)
class RecordedTools:
    """Gives the runs of replays, and of all that they set going, their tools."""

    units: "Units"

    def concerns(self, run: Run) -> bool:
        """Whether a run belongs to a trial, which may be a replay."""
        return is_of_trial(run)

    def registry(self, execution: Execution, registry: ToolRegistry) -> ToolRegistry:
        """The same tools, with a stand-in for each of effect `once` if it is a replay. Blocks."""
        once = [tool for tool in registry.all() if tool.effect is Effect.ONCE]
        recognise = recogniser(registry, [tool.name for tool in once])
        with self.units.read() as unit:
            if not _is_of_replay(unit, execution.run):
                return registry
            recording = _recording(unit, execution.run, recognise)
        replayed = Replayed(
            units=self.units,
            recording=recording,
            numbers=CallNumbers(recognise),
            steps=execution.steps,
        )
        names = {tool.name for tool in once}
        return ToolRegistry(
            [StandIn(tool, replayed) if tool.name in names else tool for tool in registry.all()]
        )


def _is_of_replay(unit: "Unit", run: Run) -> bool:
    """Whether nothing may happen in a run; also where nobody can tell what it is for."""
    try:
        trial = None if run.trial_id is None else unit.rollout_trials.get(run.trial_id)
    except DamagedRecord:
        return True
    return trial is None or bool(trial.cases)


def _recording(unit: "Unit", run: Run, recognise: Recognise) -> Recording | None:
    run_id = recorded_for(unit, run)
    if run_id is None:
        return None
    events = unit.journal.read(run_id=run_id, kinds=CALLS, limit=MAX_RUN_EVENTS)
    return read_recording(run_id, events, recognise)


def recogniser(registry: ToolRegistry, names: Sequence[str]) -> Recognise:
    """Reads calls of some tools as the tools would; what they would not take is none."""

    def recognise(name: str, raw_arguments: str) -> Call | None:
        own = registry.canonical(name)
        if own not in names:
            return None
        try:
            return call_of(own, registry.validate(own, raw_arguments))
        except ToolError:
            return None

    return recognise


def call_of(tool: str, arguments: BaseModel) -> Call:
    """A call with its arguments in the one form that equal ones have."""
    plain = arguments.model_dump(mode="json")
    return Call(tool=tool, arguments=json.dumps(plain, sort_keys=True, ensure_ascii=False))
