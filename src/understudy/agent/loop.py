"""The agent loop: build the prompt, call the model, run its tool calls, until it has answered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from understudy.agent.admission import JudgedCalls, Offer
from understudy.agent.budget import specs_of
from understudy.agent.compaction import (
    Compactor,
    Room,
    resumed,
    room_for,
    within,
)
from understudy.agent.conversation import Conversation, Piece
from understudy.agent.history import message_data, recall, reply_of
from understudy.agent.model_call import ModelCaller
from understudy.agent.prompt import PromptBuilder
from understudy.agent.toolbox import Toolbox
from understudy.core.errors import UnderstudyError
from understudy.evolution.coach import EvolutionCoach
from understudy.evolution.consent import ConsentRecords
from understudy.i18n.catalogue import say
from understudy.providers.base import (
    AssistantMessage,
    Message,
    ModelReply,
    ModelRequest,
    Provider,
    ToolSpec,
    UserMessage,
)
from understudy.rollout.replay.stand_ins import RecordedTools
from understudy.runs.execute import LastReply, RunExecution, Steps, has_executed
from understudy.runs.intake import check_route
from understudy.runs.model import (
    Run,
    RunEnd,
    RunSnapshot,
    RunStatus,
    model_call_key,
    require_run,
)
from understudy.runs.remembered import remembered_event
from understudy.runs.taint import TYPED, TaintSource, merged
from understudy.sessions.journal import (
    OWN_CHARS,
    EventKind,
    JournalEvent,
    NewEvent,
    is_silence,
)
from understudy.sessions.model import Session, require_session
from understudy.tools.registry import ToolRegistry
from understudy.work.db_retry import retry_while_db_down

if TYPE_CHECKING:
    from understudy.providers.registry import Routes
    from understudy.storage.unit import Unit, Units
    from understudy.tools.base import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopTurn:
    """One model call of a run: its step, and the step budget."""

    run: Run
    step: int
    max_steps: int

    @property
    def is_last(self) -> bool:
        """Whether this is the last call of the budget, which is made without tools."""
        return self.step == self.max_steps

    @property
    def key(self) -> str:
        """The key of the call among the steps of the run."""
        return model_call_key(self.run.run_id, self.step)


def reply_events(
    turn: LoopTurn, reply: ModelReply, *, own_chars: int | None = None
) -> list[NewEvent]:
    """The journal events of a reply: the message, and its text as output for the user.

    A reply that is silence is a message without an output.
    `own_chars` is the length of the model's own text, if a remark was appended to it.
    """
    run_id = turn.run.run_id
    mark = {} if own_chars is None else {OWN_CHARS: own_chars}
    data: Mapping[str, Any] = message_data(turn.step, reply) | mark
    events = [NewEvent(kind=EventKind.MESSAGE, run_id=run_id, key=turn.key, data=data)]
    if reply.text.strip() and not is_silence(reply.text):
        data = {"step": turn.step, "text": reply.text} | mark
        events.append(NewEvent(kind=EventKind.OUTPUT, run_id=run_id, data=data))
    return events


def piece_of(steps: Steps, turn: LoopTurn, reply: ModelReply, results: Sequence[Message]) -> Piece:
    """A reply with its tool results, as a piece of the conversation."""
    said = steps.find(turn.key)
    spoken = AssistantMessage(text=reply.text, tool_calls=reply.tool_calls)
    return Piece.of(said.offset if said else 0, (spoken, *results))


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLoop:
    """Works on a run from its snapshot; holds no state between runs."""

    units: "Units"
    routes: "Routes"
    toolbox: Toolbox
    registry: ToolRegistry
    prompts: PromptBuilder
    model: ModelCaller
    coach: EvolutionCoach
    consent: ConsentRecords
    stand_ins: RecordedTools
    compactor: Compactor = field(default_factory=Compactor)

    def prepare(
        self, unit: "Unit", run: Run, session: Session, *, input_offset: int
    ) -> tuple[RunSnapshot, tuple[JournalEvent, ...]]:
        """The snapshot of the prompt, fixed when the run starts, and the turns before the run."""
        self.consent.hear(unit, run, session)
        built = self.prompts.build(unit, run, session, input_offset=input_offset)
        unit.runs.taint(run.run_id, built.taints)
        recalled = built.recalled
        given = remembered_event(
            run,
            (it.learning_id for it in recalled.learned.kept),
            (it.run_id for it in recalled.recovered.kept),
        )
        if given is not None:
            unit.journal.append(run.session_id, (given,), at_ms=run.updated_at_ms)
        return built.snapshot(), built.start.events

    def left(self, run_id: str) -> None:
        """Drop the deltas of an ended execution: the text is in the journal, or void."""
        self.model.deltas.end(run_id)

    async def work(self, execution: RunExecution) -> RunEnd:
        """Call the model and its tools step by step, until it has answered or the run fails."""
        try:
            check_route(execution.run.route.route_id, self.routes, None)
            provider = await self.routes.provider(execution.run.route.route_id)
            offer = await self._offer(execution)
            return await self._converse(execution, provider, offer)
        except UnderstudyError as problem:
            return RunEnd(status=RunStatus.FAILED, error=problem.detail)

    async def _offer(self, execution: RunExecution) -> Offer:
        """The tools of a run: fixed at its start, plus those that MCP servers have now.

        In a replay, recorded answers replace them.
        """
        registry, names = self.registry, execution.snapshot.tools
        found: Sequence[Tool] = ()
        if self.prompts.mcp is not None:
            session = execution.read.session if execution.read else None
            if session is None:
                session = await retry_while_db_down(self._session, execution.run.session_id)
            found = await execution.stop.guard(self.prompts.mcp.tools_for(session))
            registry, names = registry.extended(found), (*names, *(tool.name for tool in found))
        offer = Offer(registry=registry, names=names, withheld=execution.snapshot.withheld)
        if self.stand_ins.concerns(execution.run):
            registry = await retry_while_db_down(self.stand_ins.registry, execution, registry)
            return replace(offer, registry=registry)
        if found:
            await retry_while_db_down(self._taint, execution.run, offer)
        return offer

    def _taint(self, run: Run, offer: Offer) -> None:
        """Record what a run is told by servers whose descriptions nobody has accepted."""
        acceptance = self.prompts.acceptance
        told = map(offer.registry.get, offer.told)
        unread = [] if acceptance is None else acceptance.unaccepted(told)
        if not unread:
            return
        taints = {str(TaintSource.MCP_TOOL): unread}
        with self.units.read() as unit:
            known = unit.runs.taints(run.run_id)
        if merged(known, taints) != known:
            with self.units.write() as unit:
                require_run(unit, run.run_id, lock=True)
                unit.runs.taint(run.run_id, taints)

    def _session(self, session_id: str) -> Session:
        with self.units.read() as unit:
            return require_session(unit, session_id)

    async def _converse(self, execution: RunExecution, provider: Provider, offer: Offer) -> RunEnd:
        conversation = await retry_while_db_down(self._conversation, execution)
        specs = specs_of(offer)
        room = self._room(execution, specs)
        max_steps = execution.snapshot.max_steps
        self._count_recalled(execution)
        for step in range(1, max_steps + 1):
            execution.stop.check()
            turn = LoopTurn(run=execution.run, step=step, max_steps=max_steps)
            conversation = await self._tend(execution, provider, turn, conversation, room)
            conversation = await self._nudge(execution, turn, conversation)
            messages = within(conversation, room).messages
            request = self._request(execution, specs, turn, messages)
            reply, judged = await self._model_step(execution, provider, offer, turn, request)
            if not reply.tool_calls:
                return RunEnd(status=RunStatus.COMPLETED)
            if step == max_steps:
                break
            execution.stop.check()
            results = await self.toolbox.run_all(execution, step, reply.tool_calls, offer, judged)
            conversation = conversation.then(piece_of(execution.steps, turn, reply, results))
        return RunEnd(
            status=RunStatus.FAILED, error=f"no answer within {max_steps} steps of the budget"
        )

    def _count_recalled(self, execution: RunExecution) -> None:
        """Count the memories in the prompt as used, before the first model call of a run."""
        first = LoopTurn(run=execution.run, step=1, max_steps=execution.snapshot.max_steps)
        if execution.steps.find(first.key) is None:
            self.prompts.memories.used(execution.snapshot.reports.memory or {})

    def _room(self, execution: RunExecution, specs: Sequence[ToolSpec]) -> Room:
        return room_for(
            context_window=self._context_window(execution.run),
            system=execution.snapshot.system,
            tools=specs,
        )

    def _context_window(self, run: Run) -> int:
        return self.routes.window(run.route.route_id, run.route.model).tokens

    async def _tend(
        self,
        execution: RunExecution,
        provider: Provider,
        turn: LoopTurn,
        conversation: Conversation,
        room: Room,
    ) -> Conversation:
        """The conversation of this step, compacted if need be; a resumed step finds its own."""
        known = resumed(conversation, execution, turn.step)
        is_done = execution.steps.find(turn.key) is not None
        if is_done or known is not conversation:
            return known
        ask = partial(self.model.call_unstreamed, execution, provider, turn.step)
        return await self.compactor.tend(execution, turn.step, conversation, room, ask)

    async def _nudge(
        self, execution: RunExecution, turn: LoopTurn, conversation: Conversation
    ) -> Conversation:
        """The conversation with the coach's remark to the model, if there is one."""
        if execution.steps.find(turn.key) is not None:
            return conversation
        remark = self.coach.nudge(
            execution, step=turn.step, max_steps=turn.max_steps, has_tools=not turn.is_last
        )
        if remark is None:
            return conversation
        # Written before the model call: a resumed run does not repeat it.
        await execution.steps.write([remark.event], also=remark.also)
        return conversation.aside(remark.text)

    def _conversation(self, execution: RunExecution) -> Conversation:
        run = execution.run
        with self.units.read() as unit:
            accepts = self.routes.accepts(run.route.route_id)
            history = execution.read.history if execution.read else None
            return recall(unit, run, execution.snapshot, accepts=accepts, history=history)

    async def _model_step(
        self,
        execution: RunExecution,
        provider: Provider,
        offer: Offer,
        turn: LoopTurn,
        request: ModelRequest,
    ) -> tuple[ModelReply, JudgedCalls | None]:
        """The reply of this step, and what was judged of its calls when it was stored."""
        done = execution.steps.find(turn.key)
        if done is not None:
            return reply_of(done.data), None
        reply = await self.model.call_streamed(execution, provider, turn.step, request)
        judged: list[JudgedCalls | None] = []
        if reply.tool_calls:
            announced = self._announced(execution, turn, reply, offer)

            def judge(unit: "Unit") -> None:
                if not turn.is_last:
                    calls = reply.tool_calls
                    judged[:] = [self.toolbox.judge(unit, execution, turn.step, calls, offer)]

            events = [*reply_events(turn, reply), *announced]
            await execution.steps.write(events, also=judge)
            self.model.deltas.end(turn.run.run_id)
        else:
            execution.steps.last = await self._answer(execution, turn, reply)
        await self.model.debug_log.answered(execution, turn.step, reply)
        return reply, judged[0] if judged else None

    def _announced(
        self, execution: RunExecution, turn: LoopTurn, reply: ModelReply, offer: Offer
    ) -> Sequence[NewEvent]:
        """Events of the tool calls that are about to run; none after the last step."""
        if turn.is_last:
            return ()
        return self.toolbox.announce(execution, turn.step, reply.tool_calls, offer)

    async def _answer(
        self, execution: RunExecution, turn: LoopTurn, reply: ModelReply
    ) -> LastReply:
        """The last reply of a run, with the coach's remark below it."""
        remark = await self.coach.parting(execution, step=turn.step, reply=reply.text)
        if remark is None:
            return LastReply(reply_events(turn, reply))
        if remark.text:
            self.model.deltas.say(turn.run.run_id, remark.text)
        whole = replace(reply, text=reply.text + remark.text)
        events = reply_events(turn, whole, own_chars=remark.own_chars)
        return LastReply([*events, remark.event], remark.also)

    def _request(
        self,
        execution: RunExecution,
        specs: tuple[ToolSpec, ...],
        turn: LoopTurn,
        messages: Sequence[Message],
    ) -> ModelRequest:
        last_call = UserMessage(text=say(execution.run.locale, "budget.last_step"))
        ephemeral = (last_call,) if turn.is_last and turn.max_steps > 1 else ()
        return ModelRequest(
            model=execution.run.route.model,
            system=execution.snapshot.system,
            messages=(*messages, *ephemeral),
            tools=() if turn.is_last else specs,
            generation=execution.run.route.generation,
            run_id=execution.run.run_id,
            fallback_model=execution.run.route.fallback_model,
            may_be_empty=has_executed(execution.steps.done.values()),
            typed=execution.run.input.text if execution.run.kind in TYPED else "",
        )
