"""The learning scopes that a session sees: its own, its persona's, its projects', the workspace."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from understudy.sessions.model import Session

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


class ScopeKind(StrEnum):
    """The kinds of learning scopes, narrowest first."""

    SESSION = "session"
    PERSONA = "persona"
    PROJECT = "project"
    WORKSPACE = "workspace"


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningScope:
    """A learning scope: whom knowledge is for."""

    kind: ScopeKind
    id: str

    @property
    def key(self) -> str:
        """The scope as text, such as `session:s1`."""
        return f"{self.kind}:{self.id}"

    @classmethod
    def from_key(cls, key: str) -> "LearningScope":
        """The scope that has this key."""
        kind, _, scope_id = key.partition(":")
        return cls(kind=ScopeKind(kind), id=scope_id)


WORKSPACE: Final = LearningScope(kind=ScopeKind.WORKSPACE, id="default")


def session_scope(session_id: str) -> LearningScope:
    """The scope of one session alone."""
    return LearningScope(kind=ScopeKind.SESSION, id=session_id)


def scopes_of(unit: "Unit", session_ids: Sequence[str]) -> frozenset[LearningScope]:
    """Scopes visible to any of the sessions; an unknown session sees the workspace alone."""
    bound = unit.sessions.persona_ids(session_ids)
    ids = {
        ScopeKind.SESSION: bound,
        ScopeKind.PERSONA: filter(None, bound.values()),
        ScopeKind.PROJECT: unit.projects.ids_for_sessions(tuple(bound)),
    }
    seen = (LearningScope(kind=kind, id=it) for kind, found in ids.items() for it in found)
    return frozenset((WORKSPACE, *seen))


def visible_scopes(unit: "Unit", session: Session) -> tuple[LearningScope, ...]:
    """The scopes that a session sees, narrowest first."""
    persona = session.persona
    bound = [LearningScope(kind=ScopeKind.PERSONA, id=persona.persona_id)] if persona else []
    projects = [
        LearningScope(kind=ScopeKind.PROJECT, id=project_id)
        for project_id in unit.projects.ids_for_session(session.session_id)
    ]
    return (session_scope(session.session_id), *bound, *projects, WORKSPACE)
