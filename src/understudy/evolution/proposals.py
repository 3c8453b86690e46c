"""A change to a context file that waits until somebody has decided on it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from understudy.core.errors import coded_error
from understudy.core.machine import Machine

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# So many may wait for one file of an agent at a time.
MAX_WAITING: Final = 50


class ProposalState(StrEnum):
    """Where a proposal stands."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    # Another one took its place, or the file.
    SUPERSEDED = "superseded"


PROPOSAL: Final = Machine(
    name="proposal",
    steps={
        ProposalState.PENDING: frozenset(
            {ProposalState.APPROVED, ProposalState.REJECTED, ProposalState.SUPERSEDED}
        ),
        ProposalState.APPROVED: frozenset(),
        ProposalState.REJECTED: frozenset(),
        ProposalState.SUPERSEDED: frozenset(),
    },
    conflict_code="proposal_state_conflict",
    domain="evolution",
)


# The decisions of a person, by the state that they lead to.
ACTIONS: Final = {ProposalState.APPROVED: "approve", ProposalState.REJECTED: "reject"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileProposal:
    """What a run wants a file of its agent to become, and what was decided."""

    proposal_id: str
    agent_id: str
    name: str
    content: str
    # The version that it was made from; 0 where there was none.
    base_version: int
    state: ProposalState
    # The user that the run worked for.
    actor: str
    run_id: str
    created_at_ms: int
    decided_by: str | None = None
    decided_at_ms: int | None = None
    reason: str | None = None
    # The version that came of it.
    file_version: int | None = None

    @property
    def size(self) -> int:
        """The bytes of the content."""
        return len(self.content.encode())

    @property
    def actions(self) -> tuple[str, ...]:
        """What a person can do with it now."""
        return tuple(ACTIONS[to] for to in PROPOSAL.allowed(self.state) if to in ACTIONS)


def require_proposal(unit: "Unit", agent_id: str, proposal_id: str) -> FileProposal:
    """A proposal for this agent, or `NotFound`."""
    proposal = unit.proposals.get(proposal_id)
    if proposal is None or proposal.agent_id != agent_id:
        raise coded_error("evolution/proposal_not_found", proposal_id=proposal_id)
    return proposal
