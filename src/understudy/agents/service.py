"""Use cases of agents and their context files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from understudy.agents.model import (
    CONTEXT_FILES,
    DEFAULT_AGENT_ID,
    DEFAULT_MAX_TOOL_ITERATIONS,
    MAX_CONTEXT_FILE_BYTES,
    MAX_TOOL_ITERATIONS,
    Agent,
    AgentType,
    ContextFile,
)
from understudy.agents.ports import AgentUnit, AgentUnits
from understudy.agents.switches import check_other_config
from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import Conflict, Invalid, LimitExceeded, NotFound
from understudy.core.ids import check_caller_id
from understudy.core.page import Page, PageRequest
from understudy.core.principal import DAEMON, Principal
from understudy.permissions.rules import read_document, write_document


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFields:
    """The parts of an agent a caller sets; None keeps what is stored, or takes the default."""

    display_name: str | None = None
    agent_type: AgentType | None = None
    route: str | None = None
    max_tool_iterations: int | None = None
    other_config: Mapping[str, Any] | None = None
    permissions: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class AgentService:
    """Create, read and change agents and their files."""

    units: AgentUnits
    clock: Clock
    route_exists: Callable[[str], bool] = lambda _: True
    # Hear in the same transaction that an agent goes.
    deleted: Sequence[Callable[[Any, Principal, str], None]] = ()

    def ensure_default(self) -> None:
        """Make the built-in agent when it is not there yet."""
        with self.units.write() as unit:
            if unit.agents.get(DEFAULT_AGENT_ID) is None:
                unit.agents.add(self._fresh(DEFAULT_AGENT_ID, AgentType.PREDEFINED))
                now = self.clock.now_ms()
                unit.audit.add(audit.done(DAEMON, "agents.create", DEFAULT_AGENT_ID, at_ms=now))

    def create(self, principal: Principal, agent_id: str, fields: AgentFields) -> Agent:
        """A new agent; a taken id is a conflict."""
        check_caller_id(agent_id, field="agent_id", domain="agents")
        self._check_route(fields)
        agent = _with(self._fresh(agent_id, fields.agent_type or AgentType.OPEN), fields)
        with self.units.write() as unit:
            if not unit.agents.add(agent):
                raise Conflict(
                    "agent_already_exists", domain="agents", detail=f"{agent_id} exists already"
                )
            self._audit(unit, principal, "agents.create", agent)
        return agent

    def get(self, agent_id: str) -> Agent:
        """One agent, or `NotFound`."""
        with self.units.read() as unit:
            return _require(unit, agent_id)

    def page(self, request: PageRequest) -> Page[Agent]:
        """Agents by id."""
        with self.units.read() as unit:
            return unit.agents.page(request)

    def update(self, principal: Principal, agent_id: str, fields: AgentFields) -> Agent:
        """Merge the given fields into the agent."""
        self._check_route(fields)
        with self.units.write() as unit:
            stored = _require(unit, agent_id)
            changed = _with(stored, fields)
            if changed == stored:
                return stored
            changed = replace(
                changed, version=stored.version + 1, updated_at_ms=self.clock.now_ms()
            )
            unit.agents.update(changed, expected_version=stored.version)
            self._audit(unit, principal, "agents.update", changed)
            return changed

    def delete(self, principal: Principal, agent_id: str) -> None:
        """Delete an agent that no session uses; the built-in one stays."""
        with self.units.write() as unit:
            agent = _require(unit, agent_id)
            if agent_id == DEFAULT_AGENT_ID or unit.agents.in_use(agent_id):
                raise Conflict(
                    "agent_in_use",
                    domain="agents",
                    detail="the built-in agent and agents with sessions cannot be deleted",
                )
            for hear in self.deleted:
                hear(unit, principal, agent_id)
            unit.agents.delete(agent_id)
            self._audit(unit, principal, "agents.delete", agent)

    def files(self, agent_id: str) -> tuple[ContextFile, ...]:
        """The files of an agent that have content."""
        with self.units.read() as unit:
            _require(unit, agent_id)
            return tuple(file for file in unit.agents.files(agent_id) if file.content)

    def file(self, agent_id: str, name: str) -> ContextFile:
        """The file in force, or `NotFound`."""
        with self.units.read() as unit:
            _require(unit, agent_id)
            stored = unit.agents.file(agent_id, check_file_name(name))
        if stored is None or not stored.content:
            raise NotFound("agent_file_not_found", domain="agents", detail=f"no file {name}")
        return stored

    def file_versions(self, agent_id: str, name: str, request: PageRequest) -> Page[ContextFile]:
        """Versions of one file, newest first."""
        with self.units.read() as unit:
            _require(unit, agent_id)
            return unit.agents.file_versions(agent_id, check_file_name(name), request)

    def write_file(
        self,
        principal: Principal,
        agent_id: str,
        name: str,
        content: str,
        *,
        run_id: str | None = None,
    ) -> ContextFile:
        """Keep new content as the next version; the same content again makes none."""
        check_file_name(name)
        if len(content.encode()) > MAX_CONTEXT_FILE_BYTES:
            raise LimitExceeded(
                "agent_file_too_large",
                domain="agents",
                detail=f"{name} may have at most {MAX_CONTEXT_FILE_BYTES} bytes",
            )
        with self.units.write() as unit:
            _require(unit, agent_id)
            return self._add_version(unit, principal, agent_id, name, content, run_id)

    def restore_file(
        self, principal: Principal, agent_id: str, name: str, version: int
    ) -> ContextFile:
        """Bring the content of an earlier version back, as a new version."""
        check_file_name(name)
        with self.units.write() as unit:
            _require(unit, agent_id)
            earlier = unit.agents.file(agent_id, name, version=version)
            if earlier is None:
                raise NotFound(
                    "agent_file_version_not_found",
                    domain="agents",
                    detail=f"{name} has no version {version}",
                )
            return self._add_version(unit, principal, agent_id, name, earlier.content, None)

    def _add_version(
        self,
        unit: AgentUnit,
        principal: Principal,
        agent_id: str,
        name: str,
        content: str,
        run_id: str | None,
    ) -> ContextFile:
        current = unit.agents.file(agent_id, name)
        if current is not None and current.content == content:
            return current
        file = ContextFile(
            agent_id=agent_id,
            name=name,
            version=current.version + 1 if current else 1,
            content=content,
            actor=principal.actor,
            run_id=run_id,
            created_at_ms=self.clock.now_ms(),
        )
        if not unit.agents.add_file(file):
            raise Conflict(
                "agent_file_conflict", domain="agents", detail=f"{name} changed meanwhile"
            )
        entry = audit.done(
            principal,
            "agents.write_file",
            f"{agent_id}/{name}",
            at_ms=file.created_at_ms,
            version=file.version,
        )
        unit.audit.add(entry)
        return file

    def _check_route(self, fields: AgentFields) -> None:
        if fields.route and not self.route_exists(fields.route):
            raise Invalid(
                "route_not_found",
                domain="routes",
                pointer="/route",
                detail=f"there is no route {fields.route!r}",
            )

    def _fresh(self, agent_id: str, agent_type: AgentType) -> Agent:
        now = self.clock.now_ms()
        return Agent(
            agent_id=agent_id,
            display_name=agent_id,
            agent_type=agent_type,
            created_at_ms=now,
            updated_at_ms=now,
        )

    def _audit(self, unit: AgentUnit, principal: Principal, action: str, to: Agent) -> None:
        now = self.clock.now_ms()
        unit.audit.add(audit.done(principal, action, to.agent_id, at_ms=now, version=to.version))


def check_file_name(name: str) -> str:
    """A context file's name, exactly as the known ones are written."""
    if name not in CONTEXT_FILES:
        raise Invalid(
            "agent_file_unknown",
            domain="agents",
            pointer="/name",
            detail=f"context files are: {', '.join(CONTEXT_FILES)}",
        )
    return name


def _require(unit: AgentUnit, agent_id: str) -> Agent:
    agent = unit.agents.get(agent_id)
    if agent is None:
        raise NotFound("agent_not_found", domain="agents", detail=f"no agent {agent_id!r}")
    return agent


def _with(agent: Agent, fields: AgentFields) -> Agent:
    limit = fields.max_tool_iterations
    if limit is not None and not 1 <= limit <= MAX_TOOL_ITERATIONS:
        raise Invalid(
            "invalid_max_tool_iterations",
            domain="agents",
            pointer="/max_tool_iterations",
            detail=f"max_tool_iterations must be 1 to {MAX_TOOL_ITERATIONS}",
        )
    # Only what is given is checked: a malformed value that is stored must not block its own repair.
    check_other_config(fields.other_config or {})
    permissions = agent.permissions
    if fields.permissions is not None:
        rules = read_document(fields.permissions, pointer="/permissions")
        # Without rules it is left as it was sent, or showing and putting back would be a change.
        permissions = write_document(rules) if rules else fields.permissions
    other_config = {**agent.other_config, **(fields.other_config or {})}
    return replace(
        agent,
        display_name=fields.display_name or agent.display_name,
        agent_type=fields.agent_type or agent.agent_type,
        route=agent.route if fields.route is None else (fields.route or None),
        max_tool_iterations=limit or agent.max_tool_iterations or DEFAULT_MAX_TOOL_ITERATIONS,
        other_config=other_config,
        permissions=permissions,
    )
