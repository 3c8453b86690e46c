"""Conflicts, contradictions and duplicates: learnings of the same subject or key."""

from collections.abc import Callable, Iterable, Mapping, Set
from itertools import chain
from typing import TYPE_CHECKING, Final, TypeAlias

from understudy.learnings.keys import contradict
from understudy.learnings.model import SEMANTIC_KINDS, Candidate, Kind, Learning, Relation
from understudy.learnings.visibility import prompt_visible
from understudy.sessions.learning_scopes import LearningScope, ScopeKind, scopes_of

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

MAX_CONTRADICTIONS: Final = 10
# Maximum learnings of one subject that are read, and maximum sessions of a scope.
MAX_LOOKED_AT: Final = 1000
MAX_SESSIONS: Final = 100
# A record with content, scope and kind.
Statement: TypeAlias = Candidate | Learning


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
    if said.subject_key is None:
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


def related_scopes(unit: "Unit", scope: LearningScope) -> frozenset[LearningScope] | None:
    """The scopes that are visible together with a scope, itself included; None is all scopes."""
    found = _RELATED[scope.kind](unit, scope.id)
    return None if found is None else found | {scope}


def stated_in_the_way(
    unit: "Unit", said: Candidate, wanted: Relation, *, now_ms: int
) -> Learning | None:
    """The prompt-visible learning to which a model named this relation, in a related scope."""
    ids = [it.learning_id for it in said.relations if it.relation is wanted]
    found = unit.learnings.readable(ids) if ids else {}
    scopes = related_scopes(unit, said.scope) if found else None
    near = [
        found[it] for it in ids if it in found and (scopes is None or found[it].scope in scopes)
    ]
    if wanted is Relation.CONTRADICTS:
        # In a prompt the narrower scope of one subject wins.
        near = [
            it
            for it in near
            if it.scope == said.scope
            or it.kind is not said.kind
            or not contradict(said.content, it.content)
        ]
    return next(iter(prompt_visible(unit.learnings, near, now_ms=now_ms)), None)


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
    if said.subject_key is None or said.kind not in SEMANTIC_KINDS:
        return ()
    within = None if scopes is None else tuple(scopes)
    about = chain.from_iterable(
        unit.learnings.about(kind, said.subject_key, limit=MAX_LOOKED_AT, scopes=within)
        for kind in sorted(kinds)
    )
    different = [
        it for it in about if it.learning_id != supersedes and contradict(it.content, said.content)
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
