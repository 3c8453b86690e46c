"""Debug capture: provider requests as they were sent, scrubbed before they are stored."""

import asyncio
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

from understudy.agent.history import message_data
from understudy.core.clock import Clock
from understudy.providers.base import (
    AssistantMessage,
    Message,
    ModelReply,
    ModelRequest,
    OnSend,
    Part,
    TextPart,
    ToolMessage,
    UserMessage,
)
from understudy.runs.execute import RunExecution
from understudy.runs.model import DebugLevel, DebugRequest
from understudy.work.db_retry import retry_while_db_down

if TYPE_CHECKING:
    from understudy.storage.unit import Units

ScrubJson = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class DebugLog:
    """Keeps what a run sent to its provider, where the run asks for it."""

    units: "Units"
    clock: Clock
    scrub: ScrubJson

    def keeper(self, execution: RunExecution, step: int) -> OnSend | None:
        """What keeps each request of a step before it is sent; None where none is kept."""
        run = execution.run
        if run.debug_level is DebugLevel.OFF:
            return None
        tries = count(1)

        async def keep(request: ModelRequest) -> None:
            sent = {
                "route_id": run.route.route_id,
                "try": next(tries),
                **request_json(request),
            }
            capture = DebugRequest(
                run_id=run.run_id,
                step=step,
                attempt=run.attempt,
                at_ms=self.clock.now_ms(),
                # A long history takes a while to look through.
                request=await asyncio.to_thread(self.scrub, sent),
            )
            await execution.steps.write((), also=lambda unit: unit.debug.add(capture))

        return keep

    async def answered(self, execution: RunExecution, step: int, reply: ModelReply) -> None:
        """Keep the reply as well, at the level `full`."""
        if execution.run.debug_level is not DebugLevel.FULL:
            return
        run = execution.run
        response = await asyncio.to_thread(self.scrub, message_data(step, reply))
        await retry_while_db_down(self._answer, run.run_id, step, run.attempt, response)

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


def _part_json(part: Part) -> dict[str, Any]:
    """A part of a message; of a file only what it is, for its bytes are kept elsewhere."""
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    what = f"[{part.media_type}, {len(part.data)} bytes]"
    return {"type": "file", "file_name": part.file_name, "content": what}


def _message_json(message: Message) -> dict[str, Any]:
    match message:
        case UserMessage():
            content = [_part_json(part) for part in message.parts] or message.text
            return {"role": "user", "content": content}
        case AssistantMessage():
            calls = [asdict(call) for call in message.tool_calls]
            return {"role": "assistant", "content": message.text, "tool_calls": calls}
        case ToolMessage():
            return {"role": "tool", "tool_call_id": message.call_id, "content": message.content}
