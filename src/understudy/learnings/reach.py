"""Reach: the sessions in which a learning of a scope is injected, and whether they are in use."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from understudy.core.clock import DAY_MS
from understudy.core.errors import undamaged
from understudy.core.records import Omitted
from understudy.core.visibility import current_visibility
from understudy.i18n.catalogue import say
from understudy.i18n.locales import LOCALES, current_locale
from understudy.learnings.model import (
    SEMANTIC_KINDS,
    Applies,
    Candidate,
    Kind,
    Learning,
    Sensitivity,
    Tier,
)
from understudy.learnings.phrases import words_of
from understudy.sessions.learning_scopes import (
    WORKSPACE,
    LearningScope,
    ScopeKind,
    session_scope,
    visible_scopes,
)
from understudy.sessions.model import SessionStatus

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# Scopes with the words by which a statement names them.
NamedScopes = tuple[tuple[LearningScope, tuple[str, ...]], ...]
# A session without a run for so long counts as abandoned.
IDLE_DAYS: Final = 7
# The most scopes besides the workspace; a session may belong to many projects.
MAX_OFFERED: Final = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """A scope to publish for, and the sessions it reaches."""

    scope: LearningScope
    # The sessions in which it is injected.
    words: str
    # Why nobody gets it there; None where somebody may.
    unused: Omitted[str] = None
    # Whether a reviewer is offered this one first; absent if not.
    suggested: Omitted[bool] = None


def reach_words(
    scope: LearningScope,
    *,
    kind: Kind = Kind.FACT,
    sensitivity: Sensitivity = Sensitivity.SCOPED,
    tier: Tier = Tier.ACTIVE,
) -> str:
    """The sessions in which a learning is injected, or why in none; localised."""
    where = _say(f"where.{scope.kind}", id=scope.id)
    # By value: the records of a client hold plain strings.
    if sensitivity == Sensitivity.SENSITIVE:
        return _say("sensitive")
    if kind not in SEMANTIC_KINDS:
        return _say("other_kind", where=where)
    if tier != Tier.ACTIVE:
        return _say("provisional", where=where)
    return _say("told", where=where)


def _say(key: str, **values: object) -> str:
    return say(current_locale.get(), f"reach.{key}", **values)


def reach_of(
    unit: "Unit", said: Candidate | Learning, scope: LearningScope, *, now_ms: int
) -> Reach:
    """The reach of a statement if it is published for a scope."""
    tier = said.publish_tier if isinstance(said, Learning) else Tier.ACTIVE
    words = reach_words(scope, kind=said.kind, sensitivity=said.sensitivity, tier=tier)
    is_told = said.kind in SEMANTIC_KINDS and said.sensitivity is Sensitivity.SCOPED
    unused = _unused(unit, scope, now_ms) if is_told else None
    return Reach(scope=scope, words=words, unused=unused)


def reaches_of(
    unit: "Unit", candidate: Candidate, *, offered: LearningScope, now_ms: int
) -> tuple[Reach, ...]:
    """The scopes that a candidate can be published for: its own first, then narrowest first."""
    session_id = candidate.source.session_id
    if candidate.scope.kind is ScopeKind.SESSION:
        session_id = candidate.scope.id
    session = undamaged(unit.sessions.get, session_id) if session_id else None
    around = visible_scopes(unit, session) if session else (WORKSPACE,)
    scopes = dict.fromkeys((candidate.scope, *around[:MAX_OFFERED], offered, WORKSPACE))
    return tuple(
        replace(reach_of(unit, candidate, it, now_ms=now_ms), suggested=it == offered or None)
        for it in scopes
    )


def suggested_scope(
    unit: "Unit", candidate: Candidate, named: Callable[[str], NamedScopes] | None = None
) -> LearningScope:
    """The scope that a reviewer is offered first, and that a publication without one is for.

    What a user states is meant for later sessions, too, unless it names its session or a project.
    A caller with many candidates gives a cached `named_scopes`.
    """
    own, source = candidate.scope, candidate.source
    is_wish = candidate.kind is Kind.PREFERENCE or candidate.applies is Applies.ALWAYS
    # Who proposes a fact for a session in which it was not said means that session.
    is_stated = candidate.kind in SEMANTIC_KINDS and (is_wish or source.session_id is not None)
    is_told = candidate.sensitivity is Sensitivity.SCOPED
    # A statement that may come from a tool or a page does not spread with one keystroke.
    if (
        own.kind is not ScopeKind.SESSION
        or not (is_stated and is_told)
        or candidate.derived_from_untrusted
        # Where users are isolated, the workspace is everybody's.
        or current_visibility.get().user_id is not None
    ):
        return own
    said = _spaced(candidate.content)
    narrower = named(own.id) if named else named_scopes(unit, own.id)
    return next((scope for scope, names in narrower if any(map(said.count, names))), WORKSPACE)


def named_scopes(unit: "Unit", session_id: str) -> NamedScopes:
    """A session and its projects, each with what a statement calls it.

    That is what the button to publish for it says, or its name.
    """
    projects = map(unit.projects.get, unit.projects.ids_for_session(session_id))
    return (
        (session_scope(session_id), _names(ScopeKind.SESSION)),
        *(
            (
                LearningScope(kind=ScopeKind.PROJECT, id=it.project_id),
                _names(ScopeKind.PROJECT, it.project_id, it.display_name),
            )
            for it in projects
            if it is not None
        ),
    )


def _names(kind: ScopeKind, *own: str) -> tuple[str, ...]:
    here = (say(locale, f"console.here.{kind}") for locale in LOCALES)
    return tuple(map(_spaced, (*here, *own)))


def _spaced(text: str) -> str:
    return f" {' '.join(words_of(text))} "


def covers(unit: "Unit", wide: LearningScope, narrow: LearningScope) -> bool:
    """Whether every session that sees the scope `narrow` sees the scope `wide`, too."""
    if wide in (narrow, WORKSPACE):
        return True
    session = undamaged(unit.sessions.get, narrow.id) if narrow.kind is ScopeKind.SESSION else None
    return session is not None and wide in visible_scopes(unit, session)


def _unused(unit: "Unit", scope: LearningScope, now_ms: int) -> str | None:
    session = undamaged(unit.sessions.get, scope.id) if scope.kind is ScopeKind.SESSION else None
    # A missing session can still be created under its id.
    if session is None:
        return None
    if session.status is SessionStatus.ENDED:
        return _say("ended")
    last_ms = unit.runs.newest_at_ms(scope.id) or session.created_at_ms
    days = (now_ms - last_ms) // DAY_MS
    return _say("idle", days=days) if days >= IDLE_DAYS else None
