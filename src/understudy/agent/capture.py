"""Debug capture: provider requests as they were sent, scrubbed before they are stored."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from understudy.agent.history import message_data
from understudy.core.clock import Clock
from understudy.providers.base import (
    AssistantMessage,
    Message,
    ModelReply,
    ModelRequest,
    ToolMessage,
    UserMessage,
)
from understudy.runs.execute import Execution
from understudy.runs.model import DebugLevel
from understudy.runs.patience import patiently
from understudy.runs.ports import DebugRequest, RunUnit
from understudy.sessions.ports import Units

ScrubJson = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Captures:
    """Keeps what a run sent to its provider, where the run asks for it."""

    units: Units[RunUnit]
    clock: Clock
    scrub: ScrubJson

    async def sent(self, execution: Execution, step: int, request: ModelRequest) -> None:
        """Keep a request, before it is sent."""
        if execution.run.debug_level is DebugLevel.OFF:
            return
        capture = DebugRequest(
            run_id=execution.run.run_id,
            step=step,
            attempt=execution.run.attempt,
            at_ms=self.clock.now_ms(),
            request=self.scrub({"route_id": execution.run.route.route_id, **request_json(request)}),
        )
        await execution.steps.write((), capture=capture)

    async def answered(self, execution: Execution, step: int, reply: ModelReply) -> None:
        """Keep the reply as well, at the level `full`."""
        if execution.run.debug_level is not DebugLevel.FULL:
            return
        run = execution.run
        response = self.scrub(message_data(step, reply))
        await patiently(self._answer, run.run_id, step, run.attempt, response)

    def _answer(self, run_id: str, step: int, attempt: int, response: dict[str, Any]) -> None:
        with self.units.write() as unit:
            unit.debug.answer(run_id, step=step, attempt=attempt, response=response)


def request_json(request: ModelRequest) -> dict[str, Any]:
    """A request in the form people know from provider APIs."""
    return {
        "model": request.model,
        "system": request.system,
        "messages": [_message_json(message) for message in request.messages],
        "tools": [
            {
                "name": tool.name,
                "description": tool.description,
                "parameters": dict(tool.parameters),
            }
            for tool in request.tools
        ],
        "generation": dict(request.generation),
    }


def _message_json(message: Message) -> dict[str, Any]:
    match message:
        case UserMessage():
            return {"role": "user", "content": message.text}
        case AssistantMessage():
            calls = [asdict(call) for call in message.tool_calls]
            return {"role": "assistant", "content": message.text, "tool_calls": calls}
        case ToolMessage():
            return {"role": "tool", "tool_call_id": message.call_id, "content": message.content}
