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
    """The policy for a fire while an earlier run of the schedule is unfinished."""

    SKIP = "skip"  # skip this fire
    QUEUE_ONE = "queue_one"  # queue one run behind it, not more
    PARALLEL = "parallel"  # submit anyway; the session still runs one at a time


class MisfirePolicy(StrEnum):
    """The policy for times that passed while the daemon could not fire."""

    COALESCE_ONCE = "coalesce_once"  # fire once for all of them
    SKIP_MISSED = "skip_missed"  # continue with the next future time


class ExecutionStatus(StrEnum):
    """The outcome of one fire."""

    SUBMITTED = "submitted"  # a run was created
    SKIPPED = "skipped"  # skipped by the overlap policy
    MISSED = "missed"  # skipped by the misfire policy
    RETRYING = "retrying"  # no run could be created; a retry is due
    FAILED = "failed"  # no run could be created; given up


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """Fires once."""

    type: Literal["once"] = "once"
    fire_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalSchedule:
    """Fires every so many seconds, counted from the creation of the schedule."""

    type: Literal["interval"] = "interval"
    every_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron:
    """Fires at the wall-clock times of a cron expression; six fields begin with seconds."""

    type: Literal["cron"] = "cron"
    expression: str
    timezone: str = "UTC"


Cadence: TypeAlias = Annotated[Once | IntervalSchedule | Cron, Field(discriminator="type")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleExecution:
    """One fire and its outcome."""

    execution_id: str
    schedule_id: str
    status: ExecutionStatus
    at_ms: int
    # The fire time; None for a manual trigger.
    scheduled_for_ms: Annotated[int | None, OMIT] = None
    attempts: int = 1
    run_id: Annotated[str | None, OMIT] = None
    reason: Annotated[str | None, OMIT] = None
    # Who triggered it; None for a scheduled fire.
    triggered_by: Annotated[str | None, OMIT] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A request that becomes a run at each time of its cadence."""

    schedule_id: str
    name: str
    # The user for whom its runs act.
    owner_id: str
    target_session_id: str
    cadence: Cadence
    # The submission of each run. Its files are stored as assets.
    request: Submission
    created_at_ms: int
    updated_at_ms: int
    status: ScheduleStatus = ScheduleStatus.ACTIVE
    overlap_policy: OverlapPolicy = OverlapPolicy.SKIP
    misfire_policy: MisfirePolicy = MisfirePolicy.COALESCE_ONCE
    max_executions: int | None = None
    # The number of runs submitted.
    executions: int = 0
    # The next fire time; only a clock that is set back moves it back.
    # None when it fires no more.
    next_fire_at_ms: int | None = None
    # The next time for the worker: the fire time, or that of a retry. None unless active.
    due_at_ms: int | None = None
    last_fired_at_ms: int | None = None
    # The execution that is being retried, and the number of failures.
    retrying_id: str | None = None
    retries: int = 0
    ended_reason: str | None = None
    # The admin who created it for its owner.
    acting_admin: str | None = None
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSchedule:
    """A schedule to be created."""

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
