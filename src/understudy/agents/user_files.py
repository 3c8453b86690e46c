"""Use cases of users' copies of context files."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from understudy.agents.file_versions import (
    PER_USER,
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
from understudy.agents.model import Agent, ContextFile, require_agent
from understudy.core.clock import Clock
from understudy.core.errors import coded_error
from understudy.core.ids import check_caller_id
from understudy.core.page import Page, PageRequest
from understudy.core.principal import Principal, Role

if TYPE_CHECKING:
    from understudy.storage.unit import Units


@dataclass(frozen=True, slots=True)
class UserFileService:
    """Read and change users' copies; each is for its user and for admins."""

    units: "Units"
    clock: Clock
    # Refuses forbidden content of a file.
    check_content: Callable[[str, str], None] = lambda _, __: None

    def files(self, principal: Principal, agent_id: str, user_id: str) -> tuple[ContextFile, ...]:
        """A user's copies that have content."""
        _check_owner(principal, user_id)
        with self.units.read() as unit:
            require_agent(unit, agent_id)
            return tuple(file for file in unit.user_files.files(agent_id, user_id) if file.content)

    def file(self, principal: Principal, agent_id: str, user_id: str, name: str) -> ContextFile:
        """The copy in force, or `NotFound`."""
        _check_owner(principal, user_id)
        with self.units.read() as unit:
            require_agent(unit, agent_id)
            stored = unit.user_files.file(agent_id, user_id, check_file_name(name))
        return in_force(stored, name)

    def versions(
        self, principal: Principal, agent_id: str, user_id: str, name: str, request: PageRequest
    ) -> Page[ContextFile]:
        """Versions of one copy, newest first."""
        _check_owner(principal, user_id)
        with self.units.read() as unit:
            require_agent(unit, agent_id)
            return unit.user_files.file_versions(agent_id, user_id, check_file_name(name), request)

    def version(
        self, principal: Principal, agent_id: str, user_id: str, name: str, version: int
    ) -> ShownVersion:
        """One version of a copy, with the one before it."""
        _check_owner(principal, user_id)
        with self.units.read() as unit:
            require_agent(unit, agent_id)
            return shown_version(unit, agent_id, user_id, check_file_name(name), version)

    def write(
        self,
        principal: Principal,
        agent_id: str,
        user_id: str,
        name: str,
        content: str,
        *,
        made_from: int | None = None,
        reason: str | None = None,
    ) -> ContextFile:
        """Store new content as the next version of a user's copy.

        It is a conflict if the version in force is not `made_from` (0 for none).
        """
        _check_owner(principal, user_id)
        check_size(check_file_name(name), content)
        self.check_content(name, content)
        with self.units.write() as unit:
            _check_copied(require_agent(unit, agent_id), name)
            wanted = NewVersion(
                agent_id=agent_id,
                user_id=user_id,
                name=name,
                content=content,
                made_from=made_from,
                reason=checked_reason(reason, self.check_content),
            )
            return keep_version(unit, self.clock, principal, wanted)

    def delete(self, principal: Principal, agent_id: str, user_id: str, name: str) -> None:
        """Empty a copy, which also hides the agent's own file; its versions stay."""
        _check_owner(principal, user_id)
        with self.units.write() as unit:
            require_agent(unit, agent_id)
            in_force(unit.user_files.file(agent_id, user_id, check_file_name(name)), name)
            wanted = NewVersion(agent_id=agent_id, user_id=user_id, name=name, content="")
            keep_version(unit, self.clock, principal, wanted)

    def restore(
        self, principal: Principal, agent_id: str, user_id: str, name: str, version: int
    ) -> ContextFile:
        """Restore the content of an earlier version, as a new version."""
        _check_owner(principal, user_id)
        with self.units.write() as unit:
            require_agent(unit, agent_id)
            earlier = require_version(unit, agent_id, user_id, check_file_name(name), version)
            check_restorable(earlier, self.check_content)
            wanted = NewVersion(
                agent_id=agent_id,
                user_id=user_id,
                name=name,
                content=earlier.content,
                reason=restoring(version),
            )
            return keep_version(unit, self.clock, principal, wanted)

    def accept(
        self,
        principal: Principal,
        agent_id: str,
        user_id: str,
        name: str,
        *,
        version: int | None = None,
    ) -> ContextFile:
        """Make what an agent wrote into the copy in force a person's."""
        _check_owner(principal, user_id)
        with self.units.write() as unit:
            require_agent(unit, agent_id)
            stored = unit.user_files.file(agent_id, user_id, name)
            return accept_in_force(unit, self.clock, principal, stored, name, version=version)


def _check_owner(principal: Principal, user_id: str) -> None:
    check_caller_id(user_id, field="user_id", domain="agents")
    if user_id != principal.user_id and not principal.role.includes(Role.ADMIN):
        raise coded_error("agents/agent_file_not_yours")


def _check_copied(agent: Agent, name: str) -> None:
    if name not in PER_USER[agent.agent_type]:
        raise coded_error("agents/agent_file_shared", name=name, agent_type=agent.agent_type)
