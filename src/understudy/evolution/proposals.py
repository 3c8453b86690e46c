"""A change to a context file that waits until somebody has decided on it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from understudy.agents.ports import AgentUnit
from understudy.core.errors import NotFound
from understudy.core.machine import Machine
from understudy.core.page import Page, PageRequest

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
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


class ProposalStore(Protocol):
    """Proposals of all agents."""

    def get(self, proposal_id: str) -> Proposal | None: ...

    def add(self, proposal: Proposal) -> None: ...

    def decide(self, proposal: Proposal) -> bool:
        """Keep what was decided of one that waits; False when it waits no longer."""
        ...

    def waiting(self, agent_id: str, name: str) -> Sequence[Proposal]:
        """Those that wait for a file of an agent, oldest first."""
        ...

    def page(
        self, agent_id: str, request: PageRequest, *, state: ProposalState | None = None
    ) -> Page[Proposal]:
        """Those of an agent, newest first."""
        ...


class ProposalUnit(AgentUnit, Protocol):
    """One transaction over agents, their files and what is proposed for these."""

    @property
    def proposals(self) -> ProposalStore: ...


def require_proposal(unit: ProposalUnit, agent_id: str, proposal_id: str) -> Proposal:
    """A proposal for this agent, or `NotFound`."""
    proposal = unit.proposals.get(proposal_id)
    if proposal is None or proposal.agent_id != agent_id:
        raise NotFound(
            "proposal_not_found", domain="evolution", detail=f"no proposal {proposal_id!r}"
        )
    return proposal
