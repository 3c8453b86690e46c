"""One call of a model: the slots that bound concurrent calls, its deltas, its debug log."""

import asyncio
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import count
from types import TracebackType
from typing import TYPE_CHECKING, Any

from understudy.agent.history import message_data
from understudy.core.bell import Bell
from understudy.core.clock import Clock
from understudy.providers.base import (
    AssistantMessage,
    Message,
    ModelReply,
    ModelRequest,
    OnDelta,
    OnSend,
    Part,
    Provider,
    ProviderError,
    TextPart,
    ToolMessage,
    UserMessage,
)
from understudy.runs.execute import RunExecution
from understudy.runs.model import DebugLevel, DebugRequest
from understudy.work.db_retry import retry_while_db_down

if TYPE_CHECKING:
    from understudy.providers.registry import Routes
    from understudy.storage.unit import Units
    from understudy.telemetry.metrics import Metrics

ScrubJson = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class DebugLog:
    """Stores the provider requests of a run, scrubbed, if its debug level says so."""

    units: "Units"
    clock: Clock
    scrub: ScrubJson

    def keeper(self, execution: RunExecution, step: int) -> OnSend | None:
        """The callback that stores each request of a step before it is sent; None at level `off`."""
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
                # On a thread: scrubbing a long history takes a while.
                request=await asyncio.to_thread(self.scrub, sent),
            )
            await execution.steps.write((), also=lambda unit: unit.debug.add(capture))

        return keep

    async def answered(self, execution: RunExecution, step: int, reply: ModelReply) -> None:
        """Store the reply as well, at level `full`."""
        if execution.run.debug_level is not DebugLevel.FULL:
            return
        run = execution.run
        response = await asyncio.to_thread(self.scrub, message_data(step, reply))
        await retry_while_db_down(self._answer, run.run_id, step, run.attempt, response)

    def _answer(self, run_id: str, step: int, attempt: int, response: dict[str, Any]) -> None:
        with self.units.write() as unit:
            unit.debug.answer(run_id, step=step, attempt=attempt, response=response)


def request_json(request: ModelRequest) -> dict[str, Any]:
    """A request in the form of provider APIs."""
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
    """A part of a message; for a file its type and size, because its bytes are an asset."""
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


class Slots:
    """Bounds the concurrent model and tool calls of a process; while draining, none begins."""

    def __init__(self, limit: int) -> None:
        self._places = asyncio.Semaphore(limit)
        self._draining = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._inside = 0

    async def __aenter__(self) -> None:
        await self.enter_unless_draining()
        await self._places.acquire()
        if self._draining.is_set():
            self._places.release()
            await self.enter_unless_draining()
        self._inside += 1
        self._idle.clear()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._places.release()
        self._inside -= 1
        if self._inside == 0:
            self._idle.set()

    async def enter_unless_draining(self) -> None:
        """Return at once, or never while draining: the next daemon resumes what waits here."""
        if self._draining.is_set():
            await asyncio.Event().wait()

    async def drain(self, *, timeout_s: float) -> bool:
        """Begin no call and wait for those in flight; returns whether all have ended in time."""
        self._draining.set()
        try:
            async with asyncio.timeout(timeout_s):
                await self._idle.wait()
        except TimeoutError:
            return False
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """The text of a model call in flight; a retry raises `take` and makes earlier text void."""

    step: int
    text: str
    take: int = 0


def delta_topic(run_id: str) -> str:
    """The bell topic of the deltas of a run."""
    return f"delta:{run_id}"


@dataclass(slots=True)
class DeltaHub:
    """Collects the deltas of model calls in flight for the readers of their streams."""

    bell: Bell
    _spoken: dict[str, Spoken] = field(default_factory=dict)

    def begin(self, run_id: str, step: int) -> None:
        """Begin a model call."""
        self._spoken[run_id] = Spoken(step=step, text="")

    def say(self, run_id: str, piece: str | None) -> None:
        """Add a delta; None when the call is retried and its text begins anew."""
        spoken = self._spoken.get(run_id)
        if spoken is None:
            return
        if piece is None:
            self._spoken[run_id] = Spoken(step=spoken.step, text="", take=spoken.take + 1)
        else:
            self._spoken[run_id] = Spoken(
                step=spoken.step, text=spoken.text + piece, take=spoken.take
            )
        self.bell.ring(delta_topic(run_id))

    def end(self, run_id: str) -> None:
        """End a model call; its text is in the journal, or void."""
        self._spoken.pop(run_id, None)

    def current(self, run_id: str) -> Spoken | None:
        """The text of the model call that a run of this process has in flight."""
        return self._spoken.get(run_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCaller:
    """Calls the model of a run: in a slot, counted, in the debug log, cancelled by a stop request."""

    routes: "Routes"
    debug_log: DebugLog
    deltas: DeltaHub
    slots: Slots
    observer: "Metrics"

    async def call_streamed(
        self, execution: RunExecution, provider: Provider, step: int, request: ModelRequest
    ) -> ModelReply:
        """Ask for the next message of the conversation; readers get its text as it comes."""
        run_id = execution.run.run_id
        self.deltas.begin(run_id, step)
        return await self._call(
            execution, provider, step, request, partial(self.deltas.say, run_id)
        )

    async def call_unstreamed(
        self, execution: RunExecution, provider: Provider, step: int, request: ModelRequest
    ) -> ModelReply:
        """Ask for text that is no part of the conversation, such as a summary of it."""
        reply = await self._call(execution, provider, step, request, lambda _: None)
        await self.debug_log.answered(execution, step, reply)
        return reply

    async def _call(
        self,
        execution: RunExecution,
        provider: Provider,
        step: int,
        request: ModelRequest,
        on_delta: OnDelta,
    ) -> ModelReply:
        on_send = self.debug_log.keeper(execution, step)

        async def complete() -> ModelReply:
            async with self.slots:
                return await provider.complete(request, on_delta=on_delta, on_send=on_send)

        kind = self.routes.kind(execution.run.route.route_id)
        try:
            reply = await execution.stop.guard(complete())
        except ProviderError:
            self.observer.model_called(kind, outcome="error")
            raise
        self.observer.model_called(kind, outcome="ok")
        self.observer.tokens_used(
            input_tokens=reply.usage.input_tokens, output_tokens=reply.usage.output_tokens
        )
        return reply
