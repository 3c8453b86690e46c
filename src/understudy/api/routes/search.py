"""Search over every kind of record that has a console page."""

from typing import Annotated

from fastapi import APIRouter, Query

from understudy.api.gate import GatedRoute
from understudy.api.operations import viewer
from understudy.api.services import Caller, Services
from understudy.retrieval.jump import JumpAnswer

router = APIRouter(tags=["search"], route_class=GatedRoute)


@router.get("/v1/search", operation_id="search.find")
@viewer()
def find(
    services: Services,
    caller: Caller,
    query: Annotated[
        str | None, Query(description="part of an id or name, or words that it says")
    ] = None,
) -> JumpAnswer:
    """Agents, sessions and skills by a part of their name, learnings, waiting candidates and runs by what
    they say: at most six of each kind. Skills that the caller does not see are not found."""
    return services.jump.find(caller, query)
