"""Schedules."""

from typing import Annotated, Final, assert_never

from fastapi import APIRouter, Path, Query

from understudy.api.gate import GatedRoute
from understudy.api.operations import operator, viewer
from understudy.api.paging import Paging, items
from understudy.api.services import Caller, Services
from understudy.api.submissions import AcceptLanguage, submission_of
from understudy.api.views.schedules import execution_view, schedule_answer, schedule_view
from understudy.core.errors import Invalid
from understudy.runs.submission import Submission
from understudy.schedules import model
from understudy.schedules.requests import within_request
from understudy.wire.base import Items
from understudy.wire.runs import SubmitInput
from understudy.wire.schedules import (
    Cadence,
    CreateSchedule,
    CronCadence,
    ExecutionView,
    IntervalCadence,
    OnceCadence,
    ScheduleAnswer,
    ScheduleStatus,
    ScheduleView,
)

router = APIRouter(tags=["schedules"], route_class=GatedRoute)
ScheduleId = Annotated[str, Path(description="id of the schedule")]
ONE: Final = "/v1/schedules/{schedule_id}"


@router.post("/v1/schedules", operation_id="schedules.create", status_code=201)
@operator(body_id="name")
def create(
    body: CreateSchedule, services: Services, caller: Caller, accept_language: AcceptLanguage = None
) -> ScheduleView:
    """Create a schedule that submits runs for the caller."""
    wanted = model.NewSchedule(
        name=body.name,
        target_session_id=body.target_session_id,
        cadence=_cadence(body.cadence),
        request=_request(body.request, accept_language),
        max_executions=body.max_executions,
        overlap_policy=model.OverlapPolicy(body.overlap_policy),
        misfire_policy=model.MisfirePolicy(body.misfire_policy.type),
    )
    return schedule_view(services.schedules.create(caller, wanted))


@router.get("/v1/schedules", operation_id="schedules.list")
@viewer()
def list_schedules(
    services: Services,
    page: Paging,
    session_id: Annotated[str | None, Query(description="only those for this session")] = None,
    status: Annotated[list[ScheduleStatus] | None, Query(description="one or more")] = None,
) -> Items[ScheduleView]:
    """Schedules, newest first."""
    statuses = tuple(model.ScheduleStatus(name) for name in status or ())
    found = services.schedules.page(page, session_id=session_id, statuses=statuses)
    return items(found, schedule_view)


@router.get(ONE, operation_id="schedules.get")
@viewer()
def get(schedule_id: ScheduleId, services: Services) -> ScheduleView:
    """One schedule."""
    return schedule_view(services.schedules.get(schedule_id))


@router.get(ONE + "/executions", operation_id="schedules.executions")
@viewer()
def executions(schedule_id: ScheduleId, services: Services, page: Paging) -> Items[ExecutionView]:
    """The last fires of a schedule, newest first."""
    return items(services.schedules.executions(schedule_id, page), execution_view)


@router.post(ONE + "/pause", operation_id="schedules.pause")
@operator()
def pause(schedule_id: ScheduleId, services: Services, caller: Caller) -> ScheduleAnswer:
    """Fire no more until it is resumed."""
    return schedule_answer(services.schedules.pause(caller, schedule_id))


@router.post(ONE + "/resume", operation_id="schedules.resume")
@operator()
def resume(schedule_id: ScheduleId, services: Services, caller: Caller) -> ScheduleAnswer:
    """Fire again, from the next time on."""
    return schedule_answer(services.schedules.resume(caller, schedule_id))


@router.post(ONE + "/trigger", operation_id="schedules.trigger")
@operator()
def trigger(schedule_id: ScheduleId, services: Services, caller: Caller) -> ScheduleAnswer:
    """Fire now, beside the cadence; the overlap policy holds here too."""
    return schedule_answer(*services.schedules.trigger(caller, schedule_id))


@router.post(ONE + "/cancel", operation_id="schedules.cancel")
@operator()
def cancel(schedule_id: ScheduleId, services: Services, caller: Caller) -> ScheduleAnswer:
    """End a schedule for good; runs it has submitted go on."""
    return schedule_answer(services.schedules.cancel(caller, schedule_id))


def _cadence(body: Cadence) -> model.Cadence:
    match body:
        case OnceCadence():
            return model.Once(fire_at_ms=body.fire_at_ms)
        case IntervalCadence():
            return model.Interval(every_seconds=body.every_seconds)
        case CronCadence():
            return model.Cron(expression=body.expression, timezone=body.timezone)
        case _:
            assert_never(body)


def _request(body: SubmitInput, accept_language: str | None) -> Submission:
    with within_request():
        if body.idempotency_key is not None:
            raise Invalid(
                "idempotency_key_not_allowed",
                domain="schedules",
                pointer="/idempotency_key",
                detail="each fire is a run of its own; a key would make them one",
            )
        return submission_of(body, accept_language=accept_language)
