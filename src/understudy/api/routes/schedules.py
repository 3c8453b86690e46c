"""Schedules."""

from dataclasses import asdict
from typing import Annotated, Final, assert_never

from fastapi import APIRouter, Path, Query

from understudy.api.gate import GatedRoute
from understudy.api.limits import LARGE_BODY_BYTES
from understudy.api.operations import operator, viewer
from understudy.api.paging import Paging, items
from understudy.api.services import Caller, Services
from understudy.api.submissions import AcceptLanguage, submission_of
from understudy.assets.model import AssetDraft
from understudy.core.errors import coded_error
from understudy.core.page import Page
from understudy.core.text import preview
from understudy.runs.model import InputItem
from understudy.runs.submission import Submission
from understudy.schedules import model
from understudy.schedules.requests import within_request
from understudy.wire.base import Items
from understudy.wire.runs import SubmitInput
from understudy.wire.schedules import (
    Cadence,
    CadenceView,
    CreateSchedule,
    CronCadence,
    IntervalCadence,
    MisfirePolicyView,
    OnceCadence,
    ScheduleAnswer,
    ScheduledRequestView,
    ScheduleView,
)

router = APIRouter(tags=["schedules"], route_class=GatedRoute)
ScheduleId = Annotated[str, Path(description="id of the schedule")]
ONE: Final = "/v1/schedules/{schedule_id}"
ACTIONS: Final = {
    model.ScheduleStatus.ACTIVE: ["pause", "trigger", "cancel"],
    model.ScheduleStatus.PAUSED: ["resume", "trigger", "cancel"],
    model.ScheduleStatus.COMPLETED: [],
    model.ScheduleStatus.CANCELED: [],
}


@router.post("/v1/schedules", operation_id="schedules.create", status_code=201)
@operator(body_id="name", max_body_bytes=LARGE_BODY_BYTES)
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
        overlap_policy=body.overlap_policy,
        misfire_policy=body.misfire_policy.type,
    )
    return schedule_view(services.schedules.create(caller, wanted))


@router.get("/v1/schedules", operation_id="schedules.list")
@viewer()
def list_schedules(
    services: Services,
    page: Paging,
    session_id: Annotated[str | None, Query(description="only those for this session")] = None,
    status: Annotated[list[model.ScheduleStatus] | None, Query(description="one or more")] = None,
) -> Items[ScheduleView]:
    """List schedules, newest first."""
    found = services.schedules.page(page, session_id=session_id, statuses=tuple(status or ()))
    return items(found, schedule_view)


@router.get(ONE, operation_id="schedules.get")
@viewer()
def get(schedule_id: ScheduleId, services: Services) -> ScheduleView:
    """Show a schedule."""
    return schedule_view(services.schedules.get(schedule_id))


@router.get(ONE + "/executions", operation_id="schedules.executions")
@viewer()
def executions(
    schedule_id: ScheduleId, services: Services, page: Paging
) -> Page[model.ScheduleExecution]:
    """List the last executions of a schedule, newest first."""
    return services.schedules.executions(schedule_id, page)


@router.post(ONE + "/pause", operation_id="schedules.pause")
@operator()
def pause(schedule_id: ScheduleId, services: Services, caller: Caller) -> ScheduleAnswer:
    """Pause a schedule until it is resumed."""
    return _answer(services.schedules.pause(caller, schedule_id))


@router.post(ONE + "/resume", operation_id="schedules.resume")
@operator()
def resume(schedule_id: ScheduleId, services: Services, caller: Caller) -> ScheduleAnswer:
    """Resume a schedule, from the next time on."""
    return _answer(services.schedules.resume(caller, schedule_id))


@router.post(ONE + "/trigger", operation_id="schedules.trigger")
@operator()
def trigger(schedule_id: ScheduleId, services: Services, caller: Caller) -> ScheduleAnswer:
    """Submit a run now, beside the cadence; the overlap policy holds here, too."""
    return _answer(*services.schedules.trigger(caller, schedule_id))


@router.post(ONE + "/cancel", operation_id="schedules.cancel")
@operator()
def cancel(schedule_id: ScheduleId, services: Services, caller: Caller) -> ScheduleAnswer:
    """End a schedule for good; runs it has submitted go on."""
    return _answer(services.schedules.cancel(caller, schedule_id))


def _cadence(body: Cadence) -> model.Cadence:
    match body:
        case OnceCadence():
            return model.Once(fire_at_ms=body.fire_at_ms)
        case IntervalCadence():
            return model.IntervalSchedule(every_seconds=body.every_seconds)
        case CronCadence():
            return model.Cron(expression=body.expression, timezone=body.timezone)
        case _:
            assert_never(body)


def _request(body: SubmitInput, accept_language: str | None) -> Submission:
    with within_request():
        if body.idempotency_key is not None:
            raise coded_error("schedules/idempotency_key_not_allowed", pointer="/idempotency_key")
        return submission_of(body, accept_language=accept_language)


def schedule_view(schedule: model.Schedule) -> ScheduleView:
    """A schedule in its current state."""
    return ScheduleView.of(
        schedule,
        cadence=_cadence_view(schedule.cadence),
        request=_request_view(schedule.request),
        misfire_policy=MisfirePolicyView(type=schedule.misfire_policy),
        actions=ACTIONS[schedule.status],
    )


def _answer(
    schedule: model.Schedule, execution: model.ScheduleExecution | None = None
) -> ScheduleAnswer:
    return ScheduleAnswer(schedule=schedule_view(schedule), execution=execution)


def _cadence_view(cadence: model.Cadence) -> CadenceView:
    match cadence:
        case model.Once():
            return CadenceView(type="once", fire_at_ms=cadence.fire_at_ms)
        case model.IntervalSchedule():
            return CadenceView(type="interval", every_seconds=cadence.every_seconds)
        case model.Cron():
            return CadenceView(
                type="cron", expression=cadence.expression, timezone=cadence.timezone
            )


def _request_view(request: Submission) -> ScheduledRequestView:
    kept = [item for item in request.input_items if not isinstance(item, AssetDraft)]
    return ScheduledRequestView.of(
        request,
        input_items=[_given(item) for item in kept],
        text_preview=preview("\n".join(item.text or "" for item in kept)) or None,
        generation=dict(request.generation) or None,
        metadata=request.metadata if isinstance(request.metadata, dict) else None,
    )


def _given(item: InputItem) -> dict[str, object]:
    shown = {name: value for name, value in asdict(item).items() if value is not None}
    # A file is shown by its asset id, however it was uploaded.
    shown.pop("given_as", None)
    return shown
