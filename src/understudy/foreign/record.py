"""The one way in for turns of agents that we do not run: a session, a run, its memory and taint.

What a client reports is a claim. Its words are read as those of a person, and what they become waits
for a person, or for a policy rule that names the client.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from understudy.agents.model import Agent, AgentType
from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.principal import Principal
from understudy.core.text import preview
from understudy.core.visibility import unrestricted
from understudy.foreign.turn import ForeignCall, ForeignConversation, ForeignTurn
from understudy.i18n.locales import locale_of
from understudy.learnings.model import LearningUse
from understudy.redaction.marker import cut
from understudy.runs.artifacts import MAX_SHOWN_CHARS
from understudy.runs.intake import MAX_INPUT_CHARS, RuntimeDefaults
from understudy.runs.lifecycle import input_event, run_event, status_event
from understudy.runs.model import (
    BRIEFING,
    EndingHook,
    InputItem,
    Route,
    Run,
    RunInput,
    RunKind,
    RunRequest,
    RunStatus,
    model_call_key,
)
from understudy.runs.remembered import remembered_event
from understudy.runs.taint import TaintSource
from understudy.sessions.creation import NewSession, open_session
from understudy.sessions.journal import EventKind, NewEvent
from understudy.sessions.model import Session, require_session

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

# As many as the longest turn of ours may have.
MAX_CALLS: Final = 500
# The kind of source of every turn that a client reports.
SOURCE_KIND: Final = "turn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """The session and the run that a turn became."""

    session_id: str
    run_id: str
    # False for a turn that was there already.
    is_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignTurns:
    """Records turns as ended runs; nothing of them is ever executed."""

    units: "Units"
    clock: Clock
    defaults: Callable[["Unit"], RuntimeDefaults]
    # Called in the transaction that stores the run, as for every run that ends.
    run_ended: EndingHook

    def record(self, principal: Principal, turn: ForeignTurn) -> Recorded | None:
        """Store a turn; one that came before is left as it is, an empty one is none."""
        turn.of.check()
        if turn.is_empty:
            return None
        with self.units.write() as unit:
            return self.record_in(unit, principal, turn)

    def record_in(self, unit: "Unit", principal: Principal, turn: ForeignTurn) -> Recorded:
        """`record`, in the transaction of a caller who checked the turn."""
        # The end of a run concerns more than its client may see, such as the limits of retention.
        with unrestricted():
            return self._stored(unit, principal, turn)

    def _stored(self, unit: "Unit", principal: Principal, turn: ForeignTurn) -> Recorded:
        run_id = turn.of.run_id(principal.user_id, turn.turn)
        session = self.session_of(unit, principal, turn.of)
        if unit.runs.get(run_id) is not None:
            return Recorded(session_id=session.session_id, run_id=run_id, is_new=False)
        run = self._run(unit, principal, turn, session, run_id)
        events = (
            run_event(run, "accepted", RunStatus.QUEUED),
            input_event(run),
            *_given(run, turn),
            *(_event(run, EventKind.CLIENT, None, {"line": line}) for line in turn.unknown),
            *_work(run, turn),
            status_event(run, **({"error": run.error} if run.error else {})),
        )
        ended_at = run.finished_at_ms or run.updated_at_ms
        written = unit.journal.append(run.session_id, events, at_ms=ended_at)
        run = replace(run, accepted_offset=written[0].offset)
        unit.runs.add(run)
        if names := sorted({call.name for call in turn.calls if call.result}):
            unit.runs.taint(run.run_id, {TaintSource.TOOL_RESULT: names})
        now = self.clock.now_ms()
        unit.audit.add(audit.done(principal, "foreign.record", run.run_id, at_ms=now))
        unit.learning_uses.add(_uses(unit, run, turn.remembered))
        self.run_ended(unit, run)
        return Recorded(session_id=session.session_id, run_id=run_id, is_new=True)

    def session_of(self, unit: "Unit", principal: Principal, of: ForeignConversation) -> Session:
        """The session of a conversation with its row locked, created at its first turn."""
        session_id = of.session_id(principal.user_id)
        known = unit.sessions.get(session_id, lock=True)
        if known is not None:
            return known
        now = self.clock.now_ms()
        self._add_agent(unit, principal, of.source, now_ms=now)
        wanted = NewSession(session_id=session_id, agent_id=of.source)
        opened = open_session(unit, principal, wanted, now_ms=now)
        return opened or require_session(unit, session_id, lock=True)

    def _add_agent(self, unit: "Unit", principal: Principal, source: str, *, now_ms: int) -> None:
        """The agent that stands for a client, unless it is there."""
        agent = Agent(
            agent_id=source,
            display_name=source,
            agent_type=AgentType.OPEN,
            owner_id=principal.user_id,
            created_at_ms=now_ms,
            updated_at_ms=now_ms,
        )
        if unit.agents.add(agent):
            unit.audit.add(audit.done(principal, "agents.create", source, at_ms=now_ms))

    def _run(
        self, unit: "Unit", principal: Principal, turn: ForeignTurn, session: Session, run_id: str
    ) -> Run:
        now, defaults = self.clock.now_ms(), self.defaults(unit)
        ended_at = min(turn.ended_at_ms or now, now)
        began_at = min(turn.began_at_ms or ended_at, ended_at)
        return Run(
            run_id=run_id,
            session_id=session.session_id,
            agent_id=session.agent_id,
            user_id=principal.user_id,
            role=principal.role,
            kind=RunKind.FOREIGN_TURN,
            status=RunStatus.COMPLETED if turn.error is None else RunStatus.FAILED,
            submitted_at_ms=began_at,
            started_at_ms=began_at,
            finished_at_ms=ended_at,
            updated_at_ms=ended_at,
            request=RunRequest(
                source_plugin=turn.of.source,
                source_kind=SOURCE_KIND,
                text_preview=preview(turn.typed) or None,
            ),
            input=RunInput(items=tuple(_items(turn))),
            # The model that answered; capture asks the one of the default route.
            route=Route(route_id=defaults.route_id, model=turn.model or ""),
            locale=locale_of(principal.locale),
            error=turn.error,
            usage=replace(turn.usage, tool_calls=len(turn.calls)),
        )


def _uses(unit: "Unit", run: Run, given: Sequence[str]) -> tuple[LearningUse, ...]:
    """The uses of the learnings that the client was given; one may be gone since."""
    return tuple(
        LearningUse(
            learning_id=it.learning_id,
            learning_version=it.version,
            run_id=run.run_id,
            session_id=run.session_id,
            at_ms=run.submitted_at_ms,
        )
        for it in unit.learnings.readable(given).values()
    )


def _items(turn: ForeignTurn) -> Iterator[InputItem]:
    for text in turn.injected:
        yield InputItem(type="text", text=text[:MAX_INPUT_CHARS], given_as=BRIEFING)
    if turn.typed.strip():
        yield InputItem(type="text", text=turn.typed[:MAX_INPUT_CHARS])


def _given(run: Run, turn: ForeignTurn) -> Iterator[NewEvent]:
    event = remembered_event(run, turn.remembered, ())
    if event is not None:
        yield event


def _work(run: Run, turn: ForeignTurn) -> Iterator[NewEvent]:
    """The events of the tool calls, and of the answer behind them."""
    calls = turn.calls[:MAX_CALLS]
    if calls:
        named = [_named(run, number, call) for number, call in enumerate(calls)]
        yield _message(run, 1, "", named, turn.model)
        for given, call in zip(named, calls, strict=True):
            key = f"{run.run_id}:call:{given['call_id']}"
            yield _event(run, EventKind.TOOL_CALL, key, {"step": 1, **given})
            result = {
                "step": 1,
                "call_id": given["call_id"],
                "name": call.name,
                "status": "error" if call.failed else "ok",
                "content": cut(call.result, MAX_SHOWN_CHARS),
                "executed": True,
                "refused": False,
            }
            yield _event(run, EventKind.TOOL_RESULT, f"{key}:result", result)
    if turn.said.strip():
        said = turn.said[:MAX_INPUT_CHARS]
        yield _message(run, 2, said, [], turn.model)
        yield _event(run, EventKind.OUTPUT, None, {"step": 2, "text": said})


def _named(run: Run, number: int, call: ForeignCall) -> dict[str, Any]:
    return {"call_id": f"{number + 1}", "name": call.name, "arguments": dict(call.arguments)}


def _message(
    run: Run, step: int, text: str, calls: list[dict[str, Any]], model: str | None
) -> NewEvent:
    data = {
        "step": step,
        "text": text,
        "tool_calls": calls,
        "model": model or "",
        "finish_reason": "tool_calls" if calls else "stop",
        "usage": {},
    }
    return _event(run, EventKind.MESSAGE, model_call_key(run.run_id, step), data)


def _event(run: Run, kind: EventKind, key: str | None, data: dict[str, Any]) -> NewEvent:
    return NewEvent(kind=kind, run_id=run.run_id, key=key, data=data)
