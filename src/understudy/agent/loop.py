"""The loop: ask the model, run the tools it asks for, until it has answered."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from understudy.agent.budget import estimate_tokens, history_budget
from understudy.agent.capture import Captures
from understudy.agent.history import find_start, message_data, read_history, reply_of
from understudy.agent.prompt import build_sections, render
from understudy.agent.slots import Slots
from understudy.agent.stream import DeltaHub
from understudy.agent.toolbox import Toolbox
from understudy.core.errors import UnderstudyError
from understudy.providers.base import (
    AssistantMessage,
    Message,
    ModelReply,
    ModelRequest,
    OnDelta,
    OnSend,
    Provider,
    ProviderError,
    ToolSpec,
    UserMessage,
)
from understudy.runs.execute import Execution
from understudy.runs.model import Run, RunStatus
from understudy.runs.patience import patiently
from understudy.runs.ports import Ending, RouteCatalogue, RunUnit
from understudy.runs.routing import check_route
from understudy.sessions.journal import EventKind, NewEvent
from understudy.sessions.model import Session
from understudy.sessions.ports import Units

LAST_CALL: Final = (
    "[System] This is the last step of this run's budget: no tools are left. Answer now with what "
    "you have, and say what is still open."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Where a run stands just before a model call."""

    run: Run
    step: int
    max_steps: int
    tool_calls: int


# Adds messages to one model call that are kept nowhere else.
Hook = Callable[[Turn], Sequence[UserMessage]]


class LoopObserver(Protocol):
    """Somebody who counts model calls."""

    def model_called(self, provider: str, *, outcome: str) -> None: ...

    def tokens_used(self, *, input_tokens: int, output_tokens: int) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLoop:
    """Works on one run at a time; holds nothing between runs."""

    units: Units[RunUnit]
    providers: Callable[[str], Provider]
    routes: RouteCatalogue
    toolbox: Toolbox
    enabled_tools: Callable[[RunUnit], tuple[str, ...]]
    captures: Captures
    deltas: DeltaHub
    slots: Slots
    observer: LoopObserver
    hooks: tuple[Hook, ...] = ()

    def prepare(
        self, unit: RunUnit, run: Run, session: Session, *, input_offset: int
    ) -> Mapping[str, Any]:
        """What the prompt is built from, fixed when the run starts."""
        agent = unit.agents.get(run.agent_id)
        files = unit.agents.files(run.agent_id)
        system = render(build_sections(session.persona, files))
        route = self.routes.find(run.route.route_id)
        base = estimate_tokens(system) + estimate_tokens(run.input.text)
        budget = history_budget(
            context_window=route.context_window if route else None, base_tokens=base
        )
        limits = [run.max_tool_iterations, agent.max_tool_iterations if agent else None]
        return {
            "system": system,
            "tools": list(self.enabled_tools(unit)),
            "max_steps": min(limit for limit in limits if limit is not None),
            "history_from": find_start(
                unit.journal, run.session_id, before_offset=input_offset, budget_tokens=budget
            ),
            "input_offset": input_offset,
        }

    async def work(self, execution: Execution) -> Ending:
        """Ask and act, step by step, until the model has answered or cannot."""
        try:
            check_route(execution.run.route.route_id, self.routes, None)
            provider = await asyncio.to_thread(self.providers, execution.run.route.route_id)
            return await self._converse(execution, provider)
        except UnderstudyError as problem:
            return Ending(status=RunStatus.FAILED, error=problem.detail)

    async def _converse(self, execution: Execution, provider: Provider) -> Ending:
        messages = list(await patiently(self._history, execution))
        messages.append(UserMessage(text=execution.run.input.text))
        max_steps = execution.snapshot["max_steps"]
        names = execution.snapshot["tools"]
        tool_calls = 0
        for step in range(1, max_steps + 1):
            execution.stop.check()
            turn = Turn(run=execution.run, step=step, max_steps=max_steps, tool_calls=tool_calls)
            reply = await self._model_step(execution, provider, turn, messages)
            if not reply.tool_calls:
                return Ending(status=RunStatus.COMPLETED)
            if step == max_steps:
                break
            messages.append(AssistantMessage(text=reply.text, tool_calls=reply.tool_calls))
            execution.stop.check()
            messages += await self.toolbox.run_all(execution, step, reply.tool_calls, names)
            tool_calls += len(reply.tool_calls)
        return Ending(
            status=RunStatus.FAILED, error=f"no answer within {max_steps} steps of the budget"
        )

    def _history(self, execution: Execution) -> tuple[Message, ...]:
        with self.units.read() as unit:
            return read_history(
                unit.journal,
                execution.run.session_id,
                from_offset=execution.snapshot["history_from"],
                before_offset=execution.snapshot["input_offset"],
            )

    async def _model_step(
        self,
        execution: Execution,
        provider: Provider,
        turn: Turn,
        messages: Sequence[Message],
    ) -> ModelReply:
        run = execution.run
        key = f"{run.run_id}:model:{turn.step}"
        done = execution.steps.find(key)
        if done is not None:
            return reply_of(done.data)
        request = self._request(execution, turn, messages)
        try:
            reply = await self._ask(execution, provider, turn, request)
            announced: list[NewEvent] = []
            if turn.step < turn.max_steps:
                announced = self.toolbox.announce(execution, turn.step, reply.tool_calls)
            said = _events(execution, turn.step, key, reply)
            await execution.steps.write([*said, *announced])
        finally:
            self.deltas.end(run.run_id)
        await self.captures.answered(execution, turn.step, reply)
        return reply

    async def _ask(
        self, execution: Execution, provider: Provider, turn: Turn, request: ModelRequest
    ) -> ModelReply:
        run_id, kind = execution.run.run_id, self._provider_kind(execution.run)
        self.deltas.begin(run_id, turn.step)
        try:
            reply = await execution.stop.guard(
                self._complete(
                    provider,
                    request,
                    on_delta=lambda piece: self.deltas.say(run_id, piece),
                    on_send=self.captures.keeper(execution, turn.step),
                )
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
        provider: Provider,
        request: ModelRequest,
        *,
        on_delta: OnDelta,
        on_send: OnSend | None,
    ) -> ModelReply:
        async with self.slots:
            return await provider.complete(request, on_delta=on_delta, on_send=on_send)

    def _request(
        self, execution: Execution, turn: Turn, messages: Sequence[Message]
    ) -> ModelRequest:
        is_last = turn.step == turn.max_steps
        ephemeral = [message for hook in self.hooks for message in hook(turn)]
        if is_last and turn.max_steps > 1:
            ephemeral.append(UserMessage(text=LAST_CALL))
        return ModelRequest(
            model=execution.run.route.model,
            system=execution.snapshot["system"],
            messages=(*messages, *ephemeral),
            tools=() if is_last else self._specs(execution.snapshot["tools"]),
            generation=execution.run.route.generation,
            run_id=execution.run.run_id,
        )

    def _specs(self, names: Sequence[str]) -> tuple[ToolSpec, ...]:
        registry = self.toolbox.registry
        return tuple(
            ToolSpec(
                name=name,
                description=registry.get(name).description,
                parameters=registry.schema(name),
            )
            for name in names
            if name in registry.names()
        )

    def _provider_kind(self, run: Run) -> str:
        route = self.routes.find(run.route.route_id)
        return route.provider if route else "unknown"


def _events(execution: Execution, step: int, key: str, reply: ModelReply) -> list[NewEvent]:
    run_id = execution.run.run_id
    events = [
        NewEvent(kind=EventKind.MESSAGE, run_id=run_id, key=key, data=message_data(step, reply))
    ]
    if reply.text.strip():
        data = {"step": step, "text": reply.text}
        events.append(NewEvent(kind=EventKind.OUTPUT, run_id=run_id, data=data))
    return events
