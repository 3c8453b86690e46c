"""Versions of context files, of an agent or of a user's copy, and which are in force."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from understudy.agents.model import (
    CONTEXT_FILES,
    MAX_CONTEXT_FILE_BYTES,
    Agent,
    AgentType,
    ContextFile,
)
from understudy.core import audit
from understudy.core.audit import AuditEntry
from understudy.core.clock import Clock
from understudy.core.errors import Invalid, coded_error
from understudy.core.principal import Principal

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

WRITE_FILE = "agents.write_file"
ACCEPT_FILE: Final = "agents.accept_file"
# The file whose content rules apply to reasons, too.
SOUL: Final = "SOUL.md"
# Retries when others write the same file concurrently.
MOST_TRIES: Final = 100
# The files that a user may have a copy of, by agent type; the others are shared.
PER_USER: Final[Mapping[AgentType, frozenset[str]]] = {
    AgentType.OPEN: frozenset(CONTEXT_FILES),
    AgentType.PREDEFINED: frozenset({"USER.md", "HEARTBEAT.md"}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownVersion:
    """A version of a file with the previous one, if any."""

    file: ContextFile
    before: ContextFile | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewVersion:
    """The new content of a file, or of a user's copy of it."""

    agent_id: str
    name: str
    content: str
    user_id: str | None = None
    run_id: str | None = None
    # The author, where another person puts the text in force.
    author: str | None = None
    reviewed_by: str | None = None
    untrusted_sources: tuple[str, ...] = ()
    # The version it is based on, 0 for none; a different current version is a conflict.
    made_from: int | None = None
    reason: str | None = None

    @property
    def resource_id(self) -> str:
        """The resource id of the file in the audit."""
        return "/".join(part for part in (self.agent_id, self.user_id, self.name) if part)


def keep_version(
    unit: "Unit", clock: Clock, principal: Principal, wanted: NewVersion
) -> ContextFile:
    """Store new content as the next version; unchanged content makes none.

    What an agent wrote becomes a person's when a person writes the same.
    """
    for _ in range(MOST_TRIES):
        current = stored_version(unit, wanted.agent_id, wanted.user_id, wanted.name)
        if wanted.made_from not in (None, number_of(current)):
            raise coded_error("agents/agent_file_conflict", name=wanted.name)
        if current is not None and current.content == wanted.content:
            is_by_person = wanted.run_id is None or wanted.reviewed_by is not None
            return accept_version(unit, clock, principal, current) if is_by_person else current
        file = _next(wanted, number_of(current) + 1, principal, clock)
        store = unit.agents if file.user_id is None else unit.user_files
        # Another writer may have taken this number; without `made_from` the next one is tried.
        if store.add_file(file):
            unit.audit.add(_noted(principal, wanted, file))
            return file
    raise coded_error("agents/agent_file_conflict", name=wanted.name)


def accept_version(
    unit: "Unit", clock: Clock, principal: Principal, file: ContextFile
) -> ContextFile:
    """Make the text of an agent that of a person, who has read it; any other stays as it is."""
    if not file.is_by_agent:
        return file
    accepted = replace(file, reviewed_by=principal.actor, untrusted_sources=())
    unit.agents.accept_file(accepted)
    resource_id = "/".join(part for part in (file.agent_id, file.user_id, file.name) if part)
    now = clock.now_ms()
    unit.audit.add(audit.done(principal, ACCEPT_FILE, resource_id, at_ms=now, version=file.version))
    return accepted


def accept_in_force(
    unit: "Unit",
    clock: Clock,
    principal: Principal,
    file: ContextFile | None,
    name: str,
    *,
    version: int | None,
) -> ContextFile:
    """The same for the version in force; a conflict if it is not the one that the person has read."""
    current = in_force(file, check_file_name(name))
    if version not in (None, current.version):
        raise coded_error("agents/agent_file_conflict", name=name)
    return accept_version(unit, clock, principal, current)


def text_of_people(unit: "Unit", file: ContextFile) -> str:
    """What people wrote of the file before this version; for a copy without that, of the agent's own."""
    found = unit.agents.of_people_before(file)
    if found is None and file.user_id is not None:
        shared = unit.agents.file(file.agent_id, file.name)
        found = unit.agents.of_people_before(shared) if shared and shared.is_by_agent else shared
    return "" if found is None else found.content


def _next(wanted: NewVersion, number: int, principal: Principal, clock: Clock) -> ContextFile:
    return ContextFile(
        agent_id=wanted.agent_id,
        user_id=wanted.user_id,
        name=wanted.name,
        version=number,
        content=wanted.content,
        actor=wanted.author or principal.actor,
        run_id=wanted.run_id,
        created_at_ms=clock.now_ms(),
        reviewed_by=wanted.reviewed_by,
        untrusted_sources=wanted.untrusted_sources,
        reason=wanted.reason,
    )


def _noted(principal: Principal, wanted: NewVersion, file: ContextFile) -> AuditEntry:
    return audit.done(
        principal,
        WRITE_FILE,
        wanted.resource_id,
        at_ms=file.created_at_ms,
        version=file.version,
        reason=file.reason if file.run_id is None else f"in {file.run_id}",
    )


def number_of(file: ContextFile | None) -> int:
    """The number of a version; 0 where there is none."""
    return 0 if file is None else file.version


def stored_version(
    unit: "Unit", agent_id: str, user_id: str | None, name: str, version: int | None = None
) -> ContextFile | None:
    """A version of a file, the newest when none is named."""
    if user_id is None:
        return unit.agents.file(agent_id, name, version=version)
    return unit.user_files.file(agent_id, user_id, name, version=version)


def require_version(
    unit: "Unit", agent_id: str, user_id: str | None, name: str, version: int
) -> ContextFile:
    """A version, or `NotFound`."""
    found = stored_version(unit, agent_id, user_id, name, version)
    if found is None:
        raise coded_error("agents/agent_file_version_not_found", name=name, version=version)
    return found


def shown_version(
    unit: "Unit", agent_id: str, user_id: str | None, name: str, version: int
) -> ShownVersion:
    """A version with the previous one, or `NotFound`."""
    file = require_version(unit, agent_id, user_id, name, version)
    before = stored_version(unit, agent_id, user_id, name, version - 1)
    return ShownVersion(file=file, before=before)


def check_restorable(file: ContextFile, check_content: Callable[[str, str], None]) -> None:
    """Refuse to restore content that may not be written today, or that was a deletion."""
    try:
        check_content(file.name, file.content)
    except Invalid as problem:
        detail = f"version {file.version} cannot come back: {problem.detail}"
        raise problem.moved(lambda _: "/version", detail=detail) from None
    if file.deleted:
        raise coded_error("agents/agent_file_version_deleted", version=file.version, name=file.name)


def checked_reason(reason: str | None, check_content: Callable[[str, str], None]) -> str | None:
    """The trimmed reason, None for an empty one; refuses secrets."""
    given = (reason or "").strip()
    if not given:
        return None
    try:
        check_content(SOUL, given)
    except Invalid as problem:
        raise problem.moved(lambda _: "/reason") from None
    return given


def restoring(version: int) -> str:
    """The reason of a version that restores an earlier one."""
    return f"version {version} was restored"


def in_force(file: ContextFile | None, name: str) -> ContextFile:
    """The file unless it is empty, or `NotFound`."""
    if file is None or not file.content:
        raise coded_error("agents/agent_file_not_found", name=name)
    return file


def check_file_name(name: str) -> str:
    """Check the name of a context file, which is case-sensitive."""
    if name not in CONTEXT_FILES:
        raise coded_error("agents/agent_file_unknown", pointer="/name", context_files=CONTEXT_FILES)
    return name


def check_size(name: str, content: str) -> None:
    """Refuse content above the size limit of context files."""
    if len(content.encode()) > MAX_CONTEXT_FILE_BYTES:
        raise coded_error(
            "agents/agent_file_too_large", name=name, max_context_file_bytes=MAX_CONTEXT_FILE_BYTES
        )


def files_in_force(unit: "Unit", agent: Agent | None, user_id: str) -> tuple[ContextFile, ...]:
    """The files in force for a user, by name; none for an unknown agent.

    An empty copy hides the agent's own file: the user has deleted it.
    """
    if agent is None:
        return ()
    shown = {file.name: file for file in unit.agents.files(agent.agent_id)}
    if user_id:
        copies = unit.user_files.files(agent.agent_id, user_id)
        own = PER_USER[agent.agent_type]
        shown |= {copy.name: copy for copy in copies if copy.name in own}
    return tuple(shown[name] for name in sorted(shown) if shown[name].content)
