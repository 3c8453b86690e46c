"""Use cases of runs that a caller starts: submit, look, cancel, interrupt."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import Conflict, NotFound
from understudy.core.ids import new_id
from understudy.core.page import Page, PageRequest
from understudy.core.principal import Principal
from understudy.core.text import preview
from understudy.runs.deliveries import pending_deliveries
from understudy.runs.events import run_event, status_event
from understudy.runs.lifecycle import RUN, TERMINAL
from understudy.runs.model import (
    DebugLevel,
    Route,
    Run,
    RunRequest,
    RunStatus,
    StopRequest,
)
from understudy.runs.ports import DebugRequest, Receipt, RouteCatalogue, RunUnit
from understudy.runs.routing import RouteWish, choose_route
from understudy.runs.submission import (
    Submission,
    check_idempotency_key,
    check_limits,
    fingerprint,
    hash_key,
    input_of,
)
from understudy.sessions.journal import EventKind, JournalEvent
from understudy.sessions.model import Session, SessionStatus
from understudy.sessions.ports import Units, require_session
from understudy.sessions.scopes import effective_credential_scope


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeDefaults:
    """What applies to a run when nothing nearer says otherwise."""

    route_id: str
    debug_level: DebugLevel


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDetail:
    """A run with what the journal and the line behind it tell about it."""

    run: Run
    outputs: tuple[JournalEvent, ...] = ()
    queued_position: int | None = None


@dataclass(frozen=True, slots=True)
class RunService:
    """Submit, find and stop runs."""

    units: Units[RunUnit]
    clock: Clock
    routes: RouteCatalogue
    defaults: Callable[[], RuntimeDefaults]
    # Tells a run of this process at once that it should stop; the database tells the others.
    signal_stop: Callable[[str, StopRequest], None]

    def submit(
        self,
        principal: Principal,
        session_id: str,
        submission: Submission,
        *,
        idempotency_key: str | None = None,
        needs_idle: bool = False,
    ) -> RunDetail:
        """Store and queue a run in one transaction; a repeat under the same key finds the first."""
        check_limits(submission)
        run_input = input_of(submission)
        receipt = self._receipt(principal, session_id, submission, idempotency_key)
        defaults = self.defaults()
        with self.units.write() as unit:
            # The lock comes first, so that of two repeats at once the second sees the first.
            session = require_session(unit, session_id, lock=True)
            if receipt is not None and (known := _already_submitted(unit, receipt)):
                return _detail(unit, known)
            _require_open(unit, session, needs_idle=needs_idle)
            now = self.clock.now_ms()
            targets = submission.reply_targets
            run = Run(
                run_id=new_id("run"),
                session_id=session_id,
                agent_id=session.agent_id,
                user_id=principal.user_id,
                kind=submission.kind,
                status=RunStatus.QUEUED,
                submitted_at_ms=now,
                updated_at_ms=now,
                request=_request_of(submission, run_input.text),
                input=run_input,
                route=self._route(unit, session, submission, defaults),
                max_tool_iterations=submission.max_tool_iterations,
                debug_level=submission.debug_level or defaults.debug_level,
                reply_targets=session.reply_targets if targets is None else targets,
            )
            run = replace(run, deliveries=pending_deliveries(run.reply_targets))
            detail = self._accept(unit, run, now)
            if receipt is not None and not unit.receipts.add(
                replace(receipt, resource_id=run.run_id)
            ):
                raise _key_taken()
            unit.audit.add(audit.done(principal, "runs.submit", run.run_id, at_ms=now))
            return detail

    def get(self, run_id: str) -> RunDetail:
        """One run, or `NotFound`."""
        with self.units.read() as unit:
            return _detail(unit, require_run(unit, run_id))

    def page(
        self,
        request: PageRequest,
        *,
        session_id: str | None = None,
        statuses: Sequence[RunStatus] = (),
    ) -> Page[RunDetail]:
        """Runs, newest first."""
        with self.units.read() as unit:
            page = unit.runs.page(request, session_id=session_id, statuses=statuses)
            return Page(items=_details(unit, page.items), next_cursor=page.next_cursor)

    def events(self, run_id: str) -> tuple[JournalEvent, ...]:
        """The events in the life of a run, in order."""
        with self.units.read() as unit:
            require_run(unit, run_id)
            return unit.journal.read(
                run_id=run_id, kinds=(EventKind.RUN, EventKind.OUTPUT), limit=10_000
            )

    def debug(self, run_id: str) -> tuple[DebugRequest, ...]:
        """The provider requests that were captured, in order."""
        with self.units.read() as unit:
            require_run(unit, run_id)
            return unit.debug.list(run_id)

    def cancel(self, principal: Principal, run_id: str) -> RunDetail:
        """Stop a run for good; a run that has ended is answered as it is."""
        return self._stop(principal, run_id, StopRequest.CANCEL, "runs.cancel")

    def interrupt(self, principal: Principal, session_id: str) -> Run | None:
        """Stop what a session is doing now; its queued runs go on. None when it does nothing."""
        with self.units.read() as unit:
            require_session(unit, session_id)
            current = unit.runs.current(session_id)
        if current is None:
            return None
        detail = self._stop(principal, current.run_id, StopRequest.INTERRUPT, "runs.interrupt")
        # It may have ended by itself between the two looks.
        return None if detail.run.stop_request is None else detail.run

    def _stop(self, principal: Principal, run_id: str, how: StopRequest, action: str) -> RunDetail:
        with self.units.write() as unit:
            run = require_run(unit, run_id, lock=True)
            if run.status in TERMINAL or run.stop_request is not None:
                return _detail(unit, run)
            now = self.clock.now_ms()
            run = replace(run, stop_request=how, updated_at_ms=now)
            if run.status is RunStatus.QUEUED:
                RUN.check(run.status, RunStatus.CANCELLED)
                run = replace(run, status=RunStatus.CANCELLED, finished_at_ms=now)
                unit.journal.append(run.session_id, (status_event(run),), at_ms=now)
            unit.runs.update(run)
            unit.audit.add(audit.done(principal, action, run_id, at_ms=now))
            detail = _detail(unit, run)
        self.signal_stop(run_id, how)
        return detail

    def _route(
        self,
        unit: RunUnit,
        session: Session,
        submission: Submission,
        defaults: RuntimeDefaults,
    ) -> Route:
        agent = unit.agents.get(session.agent_id)
        wish = RouteWish(
            override=submission.provider,
            override_generation=submission.generation,
            policy=session.route_policy,
            agent_route=agent.route if agent else None,
            default_route=defaults.route_id,
        )
        return choose_route(wish, self.routes, effective_credential_scope(session))

    def _accept(self, unit: RunUnit, run: Run, now: int) -> RunDetail:
        position = len(unit.runs.queued_positions([run.session_id])) + 1
        events = unit.journal.append(
            run.session_id,
            (
                run_event(run, "accepted", RunStatus.QUEUED),
                run_event(run, "queued", RunStatus.QUEUED, position=position),
            ),
            at_ms=now,
        )
        run = replace(run, accepted_offset=events[0].offset)
        unit.runs.add(run)
        unit.enqueue(run)
        return RunDetail(run=run, queued_position=position)

    def _receipt(
        self,
        principal: Principal,
        session_id: str,
        submission: Submission,
        idempotency_key: str | None,
    ) -> Receipt | None:
        if idempotency_key is None:
            return None
        key = check_idempotency_key(idempotency_key)
        return Receipt(
            key_hash=hash_key(principal.user_id, key),
            fingerprint=fingerprint(
                "runs.submit", {"session_id": session_id, **asdict(submission)}
            ),
            resource_id="",
            created_at_ms=self.clock.now_ms(),
        )


def require_run(unit: RunUnit, run_id: str, *, lock: bool = False) -> Run:
    """The run, or `NotFound`."""
    run = unit.runs.get(run_id, lock=lock)
    if run is None:
        raise NotFound("run_not_found", domain="runs", detail=f"no run {run_id!r}")
    return run


def _already_submitted(unit: RunUnit, receipt: Receipt) -> Run | None:
    known = unit.receipts.get(receipt.key_hash)
    if known is None:
        return None
    if known.fingerprint != receipt.fingerprint:
        raise _key_taken()
    return require_run(unit, known.resource_id)


def _key_taken() -> Conflict:
    return Conflict(
        "idempotency_conflict",
        domain="idempotency",
        detail="this idempotency key was used for another request",
    )


def _require_open(unit: RunUnit, session: Session, *, needs_idle: bool) -> None:
    if session.status is SessionStatus.ENDED:
        raise Conflict("session_ended", domain="sessions", detail="the session has ended")
    if needs_idle and unit.runs.unfinished_in(session.session_id):
        raise Conflict(
            "session_busy", domain="sessions", detail="a run of this session has not ended yet"
        )


def _request_of(submission: Submission, text: str) -> RunRequest:
    return RunRequest(
        source_plugin=submission.source_plugin,
        source_kind=submission.source_kind,
        actor_id=submission.actor_id,
        text_preview=preview(text) or None,
    )


def _detail(unit: RunUnit, run: Run) -> RunDetail:
    return _details(unit, (run,))[0]


def _details(unit: RunUnit, runs: Sequence[Run]) -> tuple[RunDetail, ...]:
    outputs = unit.journal.outputs([run.run_id for run in runs])
    queued = sorted({run.session_id for run in runs if run.status is RunStatus.QUEUED})
    positions: Mapping[str, Any] = unit.runs.queued_positions(queued) if queued else {}
    return tuple(
        RunDetail(
            run=run,
            outputs=outputs.get(run.run_id, ()),
            queued_position=positions.get(run.run_id),
        )
        for run in runs
    )
