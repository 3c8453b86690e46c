"""Judges the tool calls of a run by what is in force at that moment."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from understudy.agent.circumstances import Circumstances
from understudy.agent.daemon_rules import rules_in
from understudy.agents.model import require_agent
from understudy.core.audit import AuditEntry, AuditOutcome
from understudy.core.errors import DamagedRecord, Invalid, NotFound
from understudy.core.text import preview
from understudy.permissions.model import CallRule, CallVerdict, Level, PermissionDecision
from understudy.permissions.rules import read_document
from understudy.permissions.sidechain_verdict import SessionRuleSource, readings
from understudy.permissions.sidechains import SessionRules, read_session_rules
from understudy.runs.model import Run
from understudy.sessions.model import Session, require_session
from understudy.tools.base import Tool

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

T = TypeVar("T")

MAX_REASON_CHARS: Final = 500

Arguments = Mapping[str, Any]


class UnreadableRules(Exception):
    """The rules of a level cannot be read, so nobody knows what they forbid."""

    def __init__(self, level: Level, above: str | None = None) -> None:
        super().__init__(str(level))
        self.level = level
        self.above = above

    @property
    def verdict(self) -> CallVerdict:
        """What every call gets."""
        whose = f" for session {self.above} above" if self.above else ""
        return CallVerdict(
            decision=PermissionDecision.DENY,
            level=self.level,
            reason=f"the rules of the {self.level}{whose} cannot be read, so nothing runs",
            above=self.above,
        )


class Gatekeeper:
    """Decides which tool calls run, which ask first, and which are refused."""

    def judge(
        self, unit: "Unit", run: Run, calls: Sequence[tuple[Tool, Arguments]]
    ) -> tuple[CallVerdict, ...]:
        """One verdict for each call, in order. Rules that cannot be read deny every call.

        The arguments are those the tool would get: validated, as plain JSON values.
        """
        try:
            session = require_session(unit, run.session_id)
        except DamagedRecord:
            return tuple(UnreadableRules(Level.SESSION).verdict for _ in calls)
        circumstances = self.circumstances(unit, run.agent_id, session)
        return tuple(circumstances.verdict(tool, arguments) for tool, arguments in calls)

    def circumstances(self, unit: "Unit", agent_id: str, session: Session | None) -> Circumstances:
        """What is in force for an agent in a session, or in none."""
        disabled = unit.tool_switches.disabled()
        try:
            daemon = _readable(partial(_daemon_rules, unit), Level.DAEMON)
            held = readings(daemon, tuple(_chain(unit, agent_id, session)))
        except UnreadableRules as problem:
            return Circumstances(disabled=disabled, session=session, unreadable=problem.verdict)
        return Circumstances(disabled=disabled, session=session, readings=held)


def audit_entry(verdict: CallVerdict, run: Run, tool_name: str, *, at_ms: int) -> AuditEntry:
    """What the audit keeps of a decision: which rule made it, never what the call was about."""
    is_refused = verdict.decision is PermissionDecision.DENY
    return AuditEntry(
        at_ms=at_ms,
        actor=run.user_id,
        action="tools.call",
        resource="tools",
        resource_id=tool_name,
        outcome=AuditOutcome.REFUSED if is_refused else AuditOutcome.DONE,
        reason=preview(
            f"{verdict.decision} by the {verdict.level} in {run.run_id}: {verdict.reason}",
            MAX_REASON_CHARS,
        ),
    )


def _chain(unit: "Unit", agent_id: str, session: Session | None) -> Iterator[SessionRuleSource]:
    """Who judges: the session, then the one above it, and so on up."""
    agents: dict[str, tuple[CallRule, ...]] = {}
    seen: set[str] = set()
    above: str | None = None
    while True:
        if agent_id not in agents:
            agents[agent_id] = _readable(partial(_agent_rules, unit, agent_id), Level.AGENT, above)
        yield SessionRuleSource(
            agent_id=agent_id,
            agent_rules=agents[agent_id],
            session_id=None if session is None else session.session_id,
            session_rules=_readable(partial(_session_rules, session), Level.SESSION, above),
        )
        above = None if session is None else session.parent_session_id
        if above is None or above in seen:
            return
        seen.add(above)
        session = _readable(partial(require_session, unit, above), Level.SESSION, above)
        agent_id = session.agent_id


def _readable(read: Callable[[], T], level: Level, above: str | None = None) -> T:
    try:
        return read()
    except (Invalid, DamagedRecord, NotFound) as problem:
        raise UnreadableRules(level, above) from problem


def _daemon_rules(unit: "Unit") -> tuple[CallRule, ...]:
    latest = unit.revisions.latest()
    return () if latest is None else rules_in(latest)


def _agent_rules(unit: "Unit", agent_id: str) -> tuple[CallRule, ...]:
    return read_document(require_agent(unit, agent_id).permissions)


def _session_rules(session: Session | None) -> SessionRules:
    return SessionRules() if session is None else read_session_rules(session.permissions)
