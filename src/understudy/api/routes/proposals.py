"""Changes to context files that agents propose and people decide on."""

from typing import Annotated, Final

from fastapi import APIRouter, Path, Query

from understudy.api.gate import GatedRoute
from understudy.api.operations import operator
from understudy.api.paging import Paging, items
from understudy.api.routes.agents import AgentId
from understudy.api.services import Caller, Services
from understudy.api.views.proposals import proposal_detail, proposal_view
from understudy.evolution import proposals
from understudy.wire.base import Items
from understudy.wire.proposals import (
    ProposalDetail,
    ProposalState,
    ProposalView,
    RejectProposal,
)

router = APIRouter(tags=["agents"], route_class=GatedRoute)
ProposalId = Annotated[str, Path(description="id of the proposal")]
ALL: Final = "/v1/agents/{agent_id}/proposals"
ONE: Final = ALL + "/{proposal_id}"


@router.get(ALL, operation_id="agents.proposals")
# What was not approved may hold what one user told an agent.
@operator()
def list_proposals(
    agent_id: AgentId,
    services: Services,
    caller: Caller,
    page: Paging,
    state: Annotated[ProposalState | None, Query(description="only those in this state")] = None,
) -> Items[ProposalView]:
    """What an agent's runs proposed, newest first."""
    wanted = None if state is None else proposals.ProposalState(state)
    return items(
        services.agents.proposals.page(caller, agent_id, page, state=wanted), proposal_view
    )


@router.get(ONE, operation_id="agents.proposal")
@operator()
def get(
    agent_id: AgentId, proposal_id: ProposalId, services: Services, caller: Caller
) -> ProposalDetail:
    """One proposal with its text and what it changes."""
    return proposal_detail(services.agents.proposals.get(caller, agent_id, proposal_id))


@router.post(ONE + "/approve", operation_id="agents.approve_proposal")
@operator()
def approve(
    agent_id: AgentId, proposal_id: ProposalId, services: Services, caller: Caller
) -> ProposalView:
    """Put it in force as a new version; others that wait for the same file are overtaken."""
    return proposal_view(services.agents.proposals.approve(caller, agent_id, proposal_id))


@router.post(ONE + "/reject", operation_id="agents.reject_proposal")
@operator()
def reject(
    agent_id: AgentId,
    proposal_id: ProposalId,
    services: Services,
    caller: Caller,
    body: RejectProposal | None = None,
) -> ProposalView:
    """Say no to it; the file stays as it is."""
    reason = body.reason if body else None
    return proposal_view(
        services.agents.proposals.reject(caller, agent_id, proposal_id, reason=reason)
    )
