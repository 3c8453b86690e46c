"""The records of a schedule, and its state machine."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field

from understudy.core.machine import Machine
from understudy.core.records import OMIT
from understudy.runs.submission import Submission

MAX_SCHEDULES: Final = 128
KEPT_EXECUTIONS: Final = 50
MAX_EXECUTIONS: Final = 1_000_000
MAX_NAME_CHARS: Final = 200


class ScheduleStatus(StrEnum):
    """Whether a schedule fires."""

    ACTIVE = "active"
    PAUSED = "paused"
    COMPLETED = "completed"
    CANCELED = "canceled"


class OverlapPolicy(StrEnum):
    """What to do when it is time and an earlier run of the schedule has not ended."""

    SKIP = "skip"  # leave this one out
    QUEUE_ONE = "queue_one"  # let one wait behind it, not more
    PARALLEL = "parallel"  # submit all the same; the session still works on one at a time


class MisfirePolicy(StrEnum):
    """What to do about times that passed while nobody could fire."""

    COALESCE_ONCE = "coalesce_once"  # fire once for all of them
    SKIP_MISSED = "skip_missed"  # go on with the next one to come


class ExecutionStatus(StrEnum):
    """What became of one fire."""

    SUBMITTED = "submitted"  # there is a run
    SKIPPED = "skipped"  # left out by the overlap policy
    MISSED = "missed"  # left out by the misfire policy
    RETRYING = "retrying"  # no run could be made; it is tried again
    FAILED = "failed"  # no run could be made; given up


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """At one moment."""

    type: Literal["once"] = "once"
    fire_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalSchedule:
    """Every so many seconds, counted from the creation of the schedule."""

    type: Literal["interval"] = "interval"
    every_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron:
    """At the wall-clock times of a cron expression; six fields begin with seconds."""

    type: Literal["cron"] = "cron"
    expression: str
    timezone: str = "UTC"


Cadence: TypeAlias = Annotated[Once | IntervalSchedule | Cron, Field(discriminator="type")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleExecution:
    """One fire, and what became of it."""

    execution_id: str
    schedule_id: str
    status: ExecutionStatus
    at_ms: int
    # The time it was meant for; None when somebody triggered it.
    scheduled_for_ms: Annotated[int | None, OMIT] = None
    attempts: int = 1
    run_id: Annotated[str | None, OMIT] = None
    reason: Annotated[str | None, OMIT] = None
    # Who triggered it; None when its time had come.
    triggered_by: Annotated[str | None, OMIT] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A request that becomes a run at each time of its cadence."""

    schedule_id: str
    name: str
    # Its runs act for this user.
    owner_id: str
    target_session_id: str
    cadence: Cadence
    # What each run is submitted with. Files in it are assets already.
    request: Submission
    created_at_ms: int
    updated_at_ms: int
    status: ScheduleStatus = ScheduleStatus.ACTIVE
    overlap_policy: OverlapPolicy = OverlapPolicy.SKIP
    misfire_policy: MisfirePolicy = MisfirePolicy.COALESCE_ONCE
    max_executions: int | None = None
    # How many runs it has submitted.
    executions: int = 0
    # The time it fires for next; only a clock that is set back takes it back.
    # None when it fires no more.
    next_fire_at_ms: int | None = None
    # When to look at it: the time above, or the time of the next try. None unless it is active.
    due_at_ms: int | None = None
    last_fired_at_ms: int | None = None
    # The fire that could not be made yet, and how often it was tried.
    retrying_id: str | None = None
    retries: int = 0
    ended_reason: str | None = None
    # The admin who created it for its owner.
    acting_admin: str | None = None
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSchedule:
    """What a caller asks for."""

    name: str
    target_session_id: str
    cadence: Cadence
    request: Submission
    max_executions: int | None = None
    overlap_policy: OverlapPolicy = OverlapPolicy.SKIP
    misfire_policy: MisfirePolicy = MisfirePolicy.COALESCE_ONCE


_S = ScheduleStatus

SCHEDULE: Final = Machine(
    name="schedule",
    domain="schedules",
    conflict_code="schedule_state_conflict",
    steps={
        _S.ACTIVE: frozenset({_S.PAUSED, _S.COMPLETED, _S.CANCELED}),
        _S.PAUSED: frozenset({_S.ACTIVE, _S.COMPLETED, _S.CANCELED}),
        _S.COMPLETED: frozenset(),
        _S.CANCELED: frozenset(),
    },
)
OPEN: Final = frozenset(_S) - SCHEDULE.terminal
