"""Reach: the sessions in which a learning of a scope is told, in words, and whether anybody uses them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from understudy.core.clock import DAY_MS
from understudy.core.errors import DamagedRecord
from understudy.core.records import Omitted
from understudy.learnings.model import (
    SEMANTIC_KINDS,
    Candidate,
    Kind,
    Learning,
    Sensitivity,
    Tier,
)
from understudy.sessions.learning_scopes import (
    WORKSPACE,
    LearningScope,
    ScopeKind,
    visible_scopes,
)
from understudy.sessions.model import Session, SessionStatus

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# A session without a run for so long is one that nobody returns to.
IDLE_DAYS: Final = 7
# The most scopes besides the workspace; a session may belong to many projects.
MAX_OFFERED: Final = 7
_WHERE: Final = {
    ScopeKind.SESSION: "in this session only",
    ScopeKind.PERSONA: "in every session of persona {id}",
    ScopeKind.PROJECT: "in every session of project {id}",
    ScopeKind.WORKSPACE: "in every session of this daemon",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """A scope that something can be published for, and what that means."""

    scope: LearningScope
    # In which sessions it is told.
    words: str
    # Why nobody is told there; None where somebody may be.
    unused: Omitted[str] = None


def reach_words(
    scope: LearningScope,
    *,
    kind: Kind = Kind.FACT,
    sensitivity: Sensitivity = Sensitivity.SCOPED,
    tier: Tier = Tier.ACTIVE,
) -> str:
    """In which sessions a learning is told, or why in none."""
    where = _WHERE[scope.kind].format(id=scope.id)
    if sensitivity is Sensitivity.SENSITIVE:
        return "told nowhere: it is sensitive"
    if kind not in SEMANTIC_KINDS:
        return f"told nowhere: only facts, preferences and decisions are; found {where}"
    if tier is not Tier.ACTIVE:
        return f"told nowhere while it is provisional; found {where}"
    return f"told {where}"


def reach_of(
    unit: "Unit", said: Candidate | Learning, scope: LearningScope, *, now_ms: int
) -> Reach:
    """What it means to publish a statement for a scope."""
    tier = said.publish_tier if isinstance(said, Learning) else Tier.ACTIVE
    words = reach_words(scope, kind=said.kind, sensitivity=said.sensitivity, tier=tier)
    is_told = said.kind in SEMANTIC_KINDS and said.sensitivity is Sensitivity.SCOPED
    unused = _unused(unit, scope, now_ms) if is_told else None
    return Reach(scope=scope, words=words, unused=unused)


def reaches_of(unit: "Unit", candidate: Candidate, *, now_ms: int) -> tuple[Reach, ...]:
    """The scopes that a candidate can be published for: its own first, then narrowest first."""
    session_id = candidate.source.session_id
    if candidate.scope.kind is ScopeKind.SESSION:
        session_id = candidate.scope.id
    session = _session(unit, session_id) if session_id else None
    around = visible_scopes(unit, session) if session else (WORKSPACE,)
    scopes = dict.fromkeys((candidate.scope, *around[:MAX_OFFERED], WORKSPACE))
    return tuple(reach_of(unit, candidate, it, now_ms=now_ms) for it in scopes)


def covers(unit: "Unit", wide: LearningScope, narrow: LearningScope) -> bool:
    """Whether every session that sees the scope `narrow` sees the scope `wide`, too."""
    if wide in (narrow, WORKSPACE):
        return True
    session = _session(unit, narrow.id) if narrow.kind is ScopeKind.SESSION else None
    return session is not None and wide in visible_scopes(unit, session)


def _session(unit: "Unit", session_id: str) -> Session | None:
    try:
        return unit.sessions.get(session_id)
    except DamagedRecord:
        return None


def _unused(unit: "Unit", scope: LearningScope, now_ms: int) -> str | None:
    session = _session(unit, scope.id) if scope.kind is ScopeKind.SESSION else None
    # A session that is not there yet can still be created under its id.
    if session is None:
        return None
    if session.status is SessionStatus.ENDED:
        return "the session has ended"
    last_ms = unit.runs.newest_at_ms(scope.id) or session.created_at_ms
    days = (now_ms - last_ms) // DAY_MS
    return f"nobody has used the session for {days} days" if days >= IDLE_DAYS else None
