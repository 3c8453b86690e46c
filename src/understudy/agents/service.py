"""Use cases of agents and their context files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any

from understudy.agents.built_in import BUILT_IN
from understudy.agents.file_versions import (
    NewVersion,
    ShownVersion,
    accept_in_force,
    check_file_name,
    check_restorable,
    check_size,
    checked_reason,
    in_force,
    keep_version,
    require_version,
    restoring,
    shown_version,
)
from understudy.agents.model import (
    DEFAULT_MAX_TOOL_ITERATIONS,
    MAX_TOOL_ITERATIONS,
    Agent,
    AgentType,
    ContextFile,
    require_agent,
)
from understudy.agents.ownership import check_for_admins, require_owned
from understudy.agents.switches import check_other_config
from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import coded_error
from understudy.core.ids import check_caller_id
from understudy.core.page import Page, PageRequest
from understudy.core.principal import DAEMON, Principal, Role
from understudy.permissions.rules import read_document, write_document

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFields:
    """The fields of an agent that a caller sets; None keeps the stored value or the default."""

    display_name: str | None = None
    agent_type: AgentType | None = None
    route: str | None = None
    max_tool_iterations: int | None = None
    other_config: Mapping[str, Any] | None = None
    # Whether `other_config` is cleared first, back to the defaults.
    clear_other_config: bool = False
    permissions: Mapping[str, Any] | None = None
    owner_id: str | None = None


@dataclass(frozen=True, slots=True)
class AgentService:
    """Create, read and change agents and their files."""

    units: "Units"
    clock: Clock
    _: KW_ONLY
    route_exists: Callable[[str], bool] = lambda _: True
    # Called in the transaction that deletes an agent.
    deleted: Sequence[Callable[[Any, Principal, str], None]] = ()
    # Refuses forbidden content of a file.
    check_content: Callable[[str, str], None] = lambda _, __: None

    def ensure_built_in(self) -> None:
        """Create missing built-in agents and their files; existing ones are not changed."""
        now = self.clock.now_ms()
        with self.units.write() as unit:
            for agent_id, built_in in BUILT_IN.items():
                if unit.agents.add(built_in.made(agent_id, at_ms=now)):
                    unit.audit.add(audit.done(DAEMON, "agents.create", agent_id, at_ms=now))
                agent = unit.agents.get(agent_id)
                if built_in.instructions and agent is not None and agent.owner_id is None:
                    # Added once: a file that was changed or emptied since has this version already.
                    unit.agents.add_file(built_in.first_file(agent_id, at_ms=now))

    def create(self, principal: Principal, agent_id: str, fields: AgentFields) -> Agent:
        """Create an agent, owned by its creator unless another is named; a taken id conflicts."""
        check_caller_id(agent_id, field="agent_id", domain="agents")
        self._check_route(fields)
        fresh = self._fresh(agent_id, fields.agent_type or AgentType.OPEN)
        agent = _with(replace(fresh, owner_id=principal.user_id), fields)
        with self.units.write() as unit:
            if not unit.agents.add(agent):
                raise coded_error("agents/agent_already_exists", agent_id=agent_id)
            self._audit(unit, principal, "agents.create", agent)
        return agent

    def get(self, agent_id: str) -> Agent:
        """One agent, or `NotFound`."""
        with self.units.read() as unit:
            return require_agent(unit, agent_id)

    def page(self, request: PageRequest) -> Page[Agent]:
        """Agents by id."""
        with self.units.read() as unit:
            return unit.agents.page(request)

    def update(self, principal: Principal, agent_id: str, fields: AgentFields) -> Agent:
        """Merge the given fields into the agent; a route that it has may be gone from the settings."""
        with self.units.write() as unit:
            stored = require_owned(unit, principal, agent_id)
            if fields.route != stored.route:
                self._check_route(fields)
            changed = _with(stored, fields)
            if changed == stored:
                return stored
            check_for_admins(principal, stored, changed)
            changed = replace(
                changed, version=stored.version + 1, updated_at_ms=self.clock.now_ms()
            )
            unit.agents.update(changed, expected_version=stored.version)
            self._audit(unit, principal, "agents.update", changed)
            return changed

    def delete(self, principal: Principal, agent_id: str) -> None:
        """Delete an agent that no session uses; the built-in ones stay."""
        with self.units.write() as unit:
            agent = require_agent(unit, agent_id)
            if agent_id in BUILT_IN or unit.agents.in_use(agent_id):
                raise coded_error("agents/agent_in_use")
            for hear in self.deleted:
                hear(unit, principal, agent_id)
            unit.agents.delete(agent_id)
            self._audit(unit, principal, "agents.delete", agent)

    def files(self, agent_id: str) -> tuple[ContextFile, ...]:
        """The files of an agent that have content."""
        with self.units.read() as unit:
            require_agent(unit, agent_id)
            return tuple(file for file in unit.agents.files(agent_id) if file.content)

    def file(self, agent_id: str, name: str) -> ContextFile:
        """The file in force, or `NotFound`."""
        with self.units.read() as unit:
            require_agent(unit, agent_id)
            stored = unit.agents.file(agent_id, check_file_name(name))
        return in_force(stored, name)

    def file_versions(self, agent_id: str, name: str, request: PageRequest) -> Page[ContextFile]:
        """Versions of one file, newest first."""
        with self.units.read() as unit:
            require_agent(unit, agent_id)
            return unit.agents.file_versions(agent_id, check_file_name(name), request)

    def file_version(self, agent_id: str, name: str, version: int) -> ShownVersion:
        """One version of a file, with the one before it."""
        with self.units.read() as unit:
            require_agent(unit, agent_id)
            return shown_version(unit, agent_id, None, check_file_name(name), version)

    def write_file(
        self,
        principal: Principal,
        agent_id: str,
        name: str,
        content: str,
        *,
        made_from: int | None = None,
        reason: str | None = None,
    ) -> ContextFile:
        """Store new content as the next version; unchanged content makes none.

        It is a conflict if the version in force is not `made_from` (0 for none).
        """
        self._check_file(name, content)
        wanted = NewVersion(
            agent_id=agent_id,
            name=name,
            content=content,
            made_from=made_from,
            reason=checked_reason(reason, self.check_content),
        )
        with self.units.write() as unit:
            require_owned(unit, principal, agent_id)
            return keep_version(unit, self.clock, principal, wanted)

    def write_file_for_all(
        self, principal: Principal, agent_id: str, name: str, content: str
    ) -> tuple[ContextFile, int]:
        """Write a file, also into users' copies; returns it and how many copies changed.

        Copies belong to their users, so only admins may do that.
        """
        principal.require(Role.ADMIN)
        self._check_file(name, content)
        wanted = NewVersion(agent_id=agent_id, name=name, content=content)
        with self.units.write() as unit:
            require_agent(unit, agent_id)
            file = keep_version(unit, self.clock, principal, wanted)
            changed = 0
            for user_id in unit.user_files.users(agent_id, name):
                before = unit.user_files.file(agent_id, user_id, name)
                after = keep_version(unit, self.clock, principal, replace(wanted, user_id=user_id))
                changed += before != after
            return file, changed

    def delete_file(self, principal: Principal, agent_id: str, name: str) -> None:
        """Delete a file by an empty version; its versions stay."""
        wanted = NewVersion(agent_id=agent_id, name=check_file_name(name), content="")
        with self.units.write() as unit:
            require_owned(unit, principal, agent_id)
            in_force(unit.agents.file(agent_id, name), name)
            keep_version(unit, self.clock, principal, wanted)

    def restore_file(
        self, principal: Principal, agent_id: str, name: str, version: int
    ) -> ContextFile:
        """Restore the content of an earlier version, as a new version."""
        check_file_name(name)
        with self.units.write() as unit:
            require_owned(unit, principal, agent_id)
            earlier = require_version(unit, agent_id, None, name, version)
            check_restorable(earlier, self.check_content)
            wanted = NewVersion(
                agent_id=agent_id, name=name, content=earlier.content, reason=restoring(version)
            )
            return keep_version(unit, self.clock, principal, wanted)

    def accept_file(
        self, principal: Principal, agent_id: str, name: str, *, version: int | None = None
    ) -> ContextFile:
        """Make what an agent wrote into the version in force a person's."""
        with self.units.write() as unit:
            require_owned(unit, principal, agent_id)
            stored = unit.agents.file(agent_id, name)
            return accept_in_force(unit, self.clock, principal, stored, name, version=version)

    def _check_file(self, name: str, content: str) -> None:
        check_file_name(name)
        check_size(name, content)
        self.check_content(name, content)

    def _check_route(self, fields: AgentFields) -> None:
        if fields.route and not self.route_exists(fields.route):
            raise coded_error(
                "routes/route_not_found:in_body", pointer="/route", route_id=fields.route
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

    def _audit(self, unit: "Unit", principal: Principal, action: str, to: Agent) -> None:
        now = self.clock.now_ms()
        unit.audit.add(audit.done(principal, action, to.agent_id, at_ms=now, version=to.version))


def _with(agent: Agent, fields: AgentFields) -> Agent:
    limit = fields.max_tool_iterations
    if limit is not None and not 1 <= limit <= MAX_TOOL_ITERATIONS:
        raise coded_error(
            "agents/invalid_max_tool_iterations",
            pointer="/max_tool_iterations",
            max_tool_iterations=MAX_TOOL_ITERATIONS,
        )
    # Only the given values are checked: a malformed stored value must not block its own repair.
    check_other_config(fields.other_config or {})
    permissions = agent.permissions
    if fields.permissions is not None:
        rules = read_document(fields.permissions, pointer="/permissions")
        # Without rules it is stored as sent, or reading and writing it back would be a change.
        permissions = write_document(rules) if rules else fields.permissions
    if fields.owner_id:
        check_caller_id(fields.owner_id, field="owner_id", domain="agents")
    owner_id = agent.owner_id if fields.owner_id is None else (fields.owner_id or None)
    kept = {} if fields.clear_other_config else agent.other_config
    other_config = {**kept, **(fields.other_config or {})}
    return replace(
        agent,
        display_name=fields.display_name or agent.display_name,
        agent_type=fields.agent_type or agent.agent_type,
        route=agent.route if fields.route is None else (fields.route or None),
        max_tool_iterations=limit or agent.max_tool_iterations or DEFAULT_MAX_TOOL_ITERATIONS,
        other_config=other_config,
        permissions=permissions,
        owner_id=owner_id,
    )
