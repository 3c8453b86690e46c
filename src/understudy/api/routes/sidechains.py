"""The sidechains of a session."""

from fastapi import APIRouter

from understudy.api.gate import GatedRoute
from understudy.api.operations import viewer
from understudy.api.paging import Paging, items
from understudy.api.services import Services, SessionId
from understudy.runs.sidechains import SidechainStanding
from understudy.wire.base import Items
from understudy.wire.sessions import LastRun
from understudy.wire.sidechains import SidechainView

router = APIRouter(tags=["sessions"], route_class=GatedRoute)


@router.get("/v1/sessions/{session_id}/sidechains", operation_id="sessions.sidechains")
@viewer()
def sidechains(session_id: SessionId, services: Services, page: Paging) -> Items[SidechainView]:
    """List the child sessions of a session, oldest first, with their newest runs."""
    return items(services.runs.sidechains.page(session_id, page), _view)


def _view(standing: SidechainStanding) -> SidechainView:
    spawn, run = standing.sidechain.spawn, standing.run
    return SidechainView.of(
        standing.sidechain.session,
        is_live=standing.is_live,
        label=spawn.label if spawn else None,
        spawned_by_run_id=spawn.run_id if spawn else None,
        last_run=LastRun.of(run) if run else None,
    )
