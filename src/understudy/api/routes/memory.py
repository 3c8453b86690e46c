"""What a session remembers: what its prompts get, what it can find, and why."""

from typing import Annotated

from fastapi import APIRouter, Path, Query

from understudy.api.gate import GatedRoute
from understudy.api.operations import viewer
from understudy.api.services import Caller, Services
from understudy.api.views.memory import context_view, search_view
from understudy.api.views.memory_explain import explain_view
from understudy.api.views.memory_report import report_view
from understudy.wire.memory import (
    MemoryContextView,
    MemoryExplainView,
    MemoryReportView,
    MemorySearchView,
)

router = APIRouter(tags=["memory"], route_class=GatedRoute)
SessionId = Annotated[str, Path(description="id of the session")]
Asked = Annotated[str | None, Query(description="what the next input might say, or ask for")]


@router.get("/v1/sessions/{session_id}/memory-context", operation_id="sessions.memory_context")
@viewer()
def memory_context(
    session_id: SessionId, services: Services, caller: Caller, query: Asked = None
) -> MemoryContextView:
    """What the caller's next run would be given to remember; looking changes nothing."""
    return context_view(services.inspection.context(session_id, query, user_id=caller.user_id))


@router.get("/v1/sessions/{session_id}/memory-search", operation_id="sessions.memory_search")
@viewer()
def memory_search(
    session_id: SessionId,
    services: Services,
    caller: Caller,
    query: Asked = None,
    limit: Annotated[
        int | None, Query(description="how many results; 12, brought within 1 and 50")
    ] = None,
) -> MemorySearchView:
    """What the session can find, best first; newest first without a query."""
    found = services.inspection.search(session_id, query, limit, user_id=caller.user_id)
    return search_view(found)


@router.get("/v1/sessions/{session_id}/memory-explain", operation_id="sessions.memory_explain")
@viewer()
def memory_explain(
    session_id: SessionId, services: Services, query: Asked = None
) -> MemoryExplainView:
    """Every learning and run in sight, with why it would or would not reach the prompt."""
    return explain_view(services.inspection.explain(session_id, query))


@router.get("/v1/runs/{run_id}/memory-report", operation_id="runs.memory_report")
@viewer()
def memory_report(
    run_id: Annotated[str, Path(description="id of the run")], services: Services
) -> MemoryReportView:
    """What a run was given to remember, what was left out, and why."""
    return report_view(services.inspection.report(run_id))
