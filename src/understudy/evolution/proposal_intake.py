"""Making a proposal of what a run would have written, and finding it again."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import coded_error
from understudy.core.ids import new_id
from understudy.core.principal import Principal
from understudy.evolution.proposals import MAX_WAITING, PROPOSAL, FileProposal, ProposalState

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class FileWish:
    """What a run wants a file of its agent to become."""

    agent_id: str
    name: str
    content: str
    base_version: int
    run_id: str

    def is_that_of(self, proposal: FileProposal) -> bool:
        """Whether it was proposed already."""
        return (proposal.run_id, proposal.content, proposal.base_version) == (
            self.run_id,
            self.content,
            self.base_version,
        )

    def overtakes(self, proposal: FileProposal) -> bool:
        """Whether it takes the place of another one: a run has one at a time, and one that was
        made from another version can no longer be approved."""
        return proposal.run_id == self.run_id or proposal.base_version != self.base_version


def draft_of(unit: "Unit", agent_id: str, name: str, run_id: str) -> FileProposal | None:
    """What a run has proposed for a file and nobody has decided: it goes on from there."""
    own = [each for each in unit.proposals.waiting(agent_id, name) if each.run_id == run_id]
    return own[-1] if own else None


def propose(unit: "Unit", clock: Clock, principal: Principal, wish: FileWish) -> FileProposal:
    """Have somebody decide; takes the place of what the same run proposed before."""
    now = clock.now_ms()
    waiting = 0
    for each in unit.proposals.waiting(wish.agent_id, wish.name):
        if wish.is_that_of(each):
            return each
        if wish.overtakes(each):
            supersede(unit, each, at_ms=now)
        else:
            waiting += 1
    _check_room(wish, waiting)
    proposal = FileProposal(
        proposal_id=new_id("prp"),
        agent_id=wish.agent_id,
        name=wish.name,
        content=wish.content,
        base_version=wish.base_version,
        state=ProposalState.PENDING,
        actor=principal.actor,
        run_id=wish.run_id,
        created_at_ms=now,
    )
    unit.proposals.add(proposal)
    unit.audit.add(
        audit.done(
            principal,
            "agents.propose_file",
            f"{wish.agent_id}/{wish.name}",
            at_ms=now,
            reason=f"{proposal.proposal_id} in {wish.run_id}",
        )
    )
    return proposal


def _check_room(wish: FileWish, waiting: int) -> None:
    if waiting >= MAX_WAITING:
        raise coded_error("evolution/proposals_full", waiting=waiting, name=wish.name)


def supersede(unit: "Unit", proposal: FileProposal, *, at_ms: int) -> None:
    """Take one back that another one, or a new version of the file, has overtaken."""
    PROPOSAL.check(proposal.state, ProposalState.SUPERSEDED)
    unit.proposals.decide(replace(proposal, state=ProposalState.SUPERSEDED, decided_at_ms=at_ms))
