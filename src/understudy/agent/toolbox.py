"""Running the tool calls of one reply: checked, side by side, each a durable step."""

import asyncio
from collections.abc import Collection, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import structlog

from understudy.agent.slots import Slots
from understudy.core.text import preview
from understudy.providers.base import ToolCall, ToolMessage
from understudy.runs.execute import Execution
from understudy.runs.stops import Stopped
from understudy.sessions.journal import EventKind, NewEvent
from understudy.tools.base import Effect, Tool, ToolContext, ToolError
from understudy.tools.registry import ToolRegistry

log = structlog.get_logger()

MAX_RESULT_CHARS: Final = 64 * 1024
TIMEOUT_S: Final = 120.0
MAX_CALLS: Final = 128
TOO_MANY_CALLS: Final = f"not run: a reply may ask for at most {MAX_CALLS} calls; ask again for it"
UNKNOWN_OUTCOME: Final = (
    "outcome unknown: the daemon stopped while this call was under way, and it is not repeated by "
    "itself. Check what it did before you call it again."
)


class ToolObserver(Protocol):
    """Somebody who counts tool calls."""

    def tool_called(self, tool: str, *, outcome: str) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a call; `executed` tells whether the tool ran at all."""

    status: str
    content: str
    executed: bool


@dataclass(frozen=True, slots=True)
class Toolbox:
    """Carries out tool calls for a run."""

    registry: ToolRegistry
    workspace: Path
    slots: Slots
    observer: ToolObserver

    async def run_all(
        self, execution: Execution, step: int, calls: tuple[ToolCall, ...], names: Collection[str]
    ) -> list[ToolMessage]:
        """Run the calls of one reply side by side; results come back in the order of the calls."""
        results = await asyncio.gather(
            *(self._step(execution, step, index, call, names) for index, call in enumerate(calls)),
            return_exceptions=True,
        )
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, Stopped):
                raise result
        for result in results:
            if isinstance(result, BaseException):
                raise result
        return [result for result in results if isinstance(result, ToolMessage)]

    def announce(
        self, execution: Execution, step: int, calls: tuple[ToolCall, ...]
    ) -> list[NewEvent]:
        """The events that say which calls are about to run, to be written with the reply.

        A call of effect `once` says so itself just before it runs: only then does its event
        tell that it was really begun.
        """
        return [
            _call_event(execution, step, index, call)
            for index, call in enumerate(calls)
            if not self._is_once(call)
        ]

    async def _step(
        self,
        execution: Execution,
        step: int,
        index: int,
        call: ToolCall,
        names: Collection[str],
    ) -> ToolMessage:
        result_key = f"{execution.run.run_id}:result:{step}:{index}"
        done = execution.steps.find(result_key)
        if done is not None:
            content = str(done.data.get("content", ""))
            return ToolMessage(call_id=call.call_id, name=call.name, content=content)
        begin = _call_event(execution, step, index, call)
        outcome = await self._outcome(execution, call, names, begin)
        self.observer.tool_called(call.name, outcome=outcome.status)
        data = {
            "step": step,
            "call_id": call.call_id,
            "name": call.name,
            "status": outcome.status,
            "content": outcome.content,
            "executed": outcome.executed,
        }
        result = _event(EventKind.TOOL_RESULT, execution, result_key, data)
        is_announced = execution.steps.find(begin.key or "") is not None
        await execution.steps.write([result] if is_announced else [begin, result])
        return ToolMessage(call_id=call.call_id, name=call.name, content=outcome.content)

    async def _outcome(
        self, execution: Execution, call: ToolCall, names: Collection[str], begin: NewEvent
    ) -> Outcome:
        try:
            if begin.data["index"] >= MAX_CALLS:
                return Outcome(status="error", content=TOO_MANY_CALLS, executed=False)
            _check_offered(call, names)
            arguments = self.registry.validate(call.name, call.arguments)
        except ToolError as problem:
            return Outcome(status="error", content=problem.detail, executed=False)
        is_once = self._is_once(call)
        if is_once and execution.steps.find(begin.key or "") is not None:
            return Outcome(status="unknown", content=UNKNOWN_OUTCOME, executed=True)
        work = self._call(self.registry.get(call.name), arguments, execution, call)
        return await execution.stop.guard(
            self._in_turn(execution, work, begin if is_once else None)
        )

    async def _in_turn(
        self, execution: Execution, work: Coroutine[Any, Any, Outcome], begin: NewEvent | None
    ) -> Outcome:
        try:
            async with self.slots:
                if begin is not None:
                    # Written before the tool runs, so that a crash cannot hide that it was begun;
                    # and not before it may run, or a call that only waited would count as begun.
                    await execution.steps.write([begin])
                return await work
        finally:
            work.close()

    def _is_once(self, call: ToolCall) -> bool:
        names = self.registry.names()
        return call.name in names and self.registry.get(call.name).effect is Effect.ONCE

    async def _call(
        self, tool: Tool, arguments: Any, execution: Execution, call: ToolCall
    ) -> Outcome:
        run = execution.run
        context = ToolContext(
            session_id=run.session_id,
            run_id=run.run_id,
            agent_id=run.agent_id,
            user_id=run.user_id,
            call_id=call.call_id,
            workspace=self.workspace,
        )
        try:
            async with asyncio.timeout(TIMEOUT_S):
                content = await tool.call(arguments, context)
        except ToolError as problem:
            return Outcome(status="error", content=problem.detail, executed=True)
        except TimeoutError:
            return Outcome(
                status="error", content=f"no answer after {TIMEOUT_S:.0f} s", executed=True
            )
        except Exception:
            log.exception("tool.crashed", tool=tool.name, run_id=run.run_id)
            return Outcome(status="error", content="the tool failed unexpectedly", executed=True)
        return Outcome(status="ok", content=bounded(content), executed=True)


def bounded(content: str) -> str:
    """Tool output as the model gets it; says when it was cut."""
    if len(content) <= MAX_RESULT_CHARS:
        return content
    return f"{content[:MAX_RESULT_CHARS]}\n[cut: {len(content)} characters in all]"


def _check_offered(call: ToolCall, names: Collection[str]) -> None:
    if call.name not in names:
        available = ", ".join(names) or "none"
        shown = repr(preview(call.name, 40))
        raise ToolError(f"there is no tool {shown}; available: {available}", code="unknown_tool")


def _call_event(execution: Execution, step: int, index: int, call: ToolCall) -> NewEvent:
    key = f"{execution.run.run_id}:call:{step}:{index}"
    data = {
        "step": step,
        "index": index,
        "call_id": call.call_id,
        "name": call.name,
        "arguments": call.arguments,
    }
    return _event(EventKind.TOOL_CALL, execution, key, data)


def _event(kind: EventKind, execution: Execution, key: str, data: dict[str, Any]) -> NewEvent:
    return NewEvent(kind=kind, run_id=execution.run.run_id, key=key, data=data)
