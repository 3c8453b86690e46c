"""Schedules on the wire."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from understudy.schedules.model import MisfirePolicy as MisfirePolicyType
from understudy.schedules.model import OverlapPolicy, ScheduleExecution, ScheduleStatus
from understudy.sessions.model import ReplyTarget
from understudy.wire.base import Int32, JsonObject, Lax, Omitted, RequestBody, View
from understudy.wire.runs import SubmitInput


class OnceCadence(RequestBody):
    """At one time."""

    type: Literal["once"]
    """`once`."""
    fire_at_ms: int
    """The time."""


class IntervalCadence(RequestBody):
    """At a fixed interval in seconds, at least 5."""

    type: Literal["interval"]
    """`interval`."""
    every_seconds: int
    """The interval in seconds, at least 5."""


class CronCadence(RequestBody):
    """At the times of a cron expression: six fields, the first for seconds; or the usual five."""

    type: Literal["cron"]
    """`cron`."""
    expression: str
    """The cron expression, such as `0 9 * * 1-5`."""
    timezone: str = "UTC"
    """The time zone of the expression."""


Cadence: TypeAlias = Annotated[
    OnceCadence | IntervalCadence | CronCadence, Field(discriminator="type")
]


class MisfirePolicyBody(RequestBody):
    """The policy for times that passed while no daemon could fire."""

    type: Lax[MisfirePolicyType]
    """`coalesce_once` makes up for all of them once, `skip_missed` for none."""


class CreateSchedule(RequestBody):
    """A new schedule; `request` is the submission of each run, without an idempotency key."""

    name: str
    """The name that people see."""
    target_session_id: str
    """The session that its runs belong to."""
    cadence: Cadence
    """When it fires."""
    request: SubmitInput
    """The submission of each run."""
    max_executions: Int32 | None = None
    """It ends after so many runs."""
    overlap_policy: Lax[OverlapPolicy] = OverlapPolicy.SKIP
    """While a run is active: `skip`, `queue_one` or `parallel`."""
    misfire_policy: MisfirePolicyBody = MisfirePolicyBody(type=MisfirePolicyType.COALESCE_ONCE)
    """For times that passed while no daemon could fire."""


class CadenceView(View):
    """When a schedule fires."""

    type: Literal["once", "interval", "cron"]
    fire_at_ms: Omitted[int] = None
    every_seconds: Omitted[int] = None
    expression: Omitted[str] = None
    timezone: Omitted[str] = None


class MisfirePolicyView(View):
    """The policy for times that passed while no daemon could fire."""

    type: MisfirePolicyType


class ScheduledRequestView(View):
    """The submission of each run; omitted fields are decided when it fires."""

    input_items: list[JsonObject]
    text_preview: Omitted[str] = None
    provider: Omitted[str] = None
    generation: Omitted[JsonObject] = None
    metadata: Omitted[JsonObject] = None
    reply_targets: Omitted[list[ReplyTarget]] = None
    max_tool_iterations: Omitted[int] = None
    debug_level: Omitted[str] = None
    locale: Omitted[str] = None
    actor_id: str


class ScheduleView(View):
    """The current state of a schedule."""

    schedule_id: str
    name: str
    owner_id: str
    target_session_id: str
    status: ScheduleStatus
    cadence: CadenceView
    request: ScheduledRequestView
    overlap_policy: OverlapPolicy
    misfire_policy: MisfirePolicyView
    max_executions: Omitted[int] = None
    executions: int
    next_fire_at_ms: Omitted[int] = None
    last_fired_at_ms: Omitted[int] = None
    ended_reason: Omitted[str] = None
    version: int
    created_at_ms: int
    updated_at_ms: int
    actions: list[str]


class ScheduleAnswer(View):
    """A schedule after an operation; `execution` if that was a fire."""

    schedule: ScheduleView
    execution: Omitted[ScheduleExecution] = None
