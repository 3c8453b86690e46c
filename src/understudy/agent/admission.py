"""Admission of the tool calls in a reply: run now, wait for an approval, or refused."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel

from understudy.agent.gate import Gatekeeper, audit_entry
from understudy.core.audit import AuditEntry, AuditOutcome
from understudy.core.clock import Clock
from understudy.core.text import preview
from understudy.evolution.acts import TOOLS_WITH_CONSENT, Act
from understudy.evolution.consent import ConsentCall, ConsentRecords
from understudy.permissions.model import CallVerdict, PermissionDecision
from understudy.permissions.rules import is_among
from understudy.providers.base import ToolCall
from understudy.runs.approvals import is_word_of, new_approval
from understudy.runs.fence import FencedUnits
from understudy.runs.model import Run
from understudy.runs.requests import PersonRequest, RequestState
from understudy.tools.base import Effect, Tool, ToolError
from understudy.tools.registry import ToolRegistry, quoted

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

MAX_CALLS: Final = 128
NAME_CHARS: Final = 40
# Error codes of calls that are valid but not allowed; all others are mistakes of the model.
BEYOND_BUDGET: Final = "too_many_calls"
NOT_GIVEN: Final = "tool_not_given"
TOO_MANY_CALLS: Final = f"not run: a reply may ask for at most {MAX_CALLS} calls; ask again for it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """The tools that are offered to a run."""

    registry: ToolRegistry
    names: Collection[str]
    # Patterns of tools that the model is not told of, because every call would be denied.
    withheld: Collection[str] = ()

    @property
    def told(self) -> tuple[str, ...]:
        """The tool names that the model is told."""
        return tuple(name for name in self.names if not is_among(self.withheld, name))

    def find(self, call: ToolCall) -> Tool:
        """The tool of a call, or a `ToolError` that lists the available ones."""
        name = self.registry.canonical(call.name)
        if name not in self.names:
            available = ", ".join(self.told) or "none"
            # The same message for both: the model must not learn which tools others have.
            code = NOT_GIVEN if name in self.registry.names() else "unknown_tool"
            raise ToolError(
                f"there is no tool {quoted(call.name)}; available: {available}", code=code
            )
        return self.registry.get(name)

    def is_once(self, call: ToolCall) -> bool:
        """Whether the effect of the tool is `once`: a repeated call would do more."""
        name = self.registry.canonical(call.name)
        return name in self.names and self.registry.get(name).effect is Effect.ONCE


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedCall:
    """A tool call with its run, step and index."""

    call: ToolCall
    run: Run
    step: int
    index: int

    @property
    def key(self) -> str:
        """The journal key of the call."""
        return f"{self.run.run_id}:call:{self.step}:{self.index}"

    @property
    def approval_key(self) -> str:
        """The key of the approval request; the call itself may make another request."""
        return f"{self.key}:approval"

    @property
    def result_key(self) -> str:
        """The journal key of the result."""
        return f"{self.run.run_id}:result:{self.step}:{self.index}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """The call may run."""

    tool: Tool
    arguments: BaseModel
    entry: AuditEntry
    # The arguments that a person put in place of the model's.
    updated: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedCall:
    """The call does not run; the model is told why."""

    content: str
    status: str = "error"
    entry: AuditEntry | None = None
    # Whether the model made a mistake: unknown tool or invalid arguments, not a denial.
    is_mistake: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """An approval must come first; `request` is None when it was already made."""

    request: PersonRequest | None = None
    entry: AuditEntry | None = None


Admission = Admitted | RefusedCall | Held


@dataclass(frozen=True, slots=True, kw_only=True)
class Sound:
    """A valid call with its validated arguments."""

    asked: AskedCall
    tool: Tool
    arguments: BaseModel
    # The arguments as JSON values.
    plain: Mapping[str, Any]
    # The approval request of the call, if there is one.
    request: PersonRequest | None = None


@dataclass(frozen=True, slots=True)
class JudgedCalls:
    """Calls judged by rules and approvals."""

    admissions: dict[str, Admission]
    # The valid calls among them.
    sound: Sequence[Sound]

    @property
    def is_final(self) -> bool:
        """Whether no call is of a tool that may need the user's consent."""
        return all(each.tool.name not in TOOLS_WITH_CONSENT for each in self.sound)


@dataclass(frozen=True, slots=True)
class Doorkeeper:
    """Admits calls by the permission rules in force now and by approvals."""

    units: "Units"
    clock: Clock
    gatekeeper: Gatekeeper
    consent: ConsentRecords
    # Expiry of approvals; None means never.
    expires_after_s: int | None = None

    def admit(
        self, offer: Offer, calls: Sequence[AskedCall], judged: JudgedCalls | None = None
    ) -> dict[str, Admission]:
        """The admission of each call, by its key; `judged` is what was judged already."""
        if judged is None:
            with self.units.read() as unit:
                judged = self.judge(unit, offer, calls)
        return judged.admissions | self._without_consent(judged)

    def judge(self, unit: "Unit", offer: Offer, calls: Sequence[AskedCall]) -> JudgedCalls:
        """Judge calls by rules and approvals, but not yet by the user's consent."""
        admissions: dict[str, Admission] = {}
        sound: list[Sound] = []
        for asked in calls:
            try:
                sound.append(_read(unit, offer, asked))
            except ToolError as problem:
                admissions[asked.key] = self._mistake(asked, problem)
        for each, verdict in zip(sound, self._judge(unit, sound), strict=True):
            admissions[each.asked.key] = self._admission(each, verdict)
        return JudgedCalls(admissions, sound)

    def _without_consent(self, judged: JudgedCalls) -> dict[str, Admission]:
        """The calls that need the user's consent and do not have it."""
        asked = [
            (each.asked, act, judged.admissions[each.asked.key])
            for each in judged.sound
            if _is_open(each, judged.admissions[each.asked.key])
            and (act := self.consent.act(each.asked.run, each.tool.name, each.plain)) is not None
        ]
        if not asked:
            return {}
        run = asked[0][0].run
        with FencedUnits(self.units, run.run_id, run.attempt).write() as unit:
            refused = {
                each.key: self._refused(unit, each, act, admission)
                for each, act, admission in asked
            }
        return {key: refusal for key, refusal in refused.items() if refusal is not None}

    def _refused(
        self, unit: "Unit", asked: AskedCall, act: Act, admission: Admission
    ) -> RefusedCall | None:
        if isinstance(admission, Held):
            refusal = self.consent.declined(unit, asked.run, act)
        else:
            call = ConsentCall(
                call_id=asked.call.call_id, key=asked.key, result_key=asked.result_key
            )
            refusal = self.consent.refuses(unit, asked.run, act, call)
        if refusal is None:
            return None
        return RefusedCall(content=refusal.content, status="denied", entry=refusal.entry)

    def _mistake(self, asked: AskedCall, problem: ToolError) -> RefusedCall:
        """The refusal of an invalid or surplus call, which needs no rule."""
        entry = AuditEntry(
            at_ms=self.clock.now_ms(),
            actor=asked.run.user_id,
            action="tools.call",
            resource="tools",
            resource_id=preview(asked.call.name, NAME_CHARS),
            outcome=AuditOutcome.REFUSED,
            reason=f"{problem.code} in {asked.run.run_id}",
        )
        is_mistake = problem.code not in (BEYOND_BUDGET, NOT_GIVEN)
        return RefusedCall(content=problem.detail, entry=entry, is_mistake=is_mistake)

    def _judge(self, unit: "Unit", sound: Sequence[Sound]) -> tuple[CallVerdict, ...]:
        if not sound:
            return ()
        plain = [(each.tool, each.plain) for each in sound]
        return self.gatekeeper.judge(unit, sound[0].asked.run, plain)

    def _admission(self, sound: Sound, verdict: CallVerdict) -> Admission:
        tool, arguments, request = sound.tool, sound.arguments, sound.request
        now = self.clock.now_ms()
        entry = audit_entry(verdict, sound.asked.run, tool.name, at_ms=now)
        if verdict.decision is PermissionDecision.DENY:
            return RefusedCall(content=f"denied: {verdict.reason}", status="denied", entry=entry)
        if request is None:
            if verdict.decision is PermissionDecision.ALLOW:
                return Admitted(tool=tool, arguments=arguments, entry=entry)
            return Held(request=self._request(sound, verdict, now), entry=entry)
        # A person's decision on this very call stands, whatever the rules say now.
        match request.state:
            case RequestState.PENDING:
                return Held()
            case RequestState.ALLOWED:
                return Admitted(
                    tool=tool, arguments=arguments, entry=entry, updated=_updated(request)
                )
            case _:
                content = _denial(request)
                entry = replace(
                    entry, outcome=AuditOutcome.REFUSED, reason=f"{content} ({entry.reason})"
                )
                return RefusedCall(content=content, status="denied", entry=entry)

    def _request(self, sound: Sound, verdict: CallVerdict, now: int) -> PersonRequest:
        asked, wait_s = sound.asked, self.expires_after_s
        return new_approval(
            asked.run,
            call_key=asked.approval_key,
            body={
                "tool_call_id": asked.call.call_id,
                "tool_name": sound.tool.name,
                "input": sound.plain,
                "scope": str(verdict.level),
                "reason": verdict.reason,
            },
            at_ms=now,
            expires_at_ms=None if wait_s is None else now + wait_s * 1000,
        )


def _read(unit: "Unit", offer: Offer, asked: AskedCall) -> Sound:
    """The call with its tool and arguments; those edited by a person take precedence."""
    if asked.index >= MAX_CALLS:
        raise ToolError(TOO_MANY_CALLS, code=BEYOND_BUDGET)
    tool = offer.find(asked.call)
    # Only a run that was woken can have an answered request.
    request = unit.requests.of_call(asked.approval_key) if asked.run.wakes else None
    updated = _updated(request) if request else None
    if updated is None:
        arguments = offer.registry.validate(tool.name, asked.call.arguments)
    else:
        arguments = offer.registry.check(tool.name, updated)
    plain = arguments.model_dump(mode="json")
    return Sound(asked=asked, tool=tool, arguments=arguments, plain=plain, request=request)


def _is_open(sound: Sound, admission: Admission) -> bool:
    """Whether the user's consent still matters: the call is about to run or to be asked about.

    An approval counts as consent to this very call if the user, or an admin, gave it.
    """
    request = sound.request
    match admission:
        case Admitted():
            return request is None or not is_word_of(sound.asked.run.user_id, request)
        case Held():
            return admission.request is not None
        case _:
            return False


def _updated(request: PersonRequest) -> Mapping[str, Any] | None:
    """The arguments that the approving person put in place of the model's."""
    if request.state is not RequestState.ALLOWED:
        return None
    return (request.resolution or {}).get("updated_input")


def _denial(request: PersonRequest) -> str:
    said = request.resolution or {}
    if request.state is RequestState.EXPIRED:
        return "denied: nobody approved this in time"
    reason = said.get("reason") or said.get("justification")
    return f"denied by {request.resolved_by}" + (f": {reason}" if reason else "")
