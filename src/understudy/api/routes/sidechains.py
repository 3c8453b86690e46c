"""The sidechains of a session."""

from typing import Annotated

from fastapi import APIRouter, Path

from understudy.api.gate import GatedRoute
from understudy.api.operations import viewer
from understudy.api.paging import Paging, items
from understudy.api.services import Services
from understudy.api.views.sidechains import sidechain_view
from understudy.wire.base import Items
from understudy.wire.sidechains import SidechainView

router = APIRouter(tags=["sessions"], route_class=GatedRoute)
SessionId = Annotated[str, Path(description="id of the session")]


@router.get("/v1/sessions/{session_id}/sidechains", operation_id="sessions.sidechains")
@viewer()
def sidechains(session_id: SessionId, services: Services, page: Paging) -> Items[SidechainView]:
    """The child sessions of a session, oldest first, with their newest runs."""
    return items(services.runs.sidechains.page(session_id, page), sidechain_view)
