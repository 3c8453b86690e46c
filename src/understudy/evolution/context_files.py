"""Context files as the tools of a run see them: read, change, or only propose."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final, TypeAlias

from understudy.agents.file_versions import (
    PER_USER,
    WRITE_FILE,
    NewVersion,
    keep_version,
    number_of,
    stored_version,
)
from understudy.agents.model import (
    BOOTSTRAP,
    CONTEXT_FILES,
    IDENTITY,
    SOUL,
    Agent,
    ContextFile,
    FileAccess,
    RunAccess,
)
from understudy.agents.switches import resolve, soul_locks
from understudy.core.clock import Clock
from understudy.core.errors import (
    Conflict,
    DamagedRecord,
    Unavailable,
    UnderstudyError,
    coded_error,
)
from understudy.core.principal import Principal, Role
from understudy.evolution.acts import asks_to_write
from understudy.evolution.consent import own_words
from understudy.evolution.file_checks import FileChecks
from understudy.evolution.names import MAX_PATH_CHARS, locked_name
from understudy.evolution.proposals import FileProposal, ProposedFile, draft_of, propose, supersede
from understudy.evolution.run_settings import settings_in, soul_at_start
from understudy.runs.model import require_run
from understudy.runs.taint import untrusted_path
from understudy.sessions.model import require_session
from understudy.sessions.refusal_audit import RefusedChange, record_refusal
from understudy.tools.base import OwnWords, ToolContext, ToolError

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

# Attempts at a change when another writer was faster.
TRIES: Final = 4
READ_OTHERS: Final = "this run has read text of others"
UNCHANGED: Final = "nothing changed: {name} is like that already"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """A context file that a run reads or changes, with its agent."""

    unit: "Unit"
    agent: Agent
    name: str
    context: ToolContext
    # The user whose copy is changed; None: the agent's own file.
    owner: str | None
    # The newest version of the file or copy.
    stored: ContextFile | None

    @property
    def principal(self) -> Principal:
        return Principal(user_id=self.context.user_id, role=Role.OPERATOR)

    @property
    def text(self) -> str | None:
        """The text that counts for the user of the run; an empty copy hides the agent's own file."""
        if self.owner is not None and self.stored is None:
            return _content(self.unit.agents.file(self.agent.agent_id, self.name))
        return _content(self.stored)

    @property
    def untrusted(self) -> tuple[str, ...]:
        """The untrusted sources that the run has read so far."""
        return untrusted_path(self.unit, require_run(self.unit, self.context.run_id))

    @property
    def is_asked_for(self) -> bool:
        """Whether the user asked in their own words that this file be written."""
        run = require_run(self.unit, self.context.run_id)
        words = own_words(run, require_session(self.unit, run.session_id))
        return words is not None and asks_to_write(words, self.name)

    def version(self, content: str) -> NewVersion:
        return NewVersion(
            untrusted_sources=self.untrusted,
            agent_id=self.agent.agent_id,
            user_id=self.owner,
            name=self.name,
            content=content,
            run_id=self.context.run_id,
            made_from=number_of(self.stored),
        )


# Makes the new text from the old one; raises `ToolError` when it cannot.
Change: TypeAlias = Callable[[str], str]
# The same; None where there is no old text.
_Make: TypeAlias = Callable[[str | None], str]


@dataclass(frozen=True, slots=True)
class AgentContextFiles:
    """The context files of agents and users, which are stored only in the database."""

    units: "Units"
    clock: Clock
    checks: FileChecks = field(default_factory=FileChecks)
    # Calls of one reply run in parallel; each must see the changes of the others.
    _one_at_a_time: Lock = field(default_factory=Lock, init=False, repr=False, compare=False)

    def named(self, path: str, workspace: Path) -> str | None:
        """The context file that a path means, however it is spelled."""
        return locked_name(path, workspace) if len(path) <= MAX_PATH_CHARS else None

    def read(self, name: str, context: ToolContext) -> str | None:
        """The text that counts for the user of the run, or what the run itself has proposed."""
        with _as_tool_errors(), self.units.read() as unit:
            task = _task(unit, name, context)
            text = _seen(task)
            is_read = task.stored is not None and task.stored.derived_from_untrusted
            return text if text is None or is_read or _draft(task) else OwnWords(text)

    def write(self, name: str, content: str, context: ToolContext) -> str:
        """Replace the text, where that is allowed."""
        return self._change(name, lambda _: content, context)

    def edit(self, name: str, change: Change, context: ToolContext) -> str:
        """Edit the existing text, where that is allowed."""

        def make(text: str | None) -> str:
            if text is None:
                raise ToolError(f"{name!r}: does not exist", code="not_found")
            return change(text)

        return self._change(name, make, context)

    def _change(self, name: str, make: _Make, context: ToolContext) -> str:
        with _as_tool_errors(), self._one_at_a_time:
            try:
                return self._insist(name, make, context)
            except (ToolError, Unavailable):
                # Not a refusal.
                raise
            except UnderstudyError as problem:
                self._note_refusal(name, context, problem)
                raise

    def _insist(self, name: str, make: _Make, context: ToolContext) -> str:
        """Change the file, and retry from the newest text after a conflict."""
        for _ in range(TRIES - 1):
            try:
                return self._once(name, make, context)
            except Conflict as problem:
                if problem.code != "agent_file_conflict":
                    raise
        return self._once(name, make, context)

    def _once(self, name: str, make: _Make, context: ToolContext) -> str:
        with self.units.write() as unit:
            task = _task(unit, name, context)
            return _way(task)(self, task, make)

    def _note_refusal(self, name: str, context: ToolContext, problem: UnderstudyError) -> None:
        principal = Principal(user_id=context.user_id, role=Role.OPERATOR)
        change = RefusedChange(
            principal=principal,
            action=WRITE_FILE,
            ref=f"{context.agent_id}/{name}",
            error=problem,
            run_id=context.run_id,
        )
        record_refusal(self.units, self.clock, change)

    def locked(self, task: _Task, make: _Make) -> str:
        """Refuse: only people change this file."""
        raise coded_error("evolution/file_locked", name=task.name)

    def own_copy(self, task: _Task, make: _Make) -> str:
        """Change the user's own copy, which overrides the agent's file."""
        content = make(_seen(task))
        if content or task.name == SOUL:
            self.checks.copy_by_agent(task.name, content)
        return self._written(task, content)

    def soul(self, task: _Task, make: _Make) -> str:
        """Change SOUL.md for all users: with the switch, unless frozen; under review as a proposal."""
        reports = task.unit.runs.reports(task.context.run_id)
        locks = soul_locks(task.agent)
        if not settings_in(reports).switches.self_evolve:
            raise coded_error("evolution/soul_locked")
        if locks.frozen:
            raise coded_error("evolution/soul_locked:frozen")
        content = make(_seen(task))
        identity = task.unit.agents.file(task.agent.agent_id, IDENTITY)
        self.checks.soul_by_agent(
            content,
            current=task.text,
            at_start=soul_at_start(task.unit, task.context.run_id),
            identity=_content(identity),
            agent_name=task.agent.display_name,
        )
        return self._proposed(task, content) if locks.review else self._written(task, content)

    def removal(self, task: _Task, make: _Make) -> str:
        """Empty the file for all users; any other change is refused."""
        if make(task.text).strip():
            raise coded_error("evolution/file_locked:only_emptied", name=task.name)
        return UNCHANGED.format(name=task.name) if task.text is None else self._written(task, "")

    def _written(self, task: _Task, content: str) -> str:
        """Keep a change, or only propose it: text of others needs the user's word or a person."""
        if task.untrusted and not task.is_asked_for:
            return self._proposed(task, content)
        return self._keep(task, content)

    def _keep(self, task: _Task, content: str) -> str:
        had_text = task.text is not None
        kept = keep_version(task.unit, self.clock, task.principal, task.version(content))
        if kept == task.stored or not (had_text or content):
            return UNCHANGED.format(name=task.name)
        if not content:
            return f"removed {task.name}. That counts from your next turn on."
        verb = "replaced" if had_text else "created"
        return f"{verb} {task.name} ({kept.size} bytes). It counts from your next turn on."

    def _proposed(self, task: _Task, content: str) -> str:
        if content == task.text:
            draft = _draft(task)
            if draft is not None:
                supersede(task.unit, draft, at_ms=self.clock.now_ms())
            return UNCHANGED.format(name=task.name)
        proposed = ProposedFile(
            agent_id=task.agent.agent_id,
            name=task.name,
            content=content,
            base_version=number_of(task.stored),
            run_id=task.context.run_id,
            user_id=task.owner,
            untrusted_sources=task.untrusted,
        )
        proposal = propose(task.unit, self.clock, task.principal, proposed)
        why = READ_OTHERS if task.untrusted else "changes of {name} are reviewed"
        return (
            f"proposed as {proposal.proposal_id}: {why.format(name=task.name)}, so it stays "
            "as it is until a person has decided. There is nothing more to do for it."
        )


_Way: TypeAlias = Callable[[AgentContextFiles, _Task, _Make], str]
# How a change to a shared file is made; files that are not here are locked.
SHARED: Final[Mapping[str, _Way]] = {
    SOUL: AgentContextFiles.soul,
    BOOTSTRAP: AgentContextFiles.removal,
}


def file_access(agent: Agent) -> tuple[FileAccess, ...]:
    """What the next run of an agent may do with each of its context files."""
    return tuple(FileAccess(name=name, runs_may=_access(agent, name)) for name in CONTEXT_FILES)


def _access(agent: Agent, name: str) -> RunAccess:
    if name in PER_USER[agent.agent_type]:
        return RunAccess.OWN_COPY
    if name == SOUL:
        return _soul_access(agent)
    return RunAccess.EMPTY if name in SHARED else RunAccess.LOCKED


def _soul_access(agent: Agent) -> RunAccess:
    if not resolve(agent).self_evolve:
        return RunAccess.SWITCHED_OFF
    locks = soul_locks(agent)
    if locks.frozen:
        return RunAccess.FROZEN
    return RunAccess.PROPOSE if locks.review else RunAccess.WRITE


def _way(task: _Task) -> _Way:
    if task.owner is not None:
        return AgentContextFiles.own_copy
    return SHARED.get(task.name, AgentContextFiles.locked)


def _task(unit: "Unit", name: str, context: ToolContext) -> _Task:
    """The file with its agent; refused where the agent or user is unknown."""
    try:
        agent = unit.agents.get(context.agent_id)
    except DamagedRecord:
        agent = None
    if agent is None or not context.user_id.strip():
        raise coded_error("evolution/file_locked:unknown_agent", name=name)
    owner = context.user_id if name in PER_USER[agent.agent_type] else None
    stored = stored_version(unit, agent.agent_id, owner, name)
    return _Task(unit=unit, agent=agent, name=name, context=context, owner=owner, stored=stored)


def _seen(task: _Task) -> str | None:
    """The text that the run sees: its own pending proposal, or the file."""
    draft = _draft(task)
    return task.text if draft is None else draft.content


def _draft(task: _Task) -> FileProposal | None:
    return draft_of(
        task.unit, task.agent.agent_id, task.name, task.context.run_id, user_id=task.owner
    )


def _content(file: ContextFile | None) -> str | None:
    return file.content if file is not None and file.content else None


@contextmanager
def _as_tool_errors() -> Iterator[None]:
    """Turn errors into tool errors for the model."""
    try:
        yield
    except ToolError:
        raise
    except UnderstudyError as problem:
        raise ToolError(problem.detail, code=problem.code) from problem
