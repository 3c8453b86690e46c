"""The checkpoints of a session."""

from typing import Final

from fastapi import APIRouter

from understudy.agent.compaction import checkpoint_of
from understudy.api.gate import GatedRoute
from understudy.api.operations import viewer
from understudy.api.paging import Paging
from understudy.api.services import Services, SessionId
from understudy.core.errors import coded_error
from understudy.core.page import PageRequest, encode_cursor
from understudy.core.records import count
from understudy.sessions.journal import JournalEvent
from understudy.sessions.model import require_session
from understudy.wire.base import Items
from understudy.wire.checkpoints import CheckpointView

router = APIRouter(tags=["sessions"], route_class=GatedRoute)
# An offset beyond any journal.
FROM_THE_END: Final = 2**31 - 1


@router.get("/v1/sessions/{session_id}/checkpoints", operation_id="sessions.checkpoints")
@viewer()
def list_checkpoints(
    session_id: SessionId, services: Services, page: Paging
) -> Items[CheckpointView]:
    """List the summaries that replace older parts of a session, newest first."""
    with services.resources.units.read() as unit:
        require_session(unit, session_id)
        found = unit.journal.checkpoints(
            session_id, before_offset=_before(page), limit=page.limit + 1
        )
    shown = found[: page.limit]
    views = [view for event in shown if (view := _view(event)) is not None]
    more = len(found) > page.limit
    return Items(items=views, next_cursor=encode_cursor((shown[-1].offset,)) if more else None)


def _before(page: PageRequest) -> int:
    match page.after:
        case None:
            return FROM_THE_END
        case (int(offset),) if 0 <= offset <= FROM_THE_END:
            return offset
        case _:
            raise coded_error("pagination/invalid_cursor", pointer="/cursor")


def _view(event: JournalEvent) -> CheckpointView | None:
    """The checkpoint of an event; None if it is damaged."""
    checkpoint = checkpoint_of(event)
    if checkpoint is None:
        return None
    return CheckpointView(
        offset=event.offset,
        at_ms=event.at_ms,
        run_id=event.run_id,
        summary=checkpoint.summary,
        upto_offset=checkpoint.upto_offset,
        tokens_before=count(event.data.get("tokens_before")),
        tokens_after=count(event.data.get("tokens_after")),
    )
