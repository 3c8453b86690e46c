"""What came of a skill."""

from typing import Annotated, Final

from fastapi import APIRouter, Query

from understudy.api.gate import GatedRoute
from understudy.api.operations import viewer
from understudy.api.paging import Paging
from understudy.api.routes.skills import ONE, SkillRef
from understudy.api.services import Caller, Services
from understudy.api.views.skill_usage import usage_view
from understudy.core.clock import DAY_MS
from understudy.core.page import Page
from understudy.skills.usage import day_begin
from understudy.wire.skill_usage import SkillUsage

router = APIRouter(tags=["skills"], route_class=GatedRoute)
MAX_DAYS: Final = 3650


@router.get(ONE + "/usage", operation_id="skills.usage")
@viewer()
def usage(
    skill_id: SkillRef,
    services: Services,
    caller: Caller,
    page: Paging,
    days: Annotated[
        int | None,
        Query(
            ge=1,
            le=MAX_DAYS,
            description="only today and so many days (UTC) before it; all if not set",
        ),
    ] = None,
) -> SkillUsage:
    """Per version, in how many runs it was on offer and used, and how those that used it ended."""
    since = 0 if days is None else max(day_begin(services.ground.clock.now_ms() - days * DAY_MS), 0)
    skill, found = services.skills.library.usage(caller, skill_id, since_ms=since)
    return usage_view(skill, found, Page.cut(found, page), since_ms=since)
