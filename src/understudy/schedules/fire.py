"""One fire of a schedule, in one transaction: permission, overlap, submission, next time."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.ids import new_id
from understudy.core.principal import DAEMON, Principal, Role
from understudy.core.text import preview
from understudy.runs.intake import RunIntake
from understudy.runs.model import RunStatus
from understudy.schedules.cadence import next_fire
from understudy.schedules.model import (
    KEPT_EXECUTIONS,
    SCHEDULE,
    ExecutionStatus,
    MisfirePolicy,
    OverlapPolicy,
    Schedule,
    ScheduleExecution,
    ScheduleStatus,
)
from understudy.sessions.model import require_session

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# A fire that is late by less counts as on time.
GRACE_MS: Final = 10_000
MAX_REASON_CHARS: Final = 500
# Error codes for which a retry is useless.
FOR_GOOD: Final = frozenset({"session_ended", "session_not_found"})
# Whether unfinished runs of a schedule block another submission.
BLOCKS: Final[Mapping[OverlapPolicy, Callable[[Sequence[RunStatus]], bool]]] = {
    OverlapPolicy.SKIP: bool,
    OverlapPolicy.QUEUE_ONE: lambda unfinished: RunStatus.QUEUED in unfinished,
    OverlapPolicy.PARALLEL: lambda _: False,
}
ENDINGS: Final[Mapping[ScheduleStatus, str]] = {
    ScheduleStatus.COMPLETED: "schedules.complete",
    ScheduleStatus.CANCELED: "schedules.cancel",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """The retries of a fire that created no run; 0 attempts means no limit."""

    base_ms: int = 500
    max_ms: int = 30_000
    jitter_ms: int = 250
    attempts: int = 0

    def wait_ms(self, retries: int) -> int:
        """The exponential back-off after some failures."""
        return min(self.base_ms << min(retries - 1, 20), self.max_ms)

    def is_last(self, retries: int) -> bool:
        """Whether the fire is given up after some failures."""
        return 0 < self.attempts <= retries


@dataclass(frozen=True, slots=True, kw_only=True)
class Firing:
    """Fires schedules whose row the caller's unit has locked."""

    clock: Clock
    intake: RunIntake
    # Whether a user would still be authenticated with at least a role.
    may_still: Callable[["Unit", str, Role], bool]
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    # A random number below its argument, so that failed schedules do not retry together.
    jitter: Callable[[int], int] = lambda _: 0

    def fire(self, unit: "Unit", schedule: Schedule) -> Schedule:
        """Fire for the due time; raises if no run can be created."""
        execution = self._begin(schedule)
        if not self._owner_may(unit, schedule):
            return self._suspend(unit, schedule, execution)[0]
        if self._is_missed(schedule):
            missed = replace(execution, status=ExecutionStatus.MISSED, reason="its time had passed")
            return self._move_on(unit, schedule, missed)
        return self._move_on(unit, *self._submit(unit, schedule, execution))

    def trigger(
        self, unit: "Unit", schedule: Schedule, principal: Principal
    ) -> tuple[Schedule, ScheduleExecution]:
        """Fire now, independent of the cadence, which continues unchanged."""
        execution = ScheduleExecution(
            execution_id=new_id("fire"),
            schedule_id=schedule.schedule_id,
            status=ExecutionStatus.SUBMITTED,
            at_ms=self.clock.now_ms(),
            triggered_by=principal.actor,
        )
        if not self._owner_may(unit, schedule):
            return self._suspend(unit, schedule, execution)
        schedule, execution = self._submit(unit, schedule, execution)
        if _has_had_enough(schedule):
            schedule = self._end(unit, schedule, ScheduleStatus.COMPLETED)
        return self._keep(unit, schedule, execution), execution

    def fail(self, unit: "Unit", schedule: Schedule, *, code: str, detail: str) -> Schedule:
        """Record a failed fire, and schedule its retry unless that is useless."""
        reason = f"{code}: {preview(detail, MAX_REASON_CHARS)}"
        failed = replace(self._begin(schedule), status=ExecutionStatus.FAILED, reason=reason)
        schedule = replace(schedule, retries=schedule.retries + 1)
        if code in FOR_GOOD:
            schedule = self._end(unit, schedule, ScheduleStatus.CANCELED, reason=code)
            return self._keep(unit, schedule, failed)
        if self.retry.is_last(schedule.retries):
            return self._move_on(unit, schedule, failed)
        wait = self.retry.wait_ms(schedule.retries) + self.jitter(self.retry.jitter_ms)
        schedule = replace(schedule, retrying_id=failed.execution_id, due_at_ms=failed.at_ms + wait)
        return self._keep(unit, schedule, replace(failed, status=ExecutionStatus.RETRYING))

    def _begin(self, schedule: Schedule) -> ScheduleExecution:
        """The execution for the due time; a retry continues the same execution."""
        return ScheduleExecution(
            execution_id=schedule.retrying_id or new_id("fire"),
            schedule_id=schedule.schedule_id,
            status=ExecutionStatus.SUBMITTED,
            at_ms=self.clock.now_ms(),
            scheduled_for_ms=schedule.next_fire_at_ms,
            attempts=schedule.retries + 1,
        )

    def _owner_may(self, unit: "Unit", schedule: Schedule) -> bool:
        """Whether the owner, or the admin who acted for them, could still submit the run."""
        admin = schedule.acting_admin
        return self.may_still(unit, schedule.owner_id, Role.OPERATOR) or (
            admin is not None and self.may_still(unit, admin, Role.ADMIN)
        )

    def _suspend(
        self, unit: "Unit", schedule: Schedule, execution: ScheduleExecution
    ) -> tuple[Schedule, ScheduleExecution]:
        """Pause the schedule, as its owner may no longer submit runs."""
        reason = f"owner_may_not: {schedule.owner_id} has no token that lets them submit runs"
        failed = replace(execution, status=ExecutionStatus.FAILED, reason=reason)
        if schedule.status is not ScheduleStatus.PAUSED:
            SCHEDULE.check(schedule.status, ScheduleStatus.PAUSED)
            entry = audit.done(
                DAEMON, "schedules.pause", schedule.schedule_id, at_ms=execution.at_ms
            )
            unit.audit.add(entry)
        schedule = replace(
            schedule, status=ScheduleStatus.PAUSED, due_at_ms=None, retrying_id=None, retries=0
        )
        return self._keep(unit, schedule, failed), failed

    def _is_missed(self, schedule: Schedule) -> bool:
        if schedule.misfire_policy is not MisfirePolicy.SKIP_MISSED or schedule.retries:
            return False
        return self.clock.now_ms() - (schedule.next_fire_at_ms or 0) > GRACE_MS

    def _submit(
        self, unit: "Unit", schedule: Schedule, execution: ScheduleExecution
    ) -> tuple[Schedule, ScheduleExecution]:
        unfinished = unit.schedules.unfinished(schedule.schedule_id)
        if BLOCKS[schedule.overlap_policy](unfinished):
            reason = f"an earlier run is {unfinished[0].replace('_', ' ')}"
            return schedule, replace(execution, status=ExecutionStatus.SKIPPED, reason=reason)
        session = require_session(unit, schedule.target_session_id, lock=True)
        owner = Principal(user_id=schedule.owner_id, role=Role.OPERATOR)
        run, _ = self.intake.take(unit, owner, session, schedule.request)
        schedule = replace(
            schedule, executions=schedule.executions + 1, last_fired_at_ms=execution.at_ms
        )
        return schedule, replace(execution, run_id=run.run_id)

    def _move_on(self, unit: "Unit", schedule: Schedule, execution: ScheduleExecution) -> Schedule:
        """Advance to the next future fire time, or complete the schedule."""
        upcoming = next_fire(
            schedule.cadence,
            scheduled_ms=schedule.next_fire_at_ms or execution.at_ms,
            now_ms=execution.at_ms,
        )
        schedule = replace(
            schedule, next_fire_at_ms=upcoming, due_at_ms=upcoming, retrying_id=None, retries=0
        )
        if upcoming is None or _has_had_enough(schedule):
            schedule = self._end(unit, schedule, ScheduleStatus.COMPLETED)
        return self._keep(unit, schedule, execution)

    def _end(
        self,
        unit: "Unit",
        schedule: Schedule,
        status: ScheduleStatus,
        *,
        reason: str | None = None,
    ) -> Schedule:
        now = self.clock.now_ms()
        unit.audit.add(audit.done(DAEMON, ENDINGS[status], schedule.schedule_id, at_ms=now))
        return ended(schedule, status, reason=reason)

    def _keep(self, unit: "Unit", schedule: Schedule, execution: ScheduleExecution) -> Schedule:
        schedule = replace(schedule, updated_at_ms=execution.at_ms)
        unit.schedules.update(schedule)
        unit.schedules.record(execution, keep=KEPT_EXECUTIONS)
        return schedule


def ended(schedule: Schedule, status: ScheduleStatus, *, reason: str | None = None) -> Schedule:
    """The schedule in a final status, without a next time."""
    SCHEDULE.check(schedule.status, status)
    return replace(
        schedule,
        status=status,
        ended_reason=reason,
        next_fire_at_ms=None,
        due_at_ms=None,
        retrying_id=None,
    )


def _has_had_enough(schedule: Schedule) -> bool:
    limit = schedule.max_executions
    return limit is not None and schedule.executions >= limit
