"""The inbox: everything that waits for a person."""

from typing import Annotated

from fastapi import APIRouter, Query

from understudy.api.gate import GatedRoute
from understudy.api.operations import viewer
from understudy.api.paging import Paging
from understudy.api.services import Caller, Services
from understudy.inbox.service import InboxKind, InboxPage

router = APIRouter(tags=["inbox"], route_class=GatedRoute)


@router.get("/v1/inbox", operation_id="inbox.list")
@viewer()
def list_inbox(
    services: Services,
    caller: Caller,
    page: Paging,
    kind: Annotated[InboxKind | None, Query(description="only things of this kind")] = None,
) -> InboxPage:
    """List what waits for a person: first what runs wait for, candidates last.

    Proposals for files of an agent and drafts of a skill are shown to its owner and to admins, offers to the user that
    they were made to. `counts` tells how much waits of each kind.
    """
    return services.inbox.page(caller, page, kind=kind)
