"""Stand-ins for tools in a replay: calls of effect `once` are answered from the recording."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel

from understudy.core.errors import DamagedRecord
from understudy.rollout.trials.runs import is_of_trial
from understudy.runs.execute import MAX_RUN_EVENTS, RunExecution, Steps
from understudy.runs.model import Run
from understudy.sessions.journal import EventKind, JournalEvent
from understudy.sessions.model import Spawn, spawns_of
from understudy.tools.base import Approval, Effect, Tool, ToolContext, ToolError, in_thread
from understudy.tools.registry import ToolRegistry

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units


CALLED: Final = ":call:"
RESULTED: Final = ":result:"
# Prefix of the answer to a call that is not in the recording.
UNRECORDED: Final = "not run: this is a replay, which answers such calls from a recording, and "
NO_SIDECHAIN: Final = "it holds no one sidechain that this run would be"
CALLS: Final = (EventKind.TOOL_CALL, EventKind.TOOL_RESULT)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCall:
    """A tool call in canonical form: the name of the tool and normalised arguments."""

    tool: str
    arguments: str


# From the tool name and raw JSON of a model to the call; None: not a recorded tool.
Recognise = Callable[[str, str], RecordedCall | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedAnswer:
    """The recorded result of a call."""

    is_ok: bool
    content: str
    # The full size, where the content is cut.
    artifact_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """The recorded answers of one run, for equal calls in order."""

    run_id: str
    answers: Mapping[RecordedCall, tuple[RecordedAnswer, ...]] = field(default_factory=dict)

    def answer(self, call: RecordedCall, number: int) -> RecordedAnswer | None:
        """The answer to the nth equal call, from 1."""
        known = self.answers.get(call, ())
        return known[number - 1] if 1 <= number <= len(known) else None

    def count(self, call: RecordedCall) -> int:
        """The number of equal calls."""
        return len(self.answers.get(call, ()))


def read_recording(run_id: str, events: Iterable[JournalEvent], recognise: Recognise) -> Recording:
    """The recording in the journal of a run; calls that were not executed have no answer."""
    calls: dict[str | None, tuple[tuple[int, int], RecordedCall]] = {}
    found: dict[RecordedCall, list[tuple[tuple[int, int], RecordedAnswer]]] = {}
    for event in events:
        if event.kind is EventKind.TOOL_CALL and event.key is not None:
            call = recognise(_text(event.data, "name"), _text(event.data, "arguments"))
            if call is not None:
                calls[event.key.replace(CALLED, RESULTED)] = (_place(event.data), call)
        elif event.key in calls and event.data.get("executed"):
            # Calls of one reply end in any order; the index tells in which they were made.
            place, call = calls[event.key]
            found.setdefault(call, []).append((place, _answer(event.data)))
    return Recording(
        run_id=run_id,
        answers={
            call: tuple(answer for _, answer in sorted(each, key=lambda it: it[0]))
            for call, each in found.items()
        },
    )


@dataclass(slots=True)
class CallNumbers:
    """Numbers equal calls by step and index, so that a retry after a crash gets the same number."""

    recognise: Recognise
    _counts: Counter[RecordedCall] = field(default_factory=Counter)
    _numbers: dict[tuple[int, int], int] = field(default_factory=dict)
    _last_step: int = 0

    def number(self, place: tuple[int, int], replies: Iterable[JournalEvent]) -> int:
        """The number of a call at a step and index among equal calls, from 1.

        `replies` are the events of the run in order; events that were read before are skipped.
        """
        for event in replies:
            if event.kind is EventKind.MESSAGE:
                self._count(event.data)
        return self._numbers.get(place, 1)

    def _count(self, reply: Mapping[str, Any]) -> None:
        step = reply.get("step")
        if not isinstance(step, int) or step <= self._last_step:
            return
        self._last_step = step
        for index, made in enumerate(reply.get("tool_calls", ())):
            call = self.recognise(_text(made, "name"), _text(made, "arguments"))
            if call is not None:
                self._counts[call] += 1
                self._numbers[step, index] = self._counts[call]


def place_in(call_key: str) -> tuple[int, int]:
    """The step and index that the key of a call names."""
    _, _, place = call_key.rpartition(CALLED)
    step, _, index = place.partition(":")
    return int(step), int(index)


def _place(data: Mapping[str, Any]) -> tuple[int, int]:
    step, index = data.get("step"), data.get("index")
    return (step if isinstance(step, int) else 0, index if isinstance(index, int) else 0)


def _answer(data: Mapping[str, Any]) -> RecordedAnswer:
    artifact_id = data.get("artifact_id")
    return RecordedAnswer(
        is_ok=data.get("status") == "ok",
        content=_text(data, "content"),
        artifact_id=artifact_id if isinstance(artifact_id, str) else None,
    )


def _text(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name)
    return value if isinstance(value, str) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """The recording that the stand-ins of one execution share."""

    units: "Units"
    # The recording of the replayed run; None: it is unknown.
    recording: Recording | None
    numbers: CallNumbers
    steps: Steps

    async def answer(self, call: RecordedCall, call_key: str) -> str:
        """The recorded answer; raises `ToolError` for a recorded error, or without a recording."""
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

    def _whole(self, run_id: str, answer: RecordedAnswer) -> str:
        if answer.artifact_id is None:
            return answer.content
        with self.units.read() as unit:
            artifact = unit.artifacts.get(run_id, answer.artifact_id)
        return answer.content if artifact is None else artifact.content


def _why_not(recording: Recording, call: RecordedCall) -> str:
    count = recording.count(call)
    if not count:
        return f"{UNRECORDED}it holds no call of {call.tool} with these arguments"
    return f"{UNRECORDED}all {count} calls of {call.tool} with these arguments are answered"


class StandIn:
    """A tool double that answers from the recording and executes nothing."""

    effect = Effect.READ
    # Nothing is executed, so no approval is needed.
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
    """Replaces tools by stand-ins in runs of replays and their sidechains."""

    units: "Units"

    def concerns(self, run: Run) -> bool:
        """Whether a run belongs to a trial, which may be a replay."""
        return is_of_trial(run)

    def registry(self, execution: RunExecution, registry: ToolRegistry) -> ToolRegistry:
        """The registry with a stand-in for each tool of effect `once` in a replay. Blocks."""
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
    """Whether a run belongs to a replay; also where that cannot be read."""
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
    """Parses calls as the tools would; invalid arguments give None."""

    def recognise(name: str, raw_arguments: str) -> RecordedCall | None:
        own = registry.canonical(name)
        if own not in names:
            return None
        try:
            return call_of(own, registry.validate(own, raw_arguments))
        except ToolError:
            return None

    return recognise


def call_of(tool: str, arguments: BaseModel) -> RecordedCall:
    """A call with normalised arguments."""
    plain = arguments.model_dump(mode="json")
    return RecordedCall(tool=tool, arguments=json.dumps(plain, sort_keys=True, ensure_ascii=False))


def recorded_for(unit: "Unit", run: Run) -> str | None:
    """The recorded run whose answers a run of a replay gets; None where that is ambiguous.

    A sidechain replays the recorded sidechain of the same label, if there is exactly one; a second
    sidechain of that label has no recording.
    """
    case = unit.replay_cases.of_run(run.run_id)
    if case is not None:
        return case.recorded_run_id
    spawn = unit.sidechains.spawn_of(run.session_id)
    if spawn is None or spawn.first_run_id != run.run_id:
        return None
    # Sidechains nest only a few levels deep.
    above = unit.runs.get(spawn.run_id)
    recorded = None if above is None else recorded_for(unit, above)
    if recorded is None:
        return None
    mine, theirs = _alike(unit, spawn.run_id, spawn), _alike(unit, recorded, spawn)
    is_clear = len(theirs) == 1 and mine[0].session_id == spawn.session_id
    return theirs[0].first_run_id if is_clear else None


def _alike(unit: "Unit", run_id: str, like: Spawn) -> list[Spawn]:
    """The sidechains of one label that a run opened, oldest first."""
    alike = [spawn for spawn in spawns_of(unit, run_id) if spawn.label == like.label]
    # Run ids are time-ordered, which decides between equal times; session ids are not.
    return sorted(alike, key=lambda spawn: (spawn.created_at_ms, spawn.first_run_id))
