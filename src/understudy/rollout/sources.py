"""Which learnings can become skills."""

from collections.abc import Callable
from typing import Final

from understudy.learnings.model import Kind, Learning, LearningStatus, Tier
from understudy.rollout.guards import Reason
from understudy.sessions.learning_scopes import ScopeKind

BLOCKERS: Final[tuple[tuple[Reason, Callable[[Learning, int], bool]], ...]] = (
    (
        Reason(code="source_not_procedure", words="only a procedure becomes a skill"),
        lambda it, _: it.kind is not Kind.PROCEDURE,
    ),
    (
        Reason(code="source_not_active", words="the learning is not active"),
        lambda it, _: it.status is not LearningStatus.ACTIVE,
    ),
    (
        Reason(code="source_not_active_tier", words="the learning is not of the active tier"),
        lambda it, _: it.publish_tier is not Tier.ACTIVE,
    ),
    (
        Reason(code="source_expired", words="the time of the learning is over"),
        lambda it, now_ms: it.is_expired(now_ms),
    ),
    (
        Reason(code="source_not_workspace", words="only a learning of the workspace is promoted"),
        lambda it, _: it.scope.kind is not ScopeKind.WORKSPACE,
    ),
)


def unfit(learning: Learning, *, now_ms: int) -> tuple[Reason, ...]:
    """Everything that keeps a learning from being a skill; empty when it may be one."""
    return tuple(reason for reason, is_so in BLOCKERS if is_so(learning, now_ms))
