"""Hook events of Claude Code and Codex: each is kept until the turn ends, and answered at once."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from understudy.core.clock import DAY_MS, Clock
from understudy.core.errors import coded_error
from understudy.core.principal import Principal
from understudy.foreign.context import context_of, standing
from understudy.foreign.held import MAX_PATH_CHARS, HeldWrites, Place
from understudy.foreign.hook_events import HookEvent, HookTool
from understudy.foreign.memory_files import MAX_WRITES, MemoryWrite, memory_writes
from understudy.foreign.record import ForeignTurns
from understudy.foreign.turn import ForeignCall, ForeignConversation, ForeignTurn, turn_key
from understudy.foreign.typed import words_of
from understudy.retrieval.learned import learn_context
from understudy.retrieval.recollect import QUERY_CHARS
from understudy.runtime.memory_writes import MemoryWriteAnswer, answer_of
from understudy.runtime.service import current_revision
from understudy.sessions.journal import EventKind, NewEvent
from understudy.sessions.model import Session

if TYPE_CHECKING:
    from understudy.storage.client_events import ClientEvent
    from understudy.storage.unit import Unit, Units

Event = Mapping[str, Any]
Answer = dict[str, Any]
# What stands for characters that cannot be stored.
MENDED: Final = "\ufffd"
# The events that a turn is made of, and the most characters kept of each.
MAX_EVENTS: Final = 2_000
MAX_TEXT_CHARS: Final = 200_000
MAX_RESULT_CHARS: Final = 32_000
# A repeat of the same words in one conversation beyond this is taken for the same turn.
MAX_REPEATS: Final = 1_000
MAX_NAME_CHARS: Final = 200
MAX_UNKNOWN_CHARS: Final = 4_000
# Fields of events that are read, or that say nothing about a turn.
KNOWN_FIELDS: Final = frozenset(
    [
        "cwd",
        "error",
        "hook_event_name",
        "last_assistant_message",
        "model",
        "permission_mode",
        "prompt",
        "session_id",
        "tool_input",
        "tool_name",
        "tool_response",
        "tool_use_id",
        "transcript_path",
    ]
)
TOO_MANY: Final = (
    "Understudy refuses this call: it writes more than {limit} memory files. Write fewer at once."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """Answers the hook events of a client, and records what it did."""

    units: "Units"
    clock: Clock
    turns: ForeignTurns
    held: HeldWrites

    def answer(self, principal: Principal, tool: HookTool, event: Event) -> Answer:
        """The answer to an event, in the shape of the client that sent it."""
        name, conversation = _name_of(event), _conversation(tool, event)
        writes = _writes(event) if name == HookEvent.TOOL_ASKED else ()
        if name == HookEvent.TOOL_ASKED and not writes:
            return {}
        with self.units.write() as unit:
            session = self.turns.session_of(unit, principal, conversation)
            arrival = Arrival(unit, principal, conversation, session, event, writes)
            self._keep_unknown(arrival, name)
            act = _ACTS.get(name)
            return act(self, arrival) if act else {}

    def started(self, it: "Arrival") -> Answer:
        """The standing learnings, at the start of a conversation."""
        since = self.clock.now_ms() - DAY_MS
        is_open = it.unit.client_events.is_open(it.session.agent_id, since_ms=since)
        self.held.note(it.unit, self._place(it), is_quiet=not is_open)
        found = learn_context(it.unit, it.session, None, self.clock.now_ms())
        context, _ = context_of(standing(found.kept))
        return _with_context(HookEvent.SESSION_START, context)

    def prompted(self, it: "Arrival") -> Answer:
        """The relevant learnings, when a person has typed something."""
        # The turn before may have been interrupted.
        self._close(it)
        asked = words_of(_text(it.event, "prompt", MAX_TEXT_CHARS))
        query = asked.typed[:QUERY_CHARS]
        found = learn_context(it.unit, it.session, query, self.clock.now_ms()).kept if query else ()
        relevant = [each for each in found if each not in standing(found)]
        context, given = context_of(relevant)
        kept = {"typed": asked.typed, "injected": asked.injected, "remembered": given}
        self._keep(it, HookEvent.PROMPT, kept)
        return _with_context(HookEvent.PROMPT, context)

    def asked(self, it: "Arrival") -> Answer:
        """Hold a call that writes memory."""
        if len(it.writes) > MAX_WRITES:
            return _refusal(MemoryWriteAnswer.DENY, TOO_MANY.format(limit=MAX_WRITES))
        place = self._place(it)
        found = [self.held.refuse(it.unit, place, write) for write in it.writes]
        refusals = [each for each in found if each is not None]
        if not refusals:
            return {}
        may_wait = (
            all(each.waits for each in refusals) and it.conversation.source == HookTool.CLAUDE_CODE
        )
        wanted = answer_of(current_revision(it.unit).document)
        decision = wanted if may_wait else MemoryWriteAnswer.DENY
        return _refusal(decision, "\n".join(each.reason for each in refusals))

    def used(self, it: "Arrival") -> Answer:
        """Keep a tool call with what came back."""
        response = it.event.get("tool_response", it.event.get("error", ""))
        arguments = it.event.get("tool_input")
        call = {
            "id": _text(it.event, "tool_use_id", 200),
            "name": _text(it.event, "tool_name", 200) or "tool",
            "arguments": bounded(arguments if isinstance(arguments, Mapping) else {}),
            "result": _plain(response)[:MAX_RESULT_CHARS],
            "failed": _name_of(it.event) == HookEvent.TOOL_FAILED,
        }
        self._keep(it, HookEvent.TOOL_USED, call)
        return {}

    def ended(self, it: "Arrival") -> Answer:
        """Record the turn, and look what it left in memory files."""
        self.held.look(it.unit, self._place(it))
        said = _text(it.event, "last_assistant_message", MAX_TEXT_CHARS)
        self._close(it, said=said, model=_text(it.event, "model", 200) or None)
        return {}

    def _keep_unknown(self, it: "Arrival", name: str) -> None:
        """Keep an event that we do not act on, or the fields of one that we do not know."""
        fields = {key: value for key, value in it.event.items() if key not in KNOWN_FIELDS}
        if not fields and name in _ACTS:
            return
        data = {"event": name[:MAX_NAME_CHARS], "fields": bounded(fields, MAX_UNKNOWN_CHARS)}
        known = NewEvent(kind=EventKind.CLIENT, data=data)
        it.unit.journal.append(it.session.session_id, [known], at_ms=self.clock.now_ms())

    def _keep(self, it: "Arrival", name: HookEvent, body: Mapping[str, Any]) -> None:
        it.unit.client_events.add(
            it.session.session_id, name, body, at_ms=self.clock.now_ms(), most=MAX_EVENTS
        )

    def _close(self, it: "Arrival", *, said: str = "", model: str | None = None) -> None:
        """Record the turn whose events are kept; without any there is none."""
        kept = it.unit.client_events.take(it.session.session_id)
        turn = replace(self._turn(it, kept), said=said, model=model)
        if kept and not turn.is_empty:
            self.turns.record_in(it.unit, it.principal, turn)

    def _turn(self, it: "Arrival", kept: Sequence["ClientEvent"]) -> ForeignTurn:
        """The turn that these events belong to."""
        prompts = [each.body for each in kept if each.name == HookEvent.PROMPT]
        calls = [each.body for each in kept if each.name == HookEvent.TOOL_USED]
        typed = "\n".join(str(each["typed"]) for each in prompts)
        return ForeignTurn(
            of=it.conversation,
            turn=self._key(it, typed),
            typed=typed,
            injected=tuple(text for each in prompts for text in each["injected"]),
            calls=tuple(map(_call, _once(calls))),
            remembered=tuple(dict.fromkeys(id_ for each in prompts for id_ in each["remembered"])),
            began_at_ms=kept[0].at_ms if kept else None,
        )

    def _place(self, it: "Arrival") -> Place:
        """Where an event came from; its run is stored when the turn ends."""
        turn = self._turn(it, it.unit.client_events.of(it.session.session_id))
        transcript = _text(it.event, "transcript_path", MAX_PATH_CHARS)
        return Place(
            principal=it.principal,
            agent_id=it.session.agent_id,
            directory=_text(it.event, "cwd", MAX_PATH_CHARS),
            run_id=it.conversation.run_id(it.principal.user_id, turn.turn),
            memory=str(PurePosixPath(transcript).parent / "memory" / "MEMORY.md"),
        )

    def _key(self, it: "Arrival", typed: str) -> str:
        """The key of the next turn with these words."""
        keys = (turn_key(typed, number) for number in range(1, MAX_REPEATS + 1))
        user, of = it.principal.user_id, it.conversation
        return next(
            (key for key in keys if it.unit.runs.get(of.run_id(user, key)) is None),
            turn_key(typed, MAX_REPEATS),
        )


@dataclass(frozen=True, slots=True)
class Arrival:
    """An event with its conversation, in the transaction that answers it."""

    unit: "Unit"
    principal: Principal
    conversation: ForeignConversation
    session: Session
    event: Event
    # The memory files that a tool call wants to write.
    writes: tuple[MemoryWrite, ...] = ()


_ACTS: Final[Mapping[str, Callable[[Hooks, Arrival], Answer]]] = {
    HookEvent.SESSION_START: Hooks.started,
    HookEvent.PROMPT: Hooks.prompted,
    HookEvent.TOOL_ASKED: Hooks.asked,
    HookEvent.TOOL_USED: Hooks.used,
    HookEvent.TOOL_FAILED: Hooks.used,
    HookEvent.STOP: Hooks.ended,
    HookEvent.SESSION_END: Hooks.ended,
}


def _writes(event: Event) -> tuple[MemoryWrite, ...]:
    given = event.get("tool_input")
    tool = _text(event, "tool_name", 200)
    return memory_writes(tool, given) if isinstance(given, Mapping) else ()


def _name_of(event: Event) -> str:
    name = event.get("hook_event_name")
    if not isinstance(name, str) or not name:
        raise coded_error("foreign/no_hook_event", pointer="/hook_event_name")
    return name


def _conversation(tool: HookTool, event: Event) -> ForeignConversation:
    conversation = event.get("session_id")
    if not isinstance(conversation, str):
        raise coded_error("foreign/no_hook_event", pointer="/session_id")
    # A replaced character could make one conversation of two.
    found = ForeignConversation(source=str(tool), conversation=conversation.replace(MENDED, " "))
    found.check()
    return found


def _refusal(decision: MemoryWriteAnswer, reason: str) -> Answer:
    refusal = {
        "hookEventName": str(HookEvent.TOOL_ASKED),
        "permissionDecision": str(decision),
        "permissionDecisionReason": reason,
    }
    return {"hookSpecificOutput": refusal}


def _with_context(name: HookEvent, context: str) -> Answer:
    if not context:
        return {}
    return {"hookSpecificOutput": {"hookEventName": str(name), "additionalContext": context}}


def _call(kept: Mapping[str, Any]) -> ForeignCall:
    return ForeignCall(
        name=kept["name"],
        arguments=kept["arguments"],
        result=kept["result"],
        failed=kept["failed"],
    )


def _once(calls: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The calls, each once: a client may send an event again."""
    return list({each["id"] or at: each for at, each in enumerate(calls)}.values())


def _text(event: Event, name: str, limit: int) -> str:
    value = event.get(name)
    return value[:limit] if isinstance(value, str) else ""


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def bounded(fields: Mapping[str, Any], limit: int = MAX_RESULT_CHARS) -> Mapping[str, Any]:
    """The arguments of a call, or other fields; long ones as the beginning of their text."""
    text = _plain(fields)
    return fields if len(text) <= limit else {"cut": text[:limit]}
