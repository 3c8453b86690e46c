"""One question to the model: in turn, counted, kept for debugging, and given up on a stop."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from understudy.agent.debug_log import DebugLog
from understudy.agent.slots import Slots
from understudy.agent.stream import DeltaHub
from understudy.providers.base import ModelReply, ModelRequest, OnDelta, Provider, ProviderError
from understudy.runs.execute import RunExecution

if TYPE_CHECKING:
    from understudy.providers.registry import Routes
    from understudy.telemetry.metrics import Metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCaller:
    """Asks on behalf of runs."""

    routes: "Routes"
    captures: DebugLog
    deltas: DeltaHub
    slots: Slots
    observer: "Metrics"

    async def aloud(
        self, execution: RunExecution, provider: Provider, step: int, request: ModelRequest
    ) -> ModelReply:
        """Ask for the next words of the conversation; listeners hear them as they come."""
        run_id = execution.run.run_id
        self.deltas.begin(run_id, step)
        return await self._ask(
            execution, provider, step, request, lambda piece: self.deltas.say(run_id, piece)
        )

    async def aside(
        self, execution: RunExecution, provider: Provider, step: int, request: ModelRequest
    ) -> ModelReply:
        """Ask for something that is no part of the conversation."""
        reply = await self._ask(execution, provider, step, request, lambda _: None)
        await self.captures.answered(execution, step, reply)
        return reply

    async def _ask(
        self,
        execution: RunExecution,
        provider: Provider,
        step: int,
        request: ModelRequest,
        on_delta: OnDelta,
    ) -> ModelReply:
        route = self.routes.find(execution.run.route.route_id)
        kind = route.provider if route else "unknown"
        try:
            reply = await execution.stop.guard(
                self._complete(execution, provider, step, request, on_delta)
            )
        except ProviderError:
            self.observer.model_called(kind, outcome="error")
            raise
        self.observer.model_called(kind, outcome="ok")
        usage = reply.usage
        self.observer.tokens_used(
            input_tokens=usage.input_tokens, output_tokens=usage.output_tokens
        )
        return reply

    async def _complete(
        self,
        execution: RunExecution,
        provider: Provider,
        step: int,
        request: ModelRequest,
        on_delta: OnDelta,
    ) -> ModelReply:
        on_send = self.captures.keeper(execution, step)
        async with self.slots:
            return await provider.complete(request, on_delta=on_delta, on_send=on_send)
