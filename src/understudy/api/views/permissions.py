"""Permission rules, verdicts and offered tools as clients see them."""

from collections.abc import Iterable

from understudy.agent.offers import Standing
from understudy.permissions.model import Rule, Verdict
from understudy.permissions.rules import read_rules, write_rule
from understudy.permissions.sidechains import read_session_rules
from understudy.runtime.model import Revision
from understudy.sessions.model import Session
from understudy.tools.base import Tool, schema_of
from understudy.wire.permissions import (
    PermissionRule,
    PermissionsView,
    RuleView,
    SessionPermissionsView,
    SessionToolView,
    TraceView,
    VerdictView,
)
from understudy.wire.runtime import ToolView


def rules_of(given: Iterable[PermissionRule]) -> tuple[Rule, ...]:
    """The rules a caller sent, checked."""
    return read_rules([rule.model_dump(exclude_none=True) for rule in given])


def rule_view(rule: Rule) -> RuleView:
    """One rule."""
    return RuleView(**write_rule(rule))


def permissions_view(revision: Revision, rules: Iterable[Rule]) -> PermissionsView:
    """The rules of the daemon."""
    return PermissionsView(
        rules=[rule_view(rule) for rule in rules],
        revision=revision.revision,
        updated_at_ms=revision.updated_at_ms,
    )


def session_permissions_view(session: Session) -> SessionPermissionsView:
    """The rules of a session."""
    kept = read_session_rules(session.permissions)
    return SessionPermissionsView(
        session_id=session.session_id,
        rules=[rule_view(rule) for rule in kept.own],
        inherited=[rule_view(rule) for rule in kept.inherited],
    )


def verdict_view(verdict: Verdict) -> VerdictView:
    """What would become of a call, and how every rule fared."""
    return VerdictView(
        decision=verdict.decision.value,
        level=verdict.level.value,
        above=verdict.above,
        rule=rule_view(verdict.rule) if verdict.rule else None,
        reason=verdict.reason,
        trace=[
            TraceView(
                level=line.placed.level.value,
                index=line.placed.index,
                owner=line.placed.owner,
                rule=rule_view(line.placed.rule),
                matched=line.matched,
                why=line.why,
            )
            for line in verdict.trace
        ],
    )


def session_tool_view(standing: Standing) -> SessionToolView:
    """A tool as one session has it."""
    tool, verdict = standing.tool, standing.verdict
    return SessionToolView(
        name=tool.name,
        description=tool.description,
        effect=tool.effect.value,
        approval=tool.approval.value,
        enabled=standing.enabled,
        decision=verdict.decision.value,
        level=verdict.level.value,
        reason=verdict.reason,
        depends_on_arguments=standing.depends_on_arguments,
    )


def tool_view(tool: Tool, *, enabled: bool) -> ToolView:
    """A tool as all agents have it."""
    return ToolView(
        name=tool.name,
        description=tool.description,
        effect=tool.effect.value,
        approval=tool.approval.value,
        enabled=enabled,
        parameters=dict(schema_of(tool.parameters)),
    )
