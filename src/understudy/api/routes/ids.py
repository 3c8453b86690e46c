"""Ids by their beginning."""

from typing import Annotated

from fastapi import APIRouter, Query

from understudy.api.gate import GatedRoute
from understudy.api.operations import viewer
from understudy.api.services import Caller, Services
from understudy.core.ids import MAX_ID_LENGTH
from understudy.retrieval.ids import IdKind, KnownIds

router = APIRouter(tags=["search"], route_class=GatedRoute)


@router.get("/v1/ids", operation_id="ids.find")
@viewer()
def find(
    services: Services,
    caller: Caller,
    kind: Annotated[IdKind, Query(description="the kind of record")],
    prefix: Annotated[
        str, Query(description="how the id begins, with its type", max_length=MAX_ID_LENGTH)
    ] = "",
    mine: Annotated[
        bool, Query(description="only the caller's own, where records of the kind have an owner")
    ] = False,
    limit: Annotated[int, Query(ge=1, le=200, description="the most ids")] = 6,
) -> KnownIds:
    """List the newest ids of a kind with a prefix, each with a label.

    The other operations take whole ids only.
    """
    return services.ids.find(caller, kind, prefix=prefix, mine=mine, limit=limit)
