"""The memory context of a session on the wire."""

from dataclasses import dataclass

from understudy.core.records import Omitted, ScopeLists
from understudy.learnings.model import Applies, Kind
from understudy.runs.model import RunStatus
from understudy.sessions.learning_scopes import LearningScope
from understudy.wire.skills import OfferedSkill


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedEntry:
    """A learning as the prompt tells of it."""

    learning_id: str
    kind: Kind
    applies: Applies
    published_at_ms: int
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedContext:
    """The learnings that the next prompt would tell of: those of every task, then best first."""

    entries: tuple[LearnedEntry, ...]
    # Whether there were more than a prompt may tell of.
    truncated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveredEntry:
    """A run of the past as the prompt tells of it."""

    run_id: str
    recorded_at_ms: int
    status: RunStatus
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveredMemory:
    """The runs that the next prompt would tell of, best first."""

    entries: tuple[RecoveredEntry, ...]
    # Whether there were more than the policy lets through.
    truncated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryContextView:
    """What the next run of a session would be given to remember."""

    session_id: str
    effective_capability_scope: Omitted[ScopeLists] = None
    learning_scopes: tuple[LearningScope, ...]
    learned_context: Omitted[LearnedContext] = None
    recovered_memory: Omitted[RecoveredMemory] = None
    # The first of them by name, and how many there are.
    visible_skills: tuple[OfferedSkill, ...]
    visible_skill_count: int
