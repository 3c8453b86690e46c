"""Sleep and wake: a run that waits is a few rows, without a task or engine work.

A run that waits for people, or for a sidechain, holds no task and no place in the engine. The
transaction that brings what it waits for also wakes it, so neither can be lost.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from understudy.core.audit import AuditEntry
from understudy.core.clock import Clock
from understudy.core.errors import DamagedRecord
from understudy.runs.deliveries import queue_unread
from understudy.runs.lifecycle import RUN, status_event
from understudy.runs.model import Run, RunStatus, StopRequest
from understudy.runs.requests import WAITING_STATUS, PersonRequest, shown, waiting_status
from understudy.sessions.journal import EventKind, NewEvent

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units


@dataclass(frozen=True, slots=True, kw_only=True)
class Sleep:
    """Why a run goes to sleep: new requests to people, earlier ones, or a sidechain."""

    requests: tuple[PersonRequest, ...] = ()
    # Audit entries of the permission decisions that led to the requests.
    entries: tuple[AuditEntry, ...] = ()
    # When it is woken even without an event.
    until_ms: int | None = None


class MustSleep(Exception):
    """Raised in a run that must sleep before it can go on."""

    def __init__(self, sleep: Sleep) -> None:
        super().__init__()
        self.sleep = sleep


def fall_asleep(unit: "Unit", run: Run, sleep: Sleep, *, at_ms: int) -> bool:
    """Put a locked run to sleep; False when the awaited event happened before the commit."""
    if run.asleep:
        return True
    if run.stop_request is not None:
        return False
    for request in sleep.requests:
        unit.requests.add(request)
    for entry in sleep.entries:
        unit.audit.add(entry)
    kinds = unit.requests.open_kinds(run.run_id)
    if run.nudged and not kinds:
        unit.runs.update(replace(run, nudged=False))
        return False
    status = waiting_status(kinds) if kinds else RunStatus.RUNNING
    RUN.check(run.status, status)
    asleep = replace(run, status=status, asleep=True, parked=True, updated_at_ms=at_ms)
    unit.runs.update(asleep)
    if sleep.until_ms is not None:
        unit.signals.add(SignalKind.LOOK, run.session_id, at_ms=at_ms, due_at_ms=sleep.until_ms)
    if kinds:
        pending = unit.requests.pending([run.run_id]).get(run.run_id, ())
        unit.journal.append(run.session_id, (waiting_event(asleep, pending),), at_ms=at_ms)
    return True


def waiting_event(run: Run, pending: Sequence[PersonRequest]) -> NewEvent:
    """The event that says what a run waits for."""
    return status_event(
        run,
        request_ids=[request.request_id for request in pending],
        requests=[shown(request) for request in pending],
    )


def go_on_or_wait(unit: "Unit", run: Run, *, at_ms: int) -> Run:
    """After a request of a locked run was resolved: wake it, unless more of the kind are open.

    Once all approvals are resolved, allowed calls run before the run sleeps on over a question.
    """
    kinds = unit.requests.open_kinds(run.run_id)
    if any(WAITING_STATUS[kind] is run.status for kind in kinds):
        return run
    if not run.asleep:
        # It is about to sleep, and read its requests before this one was resolved.
        run = replace(run, nudged=True)
        unit.runs.update(run)
        return run
    return wake(unit, run, at_ms=at_ms, status=RunStatus.RUNNING)


def wake(unit: "Unit", run: Run, *, at_ms: int, status: RunStatus | None = None) -> Run:
    """Have a locked, sleeping run go on; a run that is awake stays as it is."""
    if not run.asleep:
        return run
    if status is not None:
        RUN.check(run.status, status)
    run = replace(
        run,
        status=status or run.status,
        asleep=False,
        nudged=False,
        wakes=run.wakes + 1,
        updated_at_ms=at_ms,
    )
    unit.runs.update(run)
    unit.enqueue(run)
    return run


def nudge(unit: "Unit", run: Run, *, at_ms: int) -> None:
    """Wake a locked run that may wait for a sidechain; one about to sleep is told not to."""
    if run.status is not RunStatus.RUNNING:
        return
    if run.asleep:
        wake(unit, run, at_ms=at_ms)
    elif not run.nudged:
        unit.runs.update(replace(run, nudged=True))


def leave_line(unit: "Unit", run: Run, how: StopRequest, *, at_ms: int) -> Run:
    """Cancel a locked run that has not begun."""
    RUN.check(run.status, RunStatus.CANCELLED)
    run = replace(
        run,
        status=RunStatus.CANCELLED,
        stop_request=how,
        finished_at_ms=at_ms,
        updated_at_ms=at_ms,
    )
    unit.runs.update(run)
    unit.journal.append(run.session_id, (status_event(run),), at_ms=at_ms)
    wake_next(unit, run.session_id, at_ms=at_ms)
    return run


def stop(unit: "Unit", run: Run, how: StopRequest, *, at_ms: int, error: str | None = None) -> Run:
    """Ask a locked run that has begun to stop; one that sleeps is woken to do so."""
    run = replace(run, stop_request=how, error=error, updated_at_ms=at_ms)
    unit.runs.update(run)
    return wake(unit, run, at_ms=at_ms)


def step_aside(unit: "Unit", run: Run) -> None:
    """Put a queued run to sleep behind an earlier run of its session, or behind others of its user."""
    unit.runs.update(replace(run, asleep=True))


def let_in(units: "Units", run_id: str, *, most: int | None, clock: Clock) -> None:
    """Wake the queued runs of a run's user for which there is room, now that it ended or sleeps.

    After the commit of that, and after a run has stepped aside: of two that happen at the same time,
    the later look sees both.
    """
    with units.read() as unit:
        if not any(is_asleep for _, is_asleep in unit.runs.next_of_user(run_id, most)):
            return
    with units.write() as unit:
        for next_id, is_asleep in unit.runs.next_of_user(run_id, most):
            if is_asleep and (run := _take_queued(unit, next_id, at_ms=clock.now_ms())):
                wake(unit, run, at_ms=clock.now_ms())


def wake_next(unit: "Unit", session_id: str, *, at_ms: int) -> None:
    """After the end of a run: start the next run in line.

    The session's row is locked, so that no run steps aside unseen. The holder of the next run's row
    usually waits for the session's row and checks again once it has it; upkeep finds the rest.
    """
    following = unit.runs.first_in_line(session_id)
    run = None if following is None else _take_queued(unit, following, at_ms=at_ms)
    if run is None:
        return
    if run.asleep:
        wake(unit, run, at_ms=at_ms)
    else:
        # Work that has begun meanwhile is not begun again: its id is the same.
        unit.enqueue(run)


def _take_queued(unit: "Unit", run_id: str, *, at_ms: int) -> Run | None:
    """The run with its row locked, if it is queued and no other unit holds it."""
    try:
        run = unit.runs.take(run_id)
    except DamagedRecord as damaged:
        fail_unread(unit, run_id, reason=damaged.detail, at_ms=at_ms)
        return None
    return run if run is not None and run.status is RunStatus.QUEUED else None


def fail_unread(unit: "Unit", run_id: str, *, reason: str, at_ms: int) -> Run | None:
    """Fail a run that is damaged or cannot begin, so that its session does not wait for ever.

    Returns the ended run, if it decodes.
    """
    session_id = unit.runs.close(run_id, RunStatus.FAILED, reason=reason, at_ms=at_ms)
    if session_id is None:
        return None
    data = {"type": "failed", "status": str(RunStatus.FAILED), "error": reason}
    event = NewEvent(kind=EventKind.RUN, run_id=run_id, data=data)
    unit.journal.append(session_id, (event,), at_ms=at_ms)
    leave_word(unit, run_id, session_id, at_ms=at_ms)
    run = queue_unread(unit, run_id)
    wake_next(unit, session_id, at_ms=at_ms)
    return run


class SignalKind(StrEnum):
    """The kind of a signal."""

    LOOK = "look"  # to a session: something happened below it, or its run waited long enough
    STOP = "stop"  # to a run: the one that spawned its session has ended


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """A stored signal to a session or run; handling it twice does no harm."""

    number: int
    kind: SignalKind
    target: str


def leave_word(unit: "Unit", run_id: str, session_id: str, *, at_ms: int) -> None:
    """Signal the parent session and the sidechains of a damaged run that was closed.

    Locking their rows here could deadlock: they may wait for the journal that this unit holds.
    """
    parent_id = unit.sidechains.parent_of(session_id)
    if parent_id is not None:
        unit.signals.add(SignalKind.LOOK, parent_id, at_ms=at_ms)
    for below in unit.sidechains.unfinished_runs(unit.sidechains.spawned_by(run_id)):
        unit.signals.add(SignalKind.STOP, below, at_ms=at_ms)
