"""The memory context of a session on the wire."""

from dataclasses import dataclass

from understudy.core.records import Omitted, ScopeLists
from understudy.learnings.model import Applies, Kind
from understudy.runs.model import RunStatus
from understudy.sessions.learning_scopes import LearningScope
from understudy.wire.skills import OfferedSkill


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedEntry:
    """A learning as it is injected into the prompt."""

    learning_id: str
    kind: Kind
    applies: Applies
    published_at_ms: int
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedContext:
    """The learnings that the next prompt would have injected: standing ones, then best first."""

    entries: tuple[LearnedEntry, ...]
    # Whether there were more than the limit of a prompt.
    truncated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveredEntry:
    """A run memory as it is injected into the prompt."""

    run_id: str
    recorded_at_ms: int
    status: RunStatus
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveredMemory:
    """The run memories that the next prompt would have injected, best first."""

    entries: tuple[RecoveredEntry, ...]
    # Whether there were more than the policy's limit.
    truncated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryContextView:
    """The memory that the next run of a session would have injected."""

    session_id: str
    effective_capability_scope: Omitted[ScopeLists] = None
    learning_scopes: tuple[LearningScope, ...]
    learned_context: Omitted[LearnedContext] = None
    recovered_memory: Omitted[RecoveredMemory] = None
    # The first skills by name, and the number of all.
    visible_skills: tuple[OfferedSkill, ...]
    visible_skill_count: int
