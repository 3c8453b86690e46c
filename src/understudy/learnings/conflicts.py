"""Conflicts, contradictions and duplicates: learnings of the same subject or key."""

from collections.abc import Callable, Iterable, Mapping, Set
from itertools import chain
from typing import TYPE_CHECKING, Final, TypeAlias

from understudy.learnings.model import SEMANTIC_KINDS, Candidate, Kind, Learning
from understudy.learnings.relations import StatementRelation, relation
from understudy.learnings.visibility import prompt_visible
from understudy.sessions.learning_scopes import LearningScope, ScopeKind, scopes_of

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

MAX_CONTRADICTIONS: Final = 10
# Maximum learnings of one subject that are read, and maximum sessions of a scope.
MAX_LOOKED_AT: Final = 1000
MAX_SESSIONS: Final = 100
# Minimum share of common words for two statements to be shown as similar.
LEAST_ALIKE: Final = 0.5
MAX_ALIKE_LOOKED_AT: Final = 20
MAX_ALIKE: Final = 3
# A record with content, scope and kind.
Statement: TypeAlias = Candidate | Learning


def has_subject(said: Statement) -> bool:
    """Whether the statement has a subject that another could contradict."""
    return said.kind in SEMANTIC_KINDS and said.subject_key is not None


def conflict_with(
    unit: "Unit", said: Statement, *, now_ms: int, supersedes: str | None = None
) -> Learning | None:
    """A learning of the same scope, kind and subject with another value."""
    kinds = frozenset({said.kind})
    found = _others(unit, said, (said.scope,), kinds, now_ms=now_ms, supersedes=supersedes)
    return found[0] if found else None


def against_automation(unit: "Unit", said: Statement, *, now_ms: int) -> Learning | None:
    """A learning of any kind, same scope and subject, with another value: a person must decide."""
    found = _others(unit, said, (said.scope,), SEMANTIC_KINDS, now_ms=now_ms)
    return found[0] if found else None


def contradictions(
    unit: "Unit", said: Statement, *, now_ms: int, supersedes: str | None = None
) -> tuple[Learning, ...]:
    """Learnings with another value of the subject that a session sees together with this one.

    Of other scopes or kinds, newest first.
    """
    # Resolving visible scopes takes several queries, so statements without a subject skip it.
    if not has_subject(said):
        return ()
    scopes = _RELATED[said.scope.kind](unit, said.scope.id)
    found = _others(unit, said, scopes, SEMANTIC_KINDS, now_ms=now_ms, supersedes=supersedes)
    # The same kind in the same scope is a conflict.
    others = (it for it in found if (it.scope, it.kind) != (said.scope, said.kind))
    return tuple(others)[:MAX_CONTRADICTIONS]


def duplicate_of(unit: "Unit", said: Statement, *, now_ms: int) -> Learning | None:
    """A prompt-visible learning with the same key in the same scope."""
    same = unit.learnings.with_key(said.scope, said.kind, said.semantic_key)
    found = prompt_visible(unit.learnings, same, now_ms=now_ms)
    return found[0] if found else None


def alike(unit: "Unit", said: Statement, *, now_ms: int) -> tuple[Learning, ...]:
    """Prompt-visible learnings in sight of this one that have most of its words, likest first."""
    found = unit.learnings.like(said.content, least=LEAST_ALIKE, limit=MAX_ALIKE_LOOKED_AT)
    scopes = _RELATED[said.scope.kind](unit, said.scope.id)
    near = [it for it in found if scopes is None or it.scope in {*scopes, said.scope}]
    return prompt_visible(unit.learnings, near, now_ms=now_ms)


def _others(
    unit: "Unit",
    said: Statement,
    scopes: Iterable[LearningScope] | None,
    kinds: Set[Kind],
    *,
    now_ms: int,
    supersedes: str | None = None,
) -> tuple[Learning, ...]:
    """Prompt-visible learnings that contradict this one, newest first; scopes None means all."""
    if said.subject_key is None or not has_subject(said):
        return ()
    within = None if scopes is None else tuple(scopes)
    about = chain.from_iterable(
        unit.learnings.about(kind, said.subject_key, limit=MAX_LOOKED_AT, scopes=within)
        for kind in sorted(kinds)
    )
    different = [
        it
        for it in about
        if it.learning_id != supersedes
        and relation(it.content, said.content) is StatementRelation.CONFLICT
    ]
    different.sort(key=lambda it: it.published_at_ms, reverse=True)
    return prompt_visible(unit.learnings, different, now_ms=now_ms)


def _of_project(unit: "Unit", project_id: str) -> frozenset[LearningScope]:
    project = unit.projects.get(project_id)
    members = project.members if project else ()
    return scopes_of(unit, [it.session_id for it in members if it.session_id][:MAX_SESSIONS])


def _of_persona(unit: "Unit", persona_id: str) -> frozenset[LearningScope]:
    return scopes_of(unit, unit.sessions.ids_of_persona(persona_id, limit=MAX_SESSIONS))


# The scopes visible together with a scope, by its kind; None is all scopes.
_RELATED: Final[Mapping[ScopeKind, Callable[["Unit", str], frozenset[LearningScope] | None]]] = {
    ScopeKind.SESSION: lambda unit, session_id: scopes_of(unit, (session_id,)),
    ScopeKind.PERSONA: _of_persona,
    ScopeKind.PROJECT: _of_project,
    ScopeKind.WORKSPACE: lambda *_: None,
}
