"""Proposals as the wire shows them."""

from typing import Any, Final

from understudy.evolution.proposal_service import ShownProposal
from understudy.evolution.proposals import PROPOSAL, FileProposal, ProposalState
from understudy.wire.proposals import ProposalDetail, ProposalView

# What a person does to bring it about; the daemon does the rest by itself.
ACTIONS: Final = {ProposalState.APPROVED: "approve", ProposalState.REJECTED: "reject"}


def proposal_view(proposal: FileProposal) -> ProposalView:
    """A proposal without its text."""
    return ProposalView(**_fields(proposal))


def proposal_detail(shown: ShownProposal) -> ProposalDetail:
    """A proposal with its text; one that is outdated can only be rejected."""
    fields = _fields(shown.proposal)
    if shown.is_outdated:
        fields["actions"] = [action for action in fields["actions"] if action != "approve"]
    return ProposalDetail(
        **fields,
        content=shown.proposal.content,
        diff=shown.diff,
        outdated=shown.is_outdated,
    )


def _fields(proposal: FileProposal) -> dict[str, Any]:
    return {
        "proposal_id": proposal.proposal_id,
        "agent_id": proposal.agent_id,
        "name": proposal.name,
        "state": proposal.state.value,
        "base_version": proposal.base_version,
        "actor": proposal.actor,
        "run_id": proposal.run_id,
        "size": len(proposal.content.encode()),
        "created_at_ms": proposal.created_at_ms,
        "decided_by": proposal.decided_by,
        "decided_at_ms": proposal.decided_at_ms,
        "reason": proposal.reason,
        "file_version": proposal.file_version,
        "actions": [ACTIONS[to] for to in PROPOSAL.allowed(proposal.state) if to in ACTIONS],
    }
