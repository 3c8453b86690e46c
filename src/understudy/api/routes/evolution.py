"""How an agent came to be what it is."""

from typing import Annotated

from fastapi import APIRouter, Query

from understudy.api.gate import GatedRoute
from understudy.api.operations import viewer
from understudy.api.paging import Paging, items
from understudy.api.routes.agents import AgentId
from understudy.api.services import Caller, Services
from understudy.api.views.evolution import entry_view
from understudy.evolution import record
from understudy.wire.base import Items
from understudy.wire.evolution import EntryKind, EvolutionEntry

router = APIRouter(tags=["agents"], route_class=GatedRoute)


@router.get("/v1/agents/{agent_id}/evolution", operation_id="agents.evolution")
@viewer()
def list_entries(
    agent_id: AgentId,
    services: Services,
    caller: Caller,
    page: Paging,
    kind: Annotated[EntryKind | None, Query(description="only entries of this kind")] = None,
) -> Items[EvolutionEntry]:
    """Versions of SOUL.md, nudges, offers and answers, and skills made by its runs; newest first.

    What the caller may not know of is left out, so a page may hold fewer items than the limit.
    """
    wanted = None if kind is None else record.EntryKind(kind)
    return items(services.agents.evolution.page(caller, agent_id, page, kind=wanted), entry_view)
