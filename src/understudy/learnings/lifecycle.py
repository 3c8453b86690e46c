"""The machines of the learning plane."""

from typing import Final

from understudy.core.machine import Machine
from understudy.learnings.model import CandidateState, LearningStatus

CANDIDATE: Final = Machine(
    name="learning candidate",
    steps={
        CandidateState.PENDING: frozenset(
            {CandidateState.ESCALATED, CandidateState.PUBLISHED, CandidateState.REJECTED}
        ),
        CandidateState.ESCALATED: frozenset({CandidateState.PUBLISHED, CandidateState.REJECTED}),
        CandidateState.PUBLISHED: frozenset(),
        CandidateState.REJECTED: frozenset(),
    },
    conflict_code="candidate_state_conflict",
    domain="learnings",
)

LEARNING: Final = Machine(
    name="learning",
    steps={
        LearningStatus.PROVISIONAL: frozenset({LearningStatus.SUPERSEDED, LearningStatus.REVOKED}),
        LearningStatus.ACTIVE: frozenset({LearningStatus.SUPERSEDED, LearningStatus.REVOKED}),
        LearningStatus.SUPERSEDED: frozenset({LearningStatus.REVOKED}),
        LearningStatus.REVOKED: frozenset(),
    },
    conflict_code="learning_state_conflict",
    domain="learnings",
)

OPEN: Final = frozenset({CandidateState.PENDING, CandidateState.ESCALATED})
LIVE: Final = frozenset({LearningStatus.PROVISIONAL, LearningStatus.ACTIVE})
