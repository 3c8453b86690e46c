"""Use cases of schedules: create, get, list, pause, resume, trigger, cancel."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import coded_error
from understudy.core.ids import new_id
from understudy.core.page import Page, PageRequest
from understudy.core.principal import Principal
from understudy.schedules.cadence import check_cadence, first_fire, next_fire
from understudy.schedules.fire import Firing, ended
from understudy.schedules.model import (
    MAX_EXECUTIONS,
    MAX_NAME_CHARS,
    MAX_SCHEDULES,
    OPEN,
    SCHEDULE,
    NewSchedule,
    Once,
    Schedule,
    ScheduleExecution,
    ScheduleStatus,
)
from understudy.schedules.requests import hold_assets, prepare
from understudy.sessions.model import SessionStatus, require_session

if TYPE_CHECKING:
    from understudy.providers.registry import Routes
    from understudy.storage.unit import Unit, Units


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleService:
    """The operations on schedules, each in one transaction."""

    units: "Units"
    clock: Clock
    routes: "Routes"
    firing: Firing
    # Wakes the schedule worker.
    changed: Callable[[], None] = lambda: None

    def create(self, principal: Principal, wanted: NewSchedule) -> Schedule:
        """Create a schedule that acts for its owner."""
        now = self.clock.now_ms()
        _check(wanted, now_ms=now)
        with self.units.write() as unit:
            session = require_session(unit, wanted.target_session_id)
            if session.status is SessionStatus.ENDED:
                raise coded_error("sessions/session_ended")
            _require_room(unit, principal)
            request = prepare(
                unit, principal, session, wanted.request, routes=self.routes, now_ms=now
            )
            schedule = _new(principal, replace(wanted, request=request), now_ms=now)
            unit.schedules.insert(schedule)
            hold_assets(unit, schedule.schedule_id, request)
            self._audit(unit, principal, "schedules.create", schedule)
        self.changed()
        return schedule

    def get(self, schedule_id: str) -> Schedule:
        """One schedule, or `NotFound`."""
        with self.units.read() as unit:
            return _require(unit, schedule_id)

    def page(
        self,
        request: PageRequest,
        *,
        session_id: str | None = None,
        statuses: Sequence[ScheduleStatus] = (),
    ) -> Page[Schedule]:
        """Schedules, newest first."""
        with self.units.read() as unit:
            return unit.schedules.page(request, session_id=session_id, statuses=statuses)

    def executions(self, schedule_id: str, request: PageRequest) -> Page[ScheduleExecution]:
        """The executions of a schedule, newest first."""
        with self.units.read() as unit:
            _require(unit, schedule_id)
            return unit.schedules.executions(schedule_id, request)

    def pause(self, principal: Principal, schedule_id: str) -> Schedule:
        """Stop firing until it is resumed; running runs continue."""
        return self._change(principal, schedule_id, "schedules.pause", ScheduleStatus.PAUSED)

    def resume(self, principal: Principal, schedule_id: str) -> Schedule:
        """Resume firing at the next time; times that passed meanwhile are skipped."""
        return self._change(principal, schedule_id, "schedules.resume", ScheduleStatus.ACTIVE)

    def cancel(self, principal: Principal, schedule_id: str) -> Schedule:
        """End a schedule for good; running runs continue."""
        return self._change(principal, schedule_id, "schedules.cancel", ScheduleStatus.CANCELED)

    def trigger(self, principal: Principal, schedule_id: str) -> tuple[Schedule, ScheduleExecution]:
        """Fire now, independent of the cadence; the overlap policy applies."""
        with self.units.write() as unit:
            schedule = _require(unit, schedule_id, lock=True)
            if schedule.status not in OPEN:
                raise coded_error("schedules/schedule_state_conflict", status=schedule.status)
            schedule, execution = self.firing.trigger(unit, schedule, principal)
            self._audit(unit, principal, "schedules.trigger", schedule)
            return schedule, execution

    def _change(
        self, principal: Principal, schedule_id: str, action: str, status: ScheduleStatus
    ) -> Schedule:
        with self.units.write() as unit:
            schedule = _require(unit, schedule_id, lock=True)
            SCHEDULE.check(schedule.status, status)
            if schedule.status is status:
                return schedule
            now = self.clock.now_ms()
            schedule = replace(
                _moved(schedule, status, now_ms=now),
                version=schedule.version + 1,
                updated_at_ms=now,
            )
            unit.schedules.update(schedule)
            self._audit(unit, principal, action, schedule)
        self.changed()
        return schedule

    def _audit(self, unit: "Unit", principal: Principal, action: str, schedule: Schedule) -> None:
        entry = audit.done(
            principal,
            action,
            schedule.schedule_id,
            at_ms=self.clock.now_ms(),
            version=schedule.version,
        )
        unit.audit.add(entry)


def _moved(schedule: Schedule, status: ScheduleStatus, *, now_ms: int) -> Schedule:
    if status in SCHEDULE.terminal:
        return ended(schedule, status)
    if status is ScheduleStatus.PAUSED:
        return replace(schedule, status=status, due_at_ms=None)
    if schedule.retrying_id is not None:
        return replace(schedule, status=status, due_at_ms=now_ms)
    upcoming = schedule.next_fire_at_ms
    # A one-time schedule has no next time: its misfire policy decides whether it is too late.
    if upcoming is not None and upcoming <= now_ms and not isinstance(schedule.cadence, Once):
        upcoming = next_fire(schedule.cadence, scheduled_ms=upcoming, now_ms=now_ms)
    if upcoming is None:
        return ended(schedule, ScheduleStatus.COMPLETED)
    return replace(schedule, status=status, next_fire_at_ms=upcoming, due_at_ms=upcoming)


def _new(principal: Principal, wanted: NewSchedule, *, now_ms: int) -> Schedule:
    first = first_fire(wanted.cadence, now_ms=now_ms)
    return Schedule(
        schedule_id=new_id("sch"),
        name=wanted.name.strip(),
        owner_id=principal.user_id,
        acting_admin=principal.acting_admin,
        target_session_id=wanted.target_session_id,
        cadence=wanted.cadence,
        request=wanted.request,
        overlap_policy=wanted.overlap_policy,
        misfire_policy=wanted.misfire_policy,
        max_executions=wanted.max_executions,
        next_fire_at_ms=first,
        due_at_ms=first,
        created_at_ms=now_ms,
        updated_at_ms=now_ms,
    )


def _check(wanted: NewSchedule, *, now_ms: int) -> None:
    name = wanted.name.strip()
    if not name or len(name) > MAX_NAME_CHARS or not name.isprintable():
        raise coded_error("schedules/invalid_name", pointer="/name", max_name_chars=MAX_NAME_CHARS)
    limit = wanted.max_executions
    if limit is not None and not 0 < limit <= MAX_EXECUTIONS:
        raise coded_error(
            "schedules/invalid_max_executions",
            pointer="/max_executions",
            max_executions=MAX_EXECUTIONS,
        )
    check_cadence(wanted.cadence, now_ms=now_ms)


def _require_room(unit: "Unit", principal: Principal) -> None:
    if unit.schedules.open_of(principal.user_id) >= MAX_SCHEDULES:
        raise coded_error("schedules/schedule_limit", limit=MAX_SCHEDULES)


def _require(unit: "Unit", schedule_id: str, *, lock: bool = False) -> Schedule:
    schedule = unit.schedules.get(schedule_id, lock=lock)
    if schedule is None:
        raise coded_error("schedules/schedule_not_found", schedule_id=schedule_id)
    return schedule
