"""Outcomes of skills, reported by the clients of agents that other programs run."""

from typing import Annotated

from fastapi import APIRouter, Path

from understudy.api.bodies import record_of
from understudy.api.gate import GatedRoute
from understudy.api.operations import client
from understudy.api.services import Caller, Services
from understudy.foreign.outcomes import ReportedOutcome
from understudy.foreign.record import Recorded
from understudy.wire.skills import ReportOutcome

router = APIRouter(tags=["doors"], route_class=GatedRoute)


@router.post("/v1/skills/{skill_id}/outcomes", operation_id="skills.report_outcome")
@client()
def report(
    skill_id: Annotated[str, Path(description="id, slug or name of the skill")],
    body: ReportOutcome,
    services: Services,
    caller: Caller,
) -> Recorded:
    """Report the outcome of a skill that an agent of another program followed; it decides no rollout."""
    return services.skill_reports.record(caller, record_of(ReportedOutcome, body, skill=skill_id))
