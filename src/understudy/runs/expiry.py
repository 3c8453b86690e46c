"""The consequences of a request that expired."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import structlog

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import DamagedRecord
from understudy.core.principal import DAEMON
from understudy.runs.lifecycle import TERMINAL, run_event
from understudy.runs.model import Run, StopRequest
from understudy.runs.offers import let_lapse
from understudy.runs.requests import Audience, PersonRequest, RequestKind, RequestState
from understudy.runs.sleep import fail_unread, go_on_or_wait, stop

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

log = structlog.get_logger()

BATCH: Final = 100


def expire_due(units: "Units", clock: Clock) -> int:
    """Expire every pending request whose time is up; returns how many there were."""
    with units.read() as unit:
        due = unit.requests.due(clock.now_ms(), limit=BATCH)
    for request_id, run_id in due:
        with units.write() as unit:
            _expire(unit, request_id, run_id, clock.now_ms())
    return len(due)


def _expire(unit: "Unit", request_id: str, run_id: str, now: int) -> None:
    try:
        run = unit.runs.get(run_id, lock=True)
        # Read again under the lock: somebody may have answered meanwhile.
        request = unit.requests.get(request_id)
    except DamagedRecord as damaged:
        log.warning("request.closed_unread", request_id=request_id, run_id=run_id)
        unit.requests.close(request_id, at_ms=now)
        fail_unread(unit, run_id, reason=damaged.detail, at_ms=now)
        return
    if request is None or run is None or request.state is not RequestState.PENDING:
        return
    if request.kind is RequestKind.OFFER:
        let_lapse(unit, run, request_id, at_ms=now)
        return
    unit.requests.settle(replace(request, state=RequestState.EXPIRED, resolved_at_ms=now))
    action = f"{request.kind}s.expire"
    unit.audit.add(audit.done(DAEMON, action, request_id, at_ms=now, reason=f"in {run_id}"))
    if run.status not in TERMINAL and run.stop_request is None:
        log.info("request.expired", request_id=request_id, run_id=run_id)
        CONSEQUENCES[request.kind, request.audience](unit, run, request, now)


def _cancel(unit: "Unit", run: Run, request: PersonRequest, now: int) -> None:
    when = datetime.fromtimestamp((request.expires_at_ms or now) / 1000, tz=UTC)
    reason = f"question {request.request_id} expired at {when.isoformat(timespec='seconds')}"
    stop(unit, run, StopRequest.CANCEL, at_ms=now, error=reason)


def _decline(unit: "Unit", run: Run, request: PersonRequest, now: int) -> None:
    told = {"request_id": request.request_id, "answers": [], "declined": True, "expired": True}
    event = run_event(run, "parent_clarification_resolved", run.status, resolution=told)
    unit.journal.append(run.session_id, (event,), at_ms=now)
    go_on_or_wait(unit, run, at_ms=now)


def _deny(unit: "Unit", run: Run, request: PersonRequest, now: int) -> None:
    told = {"request_id": request.request_id, "behavior": "deny", "reason": "expired"}
    event = run_event(run, "approval_resolved", run.status, resolutions=[told])
    unit.journal.append(run.session_id, (event,), at_ms=now)
    go_on_or_wait(unit, run, at_ms=now)


# An expired question to people ends the run; one to the parent is declined, an approval denied.
CONSEQUENCES: Final[
    Mapping[tuple[RequestKind, Audience], Callable[["Unit", Run, PersonRequest, int], None]]
] = {
    (RequestKind.QUESTION, Audience.USER): _cancel,
    (RequestKind.QUESTION, Audience.PARENT): _decline,
    (RequestKind.APPROVAL, Audience.USER): _deny,
}
