"""The evolution history of an agent, and the proposals for its context files."""

from typing import Annotated, Final

from fastapi import APIRouter, Path, Query

from understudy.api.gate import GatedRoute
from understudy.api.operations import operator, viewer
from understudy.api.paging import Paging, items
from understudy.api.services import AgentId, Caller, Services
from understudy.core.page import Page
from understudy.evolution.proposals import ProposalState
from understudy.evolution.record import EntryKind, EvolutionEntry
from understudy.wire.agents import ProposalDetail, ProposalView, RejectProposal
from understudy.wire.base import Items

router = APIRouter(tags=["agents"], route_class=GatedRoute)
ProposalId = Annotated[str, Path(description="id of the proposal")]
ALL: Final = "/v1/agents/{agent_id}/proposals"
ONE: Final = ALL + "/{proposal_id}"


@router.get("/v1/agents/{agent_id}/evolution", operation_id="agents.evolution")
@viewer()
def list_entries(
    agent_id: AgentId,
    services: Services,
    caller: Caller,
    page: Paging,
    kind: Annotated[EntryKind | None, Query(description="only entries of this kind")] = None,
) -> Page[EvolutionEntry]:
    """List versions of SOUL.md, nudges, offers and answers, and skills of its runs; newest first.

    What the caller may not know of is left out, so a page may hold fewer items than the limit.
    """
    return services.agents.evolution.page(caller, agent_id, page, kind=kind)


@router.get(ALL, operation_id="agents.proposals")
# Unapproved texts may contain one user's words.
@operator()
def list_proposals(
    agent_id: AgentId,
    services: Services,
    caller: Caller,
    page: Paging,
    state: Annotated[ProposalState | None, Query(description="only those in this state")] = None,
) -> Items[ProposalView]:
    """List the proposals of an agent's runs, newest first."""
    return items(
        services.agents.proposals.page(caller, agent_id, page, state=state), ProposalView.of
    )


@router.get(ONE, operation_id="agents.proposal")
@operator()
def get(
    agent_id: AgentId, proposal_id: ProposalId, services: Services, caller: Caller
) -> ProposalDetail:
    """Show a proposal with its text and diff."""
    shown = services.agents.proposals.get(caller, agent_id, proposal_id)
    return ProposalDetail.of(
        shown.proposal,
        base=shown.base,
        diff=shown.diff,
        outdated=shown.is_outdated,
        actions=shown.actions,
        command=services.agents.held_writes.command_for(shown.proposal),
    )


@router.post(ONE + "/approve", operation_id="agents.approve_proposal")
@operator()
def approve(
    agent_id: AgentId, proposal_id: ProposalId, services: Services, caller: Caller
) -> ProposalView:
    """Approve a proposal as a new version; others for the same file become outdated."""
    approved = services.agents.proposals.approve(caller, agent_id, proposal_id)
    return ProposalView.of(approved, command=services.agents.held_writes.command_for(approved))


@router.post(ONE + "/reject", operation_id="agents.reject_proposal")
@operator()
def reject(
    agent_id: AgentId,
    proposal_id: ProposalId,
    services: Services,
    caller: Caller,
    body: RejectProposal | None = None,
) -> ProposalView:
    """Reject a proposal; the file stays as it is."""
    reason = body.reason if body else None
    return ProposalView.of(
        services.agents.proposals.reject(caller, agent_id, proposal_id, reason=reason)
    )
