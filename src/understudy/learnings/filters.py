"""Which candidates or learnings a list shows."""

from dataclasses import dataclass

from understudy.core.invisible_characters import is_unseen
from understudy.learnings.model import CandidateState, Kind, LearningStatus, PolicyDecision
from understudy.sessions.learning_scopes import LearningScope


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateFilter:
    """What a list of candidates is narrowed to; what is None does not narrow."""

    # Looked for in id, scope key, kind, content and source run, whatever the case.
    query: str | None = None
    scope: LearningScope | None = None
    kind: Kind | None = None
    state: CandidateState | None = None

    def __post_init__(self) -> None:
        _drop_blanks(self, "query")


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningFilter:
    """What a list of learnings is narrowed to; what is None does not narrow."""

    query: str | None = None
    scope: LearningScope | None = None
    kind: Kind | None = None
    status: LearningStatus | None = None
    policy_decision: PolicyDecision | None = None
    # Compared whatever the case.
    policy_actor: str | None = None
    # The rule in the review of the candidate that it came from.
    matched_rule_name: str | None = None

    def __post_init__(self) -> None:
        _drop_blanks(self, "query", "policy_actor", "matched_rule_name")

    @property
    def is_empty(self) -> bool:
        """Whether it lets everything through."""
        return self == LearningFilter()


def _drop_blanks(narrowed: CandidateFilter | LearningFilter, *names: str) -> None:
    """Have texts in which nothing is seen say nothing, for they would find everything."""
    for name in names:
        object.__setattr__(narrowed, name, _said(getattr(narrowed, name)))


def _said(text: str | None) -> str | None:
    trimmed = (text or "").strip()
    return None if all(it.isspace() or is_unseen(it) for it in trimmed) else trimmed
