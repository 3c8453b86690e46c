"""Runs the tool calls of one reply: admitted, concurrently, each a durable step."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import structlog

from understudy.agent.admission import (
    Admitted,
    AskedCall,
    Doorkeeper,
    Held,
    JudgedCalls,
    Offer,
    RefusedCall,
)
from understudy.agent.model_call import Slots
from understudy.core.audit import AuditEntry
from understudy.core.errors import UnderstudyError
from understudy.providers.base import ToolCall, ToolMessage
from understudy.rollout.worktrees import Worktrees
from understudy.runs.artifacts import MAX_SHOWN_CHARS, Artifact, cut, new_artifact
from understudy.runs.ask_user import Asks
from understudy.runs.execute import RunExecution
from understudy.runs.sleep import MustSleep, Sleep
from understudy.runs.stops import RunTakenOver, Stopped
from understudy.runs.taint import REPORTING_TOOLS, TaintSource
from understudy.sessions.journal import EventKind, NewEvent
from understudy.tools.base import (
    FolderPlace,
    NotYet,
    OwnWords,
    ToolContext,
    ToolError,
    in_thread,
)
from understudy.work.db_retry import retry_while_db_down

if TYPE_CHECKING:
    from understudy.storage.unit import Unit
    from understudy.telemetry.metrics import Metrics

log = structlog.get_logger()

TIMEOUT_S: Final = 120.0
UNKNOWN_OUTCOME: Final = (
    "outcome unknown: the daemon stopped while this call was under way, and it is not repeated by "
    "itself. Check what it did before you call it again."
)


CHANGED: Final = "[the person who allowed this changed the arguments to {arguments}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOutcome:
    """The outcome of a tool call; `executed` tells whether the tool ran at all.

    A call that did not was refused, or malformed.
    """

    status: str
    content: str
    executed: bool
    refused: bool = False
    entry: AuditEntry | None = None


@dataclass(frozen=True, slots=True)
class Toolbox:
    """Executes tool calls for a run."""

    doorkeeper: Doorkeeper
    workspace: Path
    slots: Slots
    observer: "Metrics"
    workdirs: Worktrees

    async def run_all(
        self,
        execution: RunExecution,
        step: int,
        calls: tuple[ToolCall, ...],
        offer: Offer,
        judged: JudgedCalls | None = None,
    ) -> list[ToolMessage]:
        """Run the calls of one reply concurrently; results come in the order of the calls.

        `judged` is what `judge` said of all of them a moment ago. Raises `MustSleep` when some of
        them wait; the others are done by then.
        """
        asked = _asked(execution, step, calls)
        todo = [each for each in asked if execution.steps.find(each.result_key) is None]
        if todo:
            await self._do(execution, todo, offer, judged)
        return [_message(execution, each) for each in asked]

    def judge(
        self,
        unit: "Unit",
        execution: RunExecution,
        step: int,
        calls: tuple[ToolCall, ...],
        offer: Offer,
    ) -> JudgedCalls | None:
        """Judge the calls of a reply in the transaction that stores it.

        None when they cannot be judged now: the reply is stored all the same.
        """
        try:
            return self.doorkeeper.judge(unit, offer, _asked(execution, step, calls))
        except UnderstudyError:
            return None

    def announce(
        self, execution: RunExecution, step: int, calls: tuple[ToolCall, ...], offer: Offer
    ) -> list[NewEvent]:
        """The events of calls that are about to run, written with the reply.

        A call of effect `once` writes its own event just before it runs: only then does the event
        prove that it began.
        """
        return [
            _call_event(asked)
            for asked in _asked(execution, step, calls)
            if not offer.is_once(asked.call)
        ]

    async def _do(
        self,
        execution: RunExecution,
        todo: Sequence[AskedCall],
        offer: Offer,
        judged: JudgedCalls | None,
    ) -> None:
        if judged is not None and judged.is_final:
            admissions = judged.admissions
        else:
            admissions = await retry_while_db_down(self.doorkeeper.admit, offer, todo, judged)
        held = [each for key in todo if isinstance(each := admissions[key.key], Held)]
        done = await asyncio.gather(
            *(
                self._step(execution, each, admission)
                for each in todo
                if not isinstance(admission := admissions[each.key], Held)
            ),
            return_exceptions=True,
        )
        _raise_worst(done)
        waiting = [each for each in done if isinstance(each, NotYet)]
        if held or waiting:
            raise MustSleep(_sleep_over(held, waiting))

    async def _step(
        self, execution: RunExecution, asked: AskedCall, admission: Admitted | RefusedCall
    ) -> None:
        begin = _call_event(asked)
        outcome = await self._outcome(execution, asked, admission, begin)
        self.observer.tool_called(asked.call.name, outcome=outcome.status)
        content, artifact = self._bounded(outcome.content, asked)
        data = {
            "step": asked.step,
            "call_id": asked.call.call_id,
            "name": asked.call.name,
            "status": outcome.status,
            "content": content,
            "executed": outcome.executed,
            "refused": outcome.refused,
        }
        if artifact is not None:
            data["artifact_id"] = artifact.artifact_id
        result = _event(EventKind.TOOL_RESULT, asked, asked.result_key, data)
        is_announced = execution.steps.find(asked.key) is not None

        def also(unit: "Unit") -> None:
            if outcome.entry is not None:
                unit.audit.add(outcome.entry)
            if artifact is not None:
                unit.artifacts.add(artifact)
            if outcome.executed and not _is_own(asked, outcome.content):
                unit.runs.taint(asked.run.run_id, {TaintSource.TOOL_RESULT: [asked.call.name]})

        events = [result] if is_announced else [begin, result]
        await execution.steps.write(events, also=also)

    async def _outcome(
        self,
        execution: RunExecution,
        asked: AskedCall,
        admission: Admitted | RefusedCall,
        begin: NewEvent,
    ) -> CallOutcome:
        if isinstance(admission, RefusedCall):
            return CallOutcome(
                status=admission.status,
                content=admission.content,
                executed=False,
                refused=not admission.is_mistake,
                entry=admission.entry,
            )
        is_once = admission.tool.effect == "once"
        if is_once and execution.steps.find(asked.key) is not None:
            return CallOutcome(status="unknown", content=UNKNOWN_OUTCOME, executed=True)
        outcome = await execution.stop.guard(
            self._in_turn(execution, asked, admission, begin if is_once else None)
        )
        if admission.updated is None:
            return outcome
        # Without this, the model would take the result for that of its own arguments.
        changed = CHANGED.format(arguments=json.dumps(admission.updated, ensure_ascii=False))
        return replace(outcome, content=f"{changed}\n{outcome.content}")

    async def _in_turn(
        self, execution: RunExecution, asked: AskedCall, admitted: Admitted, begin: NewEvent | None
    ) -> CallOutcome:
        async with self.slots:
            if begin is not None:
                # Written before the tool runs, so that a crash cannot hide that it began; and not
                # before it may run, or a call that only waited would count as begun.
                await execution.steps.write([begin])
            return await self._call(execution, admitted, asked)

    async def _call(
        self, execution: RunExecution, admitted: Admitted, asked: AskedCall
    ) -> CallOutcome:
        tool, run, entry = admitted.tool, asked.run, admitted.entry
        limit_s: float = getattr(tool, "timeout_s", TIMEOUT_S)
        try:
            place = await self._place(execution)
            async with asyncio.timeout(limit_s):
                content = await tool.call(admitted.arguments, _context(asked, place))
        except (NotYet, RunTakenOver):
            raise
        except ToolError as problem:
            return CallOutcome(status="error", content=problem.detail, executed=True, entry=entry)
        except TimeoutError:
            content = f"no answer after {limit_s:.0f} s"
            return CallOutcome(status="error", content=content, executed=True, entry=entry)
        except Exception:
            log.exception("tool.crashed", tool=tool.name, run_id=run.run_id)
            content = "the tool failed unexpectedly"
            return CallOutcome(status="error", content=content, executed=True, entry=entry)
        return CallOutcome(status="ok", content=content, executed=True, entry=entry)

    async def _place(self, execution: RunExecution) -> FolderPlace:
        workdir = execution.snapshot.workdir
        if workdir is None:
            return FolderPlace(self.workspace)
        return await in_thread(self.workdirs.ready, self.workspace, workdir)

    def _bounded(self, content: str, asked: AskedCall) -> tuple[str, Artifact | None]:
        """The content for the model, and the artifact if it was cut."""
        if len(content) <= MAX_SHOWN_CHARS:
            return content, None
        artifact = new_artifact(
            content,
            run_id=asked.run.run_id,
            call_key=asked.key,
            tool_name=asked.call.name,
            at_ms=self.doorkeeper.clock.now_ms(),
        )
        return cut(content, artifact.artifact_id), artifact


def _asked(
    execution: RunExecution, step: int, calls: tuple[ToolCall, ...]
) -> tuple[AskedCall, ...]:
    return tuple(
        AskedCall(call=call, run=execution.run, step=step, index=index)
        for index, call in enumerate(calls)
    )


def _is_own(asked: AskedCall, content: str) -> bool:
    """Whether the result of a call contains no untrusted text."""
    return asked.call.name in REPORTING_TOOLS or isinstance(content, OwnWords)


def _context(asked: AskedCall, place: FolderPlace) -> ToolContext:
    run = asked.run
    return ToolContext(
        session_id=run.session_id,
        run_id=run.run_id,
        agent_id=run.agent_id,
        user_id=run.user_id,
        call_id=asked.call.call_id,
        call_key=asked.key,
        workspace=place.path,
        depth=len(place.below),
    )


def _raise_worst(done: Sequence[BaseException | None]) -> None:
    """Raise the first failure, if any; `Stopped` comes last."""
    problems = [
        each for each in done if isinstance(each, BaseException) and not isinstance(each, NotYet)
    ]
    for problem in sorted(problems, key=lambda each: isinstance(each, Stopped)):
        raise problem


def _sleep_over(held: Sequence[Held], waiting: Sequence[NotYet]) -> Sleep:
    """The requests that the run makes before it sleeps."""
    requests = [each.request for each in (*held, *waiting) if isinstance(each, Held | Asks)]
    ends = [each.until_ms for each in waiting if each.until_ms is not None]
    return Sleep(
        requests=tuple(request for request in requests if request is not None),
        entries=tuple(each.entry for each in held if each.entry is not None),
        until_ms=min(ends, default=None),
    )


def _message(execution: RunExecution, asked: AskedCall) -> ToolMessage:
    done = execution.steps.find(asked.result_key)
    content = "" if done is None else str(done.data.get("content", ""))
    return ToolMessage(call_id=asked.call.call_id, name=asked.call.name, content=content)


def _call_event(asked: AskedCall) -> NewEvent:
    data = {
        "step": asked.step,
        "index": asked.index,
        "call_id": asked.call.call_id,
        "name": asked.call.name,
        "arguments": asked.call.arguments,
    }
    return _event(EventKind.TOOL_CALL, asked, asked.key, data)


def _event(kind: EventKind, asked: AskedCall, key: str, data: dict[str, Any]) -> NewEvent:
    return NewEvent(kind=kind, run_id=asked.run.run_id, key=key, data=data)
