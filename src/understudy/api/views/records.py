"""Personas, projects, agents, tokens, audit entries and routes as the wire shows them."""

from understudy.access.tokens import Token
from understudy.agents.keeping import ShownVersion
from understudy.agents.model import Agent, ContextFile
from understudy.api.views.evolution import switch_view
from understudy.core.audit import AuditEntry
from understudy.evolution.switch_costs import switches_in_force
from understudy.evolution.text_diff import text_diff
from understudy.providers.registry import RouteInfo
from understudy.wire.access import AuditEntryView, TokenCreated, TokenView
from understudy.wire.agents import (
    AgentView,
    FileSummary,
    FileVersionDetail,
    FileVersionView,
    FileView,
)
from understudy.wire.runtime import RouteView


def agent_view(agent: Agent) -> AgentView:
    """An agent."""
    return AgentView(
        agent_id=agent.agent_id,
        display_name=agent.display_name,
        agent_type=agent.agent_type.value,
        route=agent.route,
        max_tool_iterations=agent.max_tool_iterations,
        other_config=dict(agent.other_config),
        permissions=dict(agent.permissions),
        owner_id=agent.owner_id,
        switches=[switch_view(each) for each in switches_in_force(agent)],
        version=agent.version,
        created_at_ms=agent.created_at_ms,
        updated_at_ms=agent.updated_at_ms,
    )


def file_view(file: ContextFile) -> FileView:
    """A context file with its content."""
    return FileView(
        agent_id=file.agent_id,
        content=file.content,
        **file_summary(file).model_dump(),
    )


def file_summary(file: ContextFile) -> FileSummary:
    """A context file without its content."""
    return FileSummary(name=file.name, **file_version_view(file).model_dump())


def file_version_view(file: ContextFile) -> FileVersionView:
    """One version of a context file."""
    return FileVersionView(
        version=file.version,
        actor=file.actor,
        run_id=file.run_id,
        created_at_ms=file.created_at_ms,
        size=file.size,
        deleted=file.is_deletion,
    )


def file_version_detail(shown: ShownVersion) -> FileVersionDetail:
    """One version of a context file with its content, and what it changed."""
    file, before = shown.file, shown.before
    was = None if before is None or before.is_deletion else before.content
    return FileVersionDetail(
        diff=text_diff(was, file.content, file.name), **file_view(file).model_dump()
    )


def token_view(token: Token) -> TokenView:
    """A token without its secret."""
    return TokenView(
        token_id=token.token_id,
        user_id=token.user_id,
        role=token.role.value,
        created_at_ms=token.created_at_ms,
        locale=token.locale,
    )


def token_created(token: Token, secret: str) -> TokenCreated:
    """A new token, this once with its secret."""
    return TokenCreated(token=secret, **token_view(token).model_dump())


def audit_view(entry: AuditEntry) -> AuditEntryView:
    """One attempt to change something."""
    return AuditEntryView(
        at_ms=entry.at_ms,
        actor=entry.actor,
        action=entry.action,
        resource=entry.resource,
        resource_id=entry.resource_id,
        outcome=entry.outcome.value,
        request_id=entry.request_id,
        version=entry.version,
        reason=entry.reason,
    )


def route_view(route: RouteInfo, *, default: str) -> RouteView:
    """Where model calls can go; the record has no key to show."""
    return RouteView(
        route_id=route.route_id,
        provider=route.provider,
        model=route.model,
        base_url=route.base_url,
        context_window=route.context_window,
        ready=route.ready,
        reason=route.reason,
        accepts=sorted(route.accepts),
        default=route.route_id == default,
    )
