"""Schedules and their executions as the wire shows them."""

from dataclasses import asdict
from typing import Final

from understudy.assets.model import AssetDraft
from understudy.core.text import preview
from understudy.runs.model import InputItem
from understudy.runs.submission import Submission
from understudy.schedules.model import (
    Cadence,
    Cron,
    Execution,
    Interval,
    Once,
    Schedule,
    ScheduleStatus,
)
from understudy.wire.replies import ReplyTargetView
from understudy.wire.schedules import (
    CadenceView,
    ExecutionView,
    MisfirePolicyView,
    ScheduleAnswer,
    ScheduledRequestView,
    ScheduleView,
)

ACTIONS: Final = {
    ScheduleStatus.ACTIVE: ("pause", "trigger", "cancel"),
    ScheduleStatus.PAUSED: ("resume", "trigger", "cancel"),
    ScheduleStatus.COMPLETED: (),
    ScheduleStatus.CANCELED: (),
}


def schedule_view(schedule: Schedule) -> ScheduleView:
    """A schedule as it stands."""
    return ScheduleView(
        schedule_id=schedule.schedule_id,
        name=schedule.name,
        owner_id=schedule.owner_id,
        target_session_id=schedule.target_session_id,
        status=schedule.status.value,
        cadence=_cadence(schedule.cadence),
        request=_request(schedule.request),
        overlap_policy=schedule.overlap_policy.value,
        misfire_policy=MisfirePolicyView(type=schedule.misfire_policy.value),
        max_executions=schedule.max_executions,
        executions=schedule.executions,
        next_fire_at_ms=schedule.next_fire_at_ms,
        last_fired_at_ms=schedule.last_fired_at_ms,
        ended_reason=schedule.ended_reason,
        version=schedule.version,
        created_at_ms=schedule.created_at_ms,
        updated_at_ms=schedule.updated_at_ms,
        actions=list(ACTIONS[schedule.status]),
    )


def schedule_answer(schedule: Schedule, execution: Execution | None = None) -> ScheduleAnswer:
    """A schedule after something was done with it."""
    return ScheduleAnswer(
        schedule=schedule_view(schedule),
        execution=None if execution is None else execution_view(execution),
    )


def execution_view(execution: Execution) -> ExecutionView:
    """One fire."""
    return ExecutionView(
        execution_id=execution.execution_id,
        schedule_id=execution.schedule_id,
        status=execution.status.value,
        at_ms=execution.at_ms,
        scheduled_for_ms=execution.scheduled_for_ms,
        attempts=execution.attempts,
        run_id=execution.run_id,
        reason=execution.reason,
        triggered_by=execution.triggered_by,
    )


def _cadence(cadence: Cadence) -> CadenceView:
    match cadence:
        case Once():
            return CadenceView(type="once", fire_at_ms=cadence.fire_at_ms)
        case Interval():
            return CadenceView(type="interval", every_seconds=cadence.every_seconds)
        case Cron():
            return CadenceView(
                type="cron", expression=cadence.expression, timezone=cadence.timezone
            )


def _request(request: Submission) -> ScheduledRequestView:
    targets, level = request.reply_targets, request.debug_level
    kept = [item for item in request.input_items if not isinstance(item, AssetDraft)]
    return ScheduledRequestView(
        input_items=[_given(item) for item in kept],
        text_preview=preview("\n".join(item.text or "" for item in kept)) or None,
        provider=request.provider,
        generation=dict(request.generation) or None,
        metadata=request.metadata if isinstance(request.metadata, dict) else None,
        reply_targets=None
        if targets is None
        else [ReplyTargetView(**asdict(target)) for target in targets],
        max_tool_iterations=request.max_tool_iterations,
        debug_level=None if level is None else level.value,
        locale=request.locale,
        actor_id=request.actor_id,
    )


def _given(item: InputItem) -> dict[str, object]:
    shown = {name: value for name, value in asdict(item).items() if value is not None}
    # A file is shown by its id, however it came.
    shown.pop("given_as", None)
    return shown
