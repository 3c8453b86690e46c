"""The records that runs leave behind."""

from typing import Annotated

from fastapi import APIRouter, Path, Query

from understudy.api.gate import GatedRoute
from understudy.api.operations import operator, viewer
from understudy.api.paging import Paging, items
from understudy.api.services import Caller, Services
from understudy.api.views.memory import item_view, record_view
from understudy.wire.base import Deleted, Items
from understudy.wire.memory import RunMemoryItem, RunMemoryView

router = APIRouter(tags=["memory"], route_class=GatedRoute)
RunId = Annotated[str, Path(description="id of the run")]


@router.get("/v1/run-memories", operation_id="run_memories.list")
@viewer()
def list_memories(
    services: Services,
    page: Paging,
    session_id: Annotated[str | None, Query(description="only of this session")] = None,
) -> Items[RunMemoryItem]:
    """The records that are kept, newest first."""
    return items(services.inspection.records(page, session_id=session_id), item_view)


@router.get("/v1/run-memories/{run_id}", operation_id="run_memories.get")
@viewer()
def get(
    run_id: RunId,
    services: Services,
    evidence: Annotated[
        bool, Query(description="also the longer texts that learning reads")
    ] = False,
) -> RunMemoryView:
    """The record of a run."""
    return record_view(
        services.run_memories.get(run_id),
        services.run_memories.evidence(run_id) if evidence else None,
    )


@router.delete("/v1/run-memories/{run_id}", operation_id="run_memories.forget")
@operator()
def forget(run_id: RunId, services: Services, caller: Caller) -> Deleted:
    """Forget a run: no prompt and no search tells of it again. The run itself stays."""
    services.run_memories.forget(caller, run_id)
    return Deleted()
