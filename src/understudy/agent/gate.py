"""Permission gate: judges tool calls, redirects included, by the rules in force now."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from understudy.agents.model import require_agent
from understudy.core.audit import AuditEntry, AuditOutcome
from understudy.core.errors import DamagedRecord, Invalid, NotFound, coded_error
from understudy.core.principal import Principal
from understudy.core.text import preview
from understudy.mcp_client.visibility import SERVER, McpVisibility
from understudy.permissions.globs import matches
from understudy.permissions.model import CallRule, CallVerdict, Level, PermissionDecision
from understudy.permissions.rules import (
    SessionRules,
    read_document,
    read_session_rules,
    write_document,
)
from understudy.permissions.sidechain_verdict import (
    RuleSet,
    SessionRuleSource,
    decide_in_all,
    readings,
)
from understudy.runs.model import Run, require_run
from understudy.runtime.service import Revision, RuntimeService
from understudy.sessions.model import Session, require_session
from understudy.sessions.scopes import effective_capability_scope
from understudy.skills.tools.fork import ALWAYS
from understudy.skills.usage import RecordedUse
from understudy.tools.base import Approval, Tool, ToolContext, ToolError
from understudy.work.db_retry import retry_while_db_down

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

DEFAULTS: Final = {
    Approval.ALWAYS: PermissionDecision.ASK,
    Approval.NEVER: PermissionDecision.ALLOW,
}
SWITCHED_OFF: Final = CallVerdict(
    decision=PermissionDecision.DENY,
    level=Level.DAEMON,
    reason="the tool is switched off for all agents",
)
HIDDEN: Final = CallVerdict(
    decision=PermissionDecision.DENY,
    level=Level.SESSION,
    reason="the session's capability scope hides the tool",
)
T = TypeVar("T")
MAX_REASON_CHARS: Final = 500
Arguments = Mapping[str, Any]
KEY: Final = "permissions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """The rules and switches for the calls of one agent, in a session or without one."""

    disabled: frozenset[str]
    session: Session | None
    readings: tuple[RuleSet, ...] = ()
    # The verdict for every call when the rules do not decode.
    unreadable: CallVerdict | None = None

    def verdict(self, tool: Tool, arguments: Mapping[str, Any]) -> CallVerdict:
        """The verdict for a call."""
        if tool.name in self.disabled:
            return SWITCHED_OFF
        if is_hidden(tool.name, self.session):
            return HIDDEN
        if self.unreadable is not None:
            return self.unreadable
        return decide_in_all(tool.name, arguments, self.readings, DEFAULTS[tool.approval])

    def depend_on_arguments(self, tool: Tool) -> bool:
        """Whether any rule matches on the arguments of the tool."""
        return any(
            placed.rule.arguments and matches(placed.rule.tool, tool.name)
            for reading in self.readings
            for placed in reading.placed
        )


def kept_out(in_use: Iterable[RecordedUse], name: str) -> CallVerdict | None:
    """The denial of a tool that a skill in use does not allow; None if all allow it.

    A skill is in use from when the run opens it until the run ends.
    """
    for use in in_use:
        if _fits(use.blocked_tools, name):
            reason = f"the skill {use.slug}, which this run follows, blocks it"
        elif use.allowed_tools and name not in ALWAYS and not _fits(use.allowed_tools, name):
            allowed = ", ".join(use.allowed_tools)
            reason = f"the skill {use.slug}, which this run follows, uses only {allowed}"
        else:
            continue
        return CallVerdict(decision=PermissionDecision.DENY, level=Level.SKILL, reason=reason)
    return None


def _fits(patterns: Iterable[str], name: str) -> bool:
    return any(matches(pattern, name) for pattern in patterns)


def is_hidden(name: str, session: Session | None) -> bool:
    """Whether the session's capability scope hides a tool; applies to MCP tools only."""
    server, slash, tool = name.partition("/")
    if session is None or not slash:
        return False
    try:
        scope = effective_capability_scope(session)
        hides_server = scope is not None and not scope.gate(SERVER).permits(server)
        return hides_server or McpVisibility(session).tool_hidden_by(server, tool) is not None
    except Invalid:
        # The stored scope does not decode, so everything is hidden.
        return True


class UnreadableRules(Exception):
    """The rules of a level do not decode, so every call is denied."""

    def __init__(self, level: Level, above: str | None = None) -> None:
        super().__init__(str(level))
        self.level = level
        self.above = above

    @property
    def verdict(self) -> CallVerdict:
        """The verdict for every call."""
        whose = f" for session {self.above} above" if self.above else ""
        return CallVerdict(
            decision=PermissionDecision.DENY,
            level=self.level,
            reason=f"the rules of the {self.level}{whose} cannot be read, so nothing runs",
            above=self.above,
        )


class Gatekeeper:
    """Judges tool calls: run, ask first, or refuse."""

    def judge(
        self, unit: "Unit", run: Run, calls: Sequence[tuple[Tool, Arguments]]
    ) -> tuple[CallVerdict, ...]:
        """One verdict for each call, in order. Rules that do not decode deny every call.

        The arguments are those the tool would get: validated, as plain JSON values.
        """
        try:
            session = require_session(unit, run.session_id)
        except DamagedRecord:
            return tuple(UnreadableRules(Level.SESSION).verdict for _ in calls)
        circumstances = self.circumstances(unit, run.agent_id, session, denied=run.denied)
        in_use = unit.skill_uses.of_run(run.run_id)
        return tuple(
            kept_out(in_use, tool.name) or circumstances.verdict(tool, arguments)
            for tool, arguments in calls
        )

    def circumstances(
        self,
        unit: "Unit",
        agent_id: str,
        session: Session | None,
        *,
        denied: tuple[CallRule, ...] = (),
    ) -> Circumstances:
        """The circumstances of an agent in a session, or without one; a run may be denied more."""
        disabled = unit.tool_switches.disabled()
        try:
            daemon = _readable(partial(_daemon_rules, unit), Level.DAEMON)
            chain = tuple(_chain(unit, agent_id, session))
            held = readings(daemon, (_with_denied(chain[0], denied), *chain[1:]))
        except UnreadableRules as problem:
            return Circumstances(disabled=disabled, session=session, unreadable=problem.verdict)
        return Circumstances(disabled=disabled, session=session, readings=held)


def _with_denied(source: SessionRuleSource, denied: tuple[CallRule, ...]) -> SessionRuleSource:
    """The rules of a session with those denied to one run."""
    rules = source.session_rules
    inherited = (*rules.inherited, *denied)
    return replace(source, session_rules=replace(rules, inherited=inherited))


def audit_entry(verdict: CallVerdict, run: Run, tool_name: str, *, at_ms: int) -> AuditEntry:
    """The audit entry of a verdict: the rule that was applied, never the arguments."""
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
    """The rule sources: the session, its parent, and so on up."""
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


@dataclass(frozen=True, slots=True)
class DaemonRules:
    """Reads and changes the daemon's permission rules; every change is a revision."""

    runtime: RuntimeService

    def current(self) -> tuple[Revision, tuple[CallRule, ...]]:
        """The rules in force, and their revision."""
        revision = self.runtime.current()
        return revision, rules_in(revision)

    def replace(
        self,
        principal: Principal,
        rules: tuple[CallRule, ...],
        *,
        expected_revision: int | None = None,
    ) -> tuple[Revision, tuple[CallRule, ...]]:
        """Replace the rules; the next tool call sees the new ones."""
        revision = self.runtime.change(
            principal, {KEY: write_document(rules)}, expected_revision=expected_revision
        )
        return revision, rules


def rules_in(revision: Revision) -> tuple[CallRule, ...]:
    """The rules of a runtime document, or `DamagedRecord`."""
    try:
        return read_document(revision.document.get(KEY, {}))
    except Invalid as problem:
        raise coded_error("storage/record_damaged:daemon_rules") from problem


@dataclass(frozen=True, slots=True)
class Onward:
    """Judges a redirect that a tool follows by the same rules as a tool call."""

    units: "Units"
    gatekeeper: Gatekeeper

    async def __call__(
        self,
        tool: Tool,
        arguments: Mapping[str, Any],
        context: ToolContext,
        *,
        began_as: Mapping[str, Any] | None,
    ) -> None:
        """Raise a `ToolError` unless a call with these arguments would be allowed.

        An approval covers the site it was given for: `began_as` is the approved call.
        """
        verdict = await retry_while_db_down(self._judge, tool, arguments, context.run_id)
        named = ", ".join(map(str, arguments.values()))
        match verdict.decision:
            case PermissionDecision.DENY:
                raise ToolError(
                    f"it leads on to {named}, which is denied: {verdict.reason}",
                    code="redirect_denied",
                )
            case PermissionDecision.ASK if began_as is not None and await self._was_asked(
                tool, began_as, context
            ):
                return
            case PermissionDecision.ASK:
                raise ToolError(
                    f"it leads on to {named}, and that must be approved: call {tool.name} for "
                    f"it if it is needed ({verdict.reason})",
                    code="redirect_needs_approval",
                )
            case PermissionDecision.ALLOW:
                return

    async def _was_asked(
        self, tool: Tool, began_as: Mapping[str, Any], context: ToolContext
    ) -> bool:
        verdict = await retry_while_db_down(self._judge, tool, began_as, context.run_id)
        return verdict.decision is PermissionDecision.ASK

    def _judge(self, tool: Tool, arguments: Mapping[str, Any], run_id: str) -> CallVerdict:
        with self.units.read() as unit:
            run = require_run(unit, run_id)
            (verdict,) = self.gatekeeper.judge(unit, run, [(tool, arguments)])
            return verdict
